document.body.textContent = 'studio';
export {};

// Pictures and videos of what the view shows.

/** A video of `count` pictures; `draw` makes the picture of one of them on the canvas. */
export async function recordVideo(canvas: HTMLCanvasElement, count: number, rate: number, draw: (index: number) => void): Promise<Blob> {
  const type = ['video/webm;codecs=vp9', 'video/webm'].find((t) => window.MediaRecorder?.isTypeSupported(t));
  if (!type) throw new Error('This browser cannot record videos; use sinew render --turntable');
  const stream = canvas.captureStream(0);
  const track = stream.getVideoTracks()[0] as CanvasCaptureMediaStreamTrack;
  const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: 8e6 });
  const chunks: Blob[] = [];
  recorder.ondataavailable = (event) => chunks.push(event.data);
  const stopped = new Promise((resolve) => (recorder.onstop = resolve));
  recorder.start();
  for (let k = 0; k < count; k++) {
    draw(k);
    track.requestFrame();
    await new Promise((resolve) => setTimeout(resolve, 1000 / rate));
  }
  recorder.stop();
  await stopped;
  return new Blob(chunks, { type });
}

/** The canvas on the background of the page, as PNG. */
export function pngOf(source: HTMLCanvasElement): Promise<Blob> {
  const copy = document.createElement('canvas');
  copy.width = source.width;
  copy.height = source.height;
  const context = copy.getContext('2d')!;
  const gradient = context.createLinearGradient(0, 0, 0, copy.height);
  const style = getComputedStyle(document.documentElement);
  gradient.addColorStop(0, style.getPropertyValue('--view-top'));
  gradient.addColorStop(1, style.getPropertyValue('--view-bottom'));
  context.fillStyle = gradient;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(source, 0, 0);
  return new Promise((resolve, reject) =>
    copy.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no picture'))), 'image/png'),
  );
}

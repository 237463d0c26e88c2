/** Resolves when everything asked of WebGL so far is done. The page goes on meanwhile; asking WebGL itself would stop it. */
export function finished(gl: WebGL2RenderingContext): Promise<void> {
  const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
  gl.flush();
  return new Promise((resolve) => {
    const ask = () => {
      if (fence && !gl.isContextLost() && gl.getSyncParameter(fence, gl.SYNC_STATUS) !== gl.SIGNALED) return void setTimeout(ask, 4);
      gl.deleteSync(fence);
      resolve();
    };
    setTimeout(ask, 0);
  });
}

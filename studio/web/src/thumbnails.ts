// Small pictures of a rig in other shapes, drawn by the renderer of the view.
import * as THREE from 'three';
import { computeNormals, paintRig } from './shading';
import type { Rig } from './state';

export class Thumbnails {
  private scene = new THREE.Scene();
  private target = new THREE.WebGLRenderTarget(1, 1, { colorSpace: THREE.SRGBColorSpace });
  private camera = new THREE.PerspectiveCamera();
  private mesh: THREE.Mesh;

  /** `like` lends its colors, if given; the shape is the thumbnails' own. `things` stand around it. */
  constructor(private renderer: THREE.WebGLRenderer, private rig: Rig, like: THREE.BufferGeometry | null, things: THREE.Object3D[] = []) {
    const geometry = new THREE.BufferGeometry();
    geometry.setIndex(like?.index ?? new THREE.BufferAttribute(rig.triangles, 1));
    const set = (name: string, values: Float32Array, size: number) => geometry.setAttribute(name, new THREE.BufferAttribute(values, size));
    if (like) for (const name of ['color', 'gaze', 'shade', 'mark']) geometry.setAttribute(name, like.attributes[name]);
    else {
      const { color, gaze } = paintRig(rig);
      set('color', color, 3);
      set('gaze', gaze, 4);
      set('shade', new Float32Array(rig.vertices).fill(1), 1);
      set('mark', new Float32Array(rig.vertices), 1);
    }
    set('heat', new Float32Array(rig.vertices), 1);
    for (const name of ['position', 'normal']) set(name, new Float32Array(3 * rig.vertices), 3);
    this.mesh = new THREE.Mesh(geometry);
    this.mesh.frustumCulled = false;
    this.scene.add(this.mesh, ...things);
    if (things.length) this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8890a0, 2.5));
  }

  /** Compiles a mesh's material for thumbnails. */
  static compile(renderer: THREE.WebGLRenderer, mesh: THREE.Mesh): Promise<unknown> {
    const target = new THREE.WebGLRenderTarget(1, 1, { colorSpace: THREE.SRGBColorSpace });
    renderer.setRenderTarget(target);
    const compiled = renderer.compileAsync(mesh, new THREE.PerspectiveCamera());
    renderer.setRenderTarget(null);
    return compiled.finally(() => target.dispose());
  }

  dispose() {
    this.mesh.geometry.dispose();
    this.target.dispose();
  }

  /** The shape `share` of the way from one to the other, as `eye` sees it. */
  async draw(canvas: HTMLCanvasElement, from: Float32Array, to: Float32Array, share: number, eye: THREE.PerspectiveCamera, material: THREE.Material) {
    const { width, height } = canvas;
    const { position, normal } = this.mesh.geometry.attributes;
    const p = position.array as Float32Array;
    for (let i = 0; i < p.length; i++) p[i] = from[i] + share * (to[i] - from[i]);
    computeNormals(p, this.rig.triangles, normal.array as Float32Array);
    position.needsUpdate = normal.needsUpdate = true;
    this.mesh.material = material;
    this.camera.copy(eye);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.target.setSize(width, height);
    const { renderer } = this;
    renderer.setRenderTarget(this.target);
    renderer.setScissorTest(false);
    renderer.setClearColor(0x000000, 0);
    renderer.clear();
    renderer.render(this.scene, this.camera);
    const pixels = new Uint8Array(4 * width * height);
    // Waiting here for the picture would stop the page.
    const read = renderer.readRenderTargetPixelsAsync(this.target, 0, 0, width, height, pixels);
    renderer.setRenderTarget(null);
    await read;
    const image = new ImageData(width, height);
    for (let y = 0; y < height; y++) // the first row of a target is the lowest
      image.data.set(pixels.subarray(4 * width * (height - 1 - y), 4 * width * (height - y)), 4 * width * y);
    canvas.getContext('2d')!.putImageData(image, 0, 0);
  }
}

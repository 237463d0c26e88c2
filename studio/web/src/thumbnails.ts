// Small pictures of a rig in another shape, drawn by the renderer of the view.
import * as THREE from 'three';
import { computeNormals } from './shading';
import type { Rig } from './state';

export class Thumbnails {
  private scene = new THREE.Scene();
  private target = new THREE.WebGLRenderTarget(1, 1, { colorSpace: THREE.SRGBColorSpace });
  private camera = new THREE.PerspectiveCamera();
  private pixels = new Uint8Array(0);
  private mesh: THREE.Mesh;

  /** `like` lends its index, colors and material; the shape is the thumbnails' own. */
  constructor(private renderer: THREE.WebGLRenderer, private rig: Rig, like: THREE.BufferGeometry, material: THREE.Material) {
    const geometry = new THREE.BufferGeometry().setIndex(like.index);
    for (const name of ['color', 'gaze', 'shade', 'mark']) geometry.setAttribute(name, like.attributes[name]);
    geometry.setAttribute('heat', new THREE.BufferAttribute(new Float32Array(rig.vertices), 1));
    for (const name of ['position', 'normal']) geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * rig.vertices), 3));
    this.mesh = new THREE.Mesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.scene.add(this.mesh);
  }

  dispose() {
    this.mesh.geometry.dispose();
    this.target.dispose();
  }

  /** The neutral moved by `share` of the way to `shape`, seen as `camera` sees the neutral at home. */
  draw(canvas: HTMLCanvasElement, shape: Float32Array, share: number, eye: THREE.PerspectiveCamera, material: THREE.Material) {
    const { width, height } = canvas;
    const { position, normal } = this.mesh.geometry.attributes;
    const p = position.array as Float32Array, rest = this.rig.neutral;
    for (let i = 0; i < p.length; i++) p[i] = rest[i] + share * (shape[i] - rest[i]);
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
    if (this.pixels.length !== 4 * width * height) this.pixels = new Uint8Array(4 * width * height);
    renderer.readRenderTargetPixels(this.target, 0, 0, width, height, this.pixels);
    renderer.setRenderTarget(null);
    const image = new ImageData(width, height);
    for (let y = 0; y < height; y++) // the first row of a target is the lowest
      image.data.set(this.pixels.subarray(4 * width * (height - 1 - y), 4 * width * (height - y)), 4 * width * y);
    canvas.getContext('2d')!.putImageData(image, 0, 0);
  }
}

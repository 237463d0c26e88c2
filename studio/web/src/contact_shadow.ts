// A soft shadow on the floor: depth seen from below, blurred.
import * as THREE from 'three';
import { HorizontalBlurShader } from 'three/examples/jsm/shaders/HorizontalBlurShader.js';
import { VerticalBlurShader } from 'three/examples/jsm/shaders/VerticalBlurShader.js';

const SIZE = 256;

export class ContactShadow {
  readonly plane: THREE.Mesh;
  stale = true;
  private camera = new THREE.OrthographicCamera(-1, 1, 1, -1, 0, 1);
  private target = new THREE.WebGLRenderTarget(SIZE, SIZE);
  private other = new THREE.WebGLRenderTarget(SIZE, SIZE);
  /** Dark where the shape is close to the floor. Who sees the inside looks into an opening, such as a neck that is cut off: its rim is close. */
  private depth = new THREE.ShaderMaterial({
    side: THREE.DoubleSide,
    uniforms: { reach: { value: 1 } },
    vertexShader: 'varying float height; void main() { vec4 p = modelViewMatrix * vec4(position, 1.0); height = -p.z; gl_Position = projectionMatrix * p; }',
    fragmentShader: 'uniform float reach; varying float height; void main() { float near = max(0.0, 1.0 - height / reach); gl_FragColor = vec4(0.0, 0.0, 0.0, gl_FrontFacing ? near * (2.0 - near) : 1.0); }',
  });
  private blurX = new THREE.ShaderMaterial(HorizontalBlurShader);
  private blurY = new THREE.ShaderMaterial(VerticalBlurShader);
  private quad = new THREE.Mesh(new THREE.PlaneGeometry(2, 2));
  private quadCamera = new THREE.OrthographicCamera(-1, 1, 1, -1, 0, 1);
  private inner = new THREE.Scene();

  constructor(private renderer: THREE.WebGLRenderer) {
    const material = new THREE.MeshBasicMaterial({ map: this.target.texture, transparent: true, opacity: 0.42, depthWrite: false });
    this.plane = new THREE.Mesh(new THREE.PlaneGeometry(1, 1), material);
    this.plane.rotation.x = -Math.PI / 2;
    this.plane.renderOrder = -1;
    this.blurX.depthTest = this.blurY.depthTest = false;
  }

  /** Under the box of the neutral. */
  place(box: THREE.Box3, diagonal: number) {
    const center = box.getCenter(new THREE.Vector3());
    const size = Math.max(box.max.x - box.min.x, box.max.z - box.min.z) * 1.15 + diagonal * 0.5;
    const floor = box.min.y - diagonal * 0.005;
    this.plane.position.set(center.x, floor, center.z);
    this.plane.scale.set(size, size, 1);
    this.camera.left = this.camera.bottom = -size / 2;
    this.camera.right = this.camera.top = size / 2;
    this.camera.near = 0;
    this.camera.far = box.max.y - floor + diagonal; // shapes may rise above the neutral
    this.depth.uniforms.reach.value = diagonal * 0.4;
    this.camera.position.set(center.x, floor, center.z);
    this.camera.up.set(0, 0, -1);
    this.camera.lookAt(center.x, floor + 1, center.z);
    // Seen from below, left and right are swapped.
    this.plane.scale.x = -size;
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld();
    (this.plane.material as THREE.MeshBasicMaterial).side = THREE.DoubleSide;
    this.stale = true;
  }

  /** Compiles what `update` draws; `surface` stands for the mesh. */
  compile(surface: THREE.BufferGeometry): Promise<unknown> {
    const group = new THREE.Group();
    for (const material of [this.depth, this.blurX, this.blurY]) group.add(new THREE.Mesh(material === this.depth ? surface : this.quad.geometry, material));
    this.renderer.setRenderTarget(this.target);
    const compiled = this.renderer.compileAsync(group, this.camera);
    this.renderer.setRenderTarget(null);
    return compiled;
  }

  update(mesh: THREE.Mesh) {
    if (!this.stale) return;
    this.stale = false;
    const renderer = this.renderer;
    const visible = mesh.visible, parent = mesh.parent, material = mesh.material;
    renderer.setScissorTest(false);
    mesh.visible = true;
    mesh.material = this.depth;
    this.inner.add(mesh);
    renderer.setRenderTarget(this.target);
    renderer.setClearColor(0x000000, 0);
    renderer.clear();
    renderer.render(this.inner, this.camera);
    parent?.add(mesh);
    mesh.visible = visible;
    mesh.material = material;
    for (const amount of [3.2, 1.4]) {
      this.pass(this.blurX, this.target, this.other, 'h', amount);
      this.pass(this.blurY, this.other, this.target, 'v', amount);
    }
    renderer.setRenderTarget(null);
  }

  private pass(material: THREE.ShaderMaterial, from: THREE.WebGLRenderTarget, to: THREE.WebGLRenderTarget, name: string, amount: number) {
    material.uniforms.tDiffuse.value = from.texture;
    material.uniforms[name].value = amount / SIZE;
    this.quad.material = material;
    this.renderer.setRenderTarget(to);
    this.renderer.clear();
    this.renderer.render(this.quad, this.quadCamera);
  }
}

// How surfaces look: what a part is made of, eyes, heat map.
import * as THREE from 'three';
import { HEAT_STOPS } from './heat';
import type { Rig } from './state';

interface Look {
  color: THREE.Color;
  gloss: number; // 0 skin, 1 wet
  eye: boolean;
}

function lookOf(name: string, isFace: boolean): Look {
  const has = (...words: string[]) => words.some((w) => name.toLowerCase().includes(w));
  const look = (hex: number, gloss = 0, eye = false) => ({ color: new THREE.Color(hex), gloss, eye });
  if (has('hair', 'eyebrow', 'lash')) return look(0x43302a, 0.1);
  if (has('sclera', 'iris', 'cornea')) return look(0xe9e4de, 1, true);
  if (has('eye') && !has('brow', 'lid', 'socket')) return look(0xe9e4de, 1, true);
  if (has('teeth', 'tooth')) return look(0xe6ddc8, 0.8);
  if (has('tongue', 'gum')) return look(0xa8544c, 0.6);
  return isFace ? look(0xe3b196) : look(0xd9b09a);
}

/** Shells of wet eyes and of shadow lie over the eyes: opaque, they would hide them. */
const isShell = (name: string) => /occlusion|lacrimal|tear|cornea|eye.?(blend|shadow|wet|shell)/i.test(name);

/** Numbers of the triangles to draw. */
export function visibleTriangles(rig: Rig): Uint32Array {
  const hidden = rig.parts.map(isShell), all = new Uint32Array(rig.trianglePart.length);
  let count = 0;
  for (let t = 0; t < all.length; t++) if (!hidden[rig.trianglePart[t]]) all[count++] = t;
  return all.slice(0, count);
}

/** Per vertex: color, and (direction from the eyeball's centre at rest, gloss). */
export function paintRig(rig: Rig) {
  const names = rig.parts.length ? rig.parts : ['skin'];
  const isFace = names.some((name) => /eye|teeth/i.test(name));
  const looks = names.map((name) => lookOf(name, isFace));
  const plain = lookOf('', isFace);
  const color = new Float32Array(3 * rig.vertices);
  const gaze = new Float32Array(4 * rig.vertices);
  const part = new Int32Array(rig.vertices).fill(-1);
  for (let t = 0; t < rig.trianglePart.length; t++)
    for (let k = 0; k < 3; k++) part[rig.triangles[3 * t + k]] = rig.trianglePart[t];
  const box = names.map(() => new THREE.Box3());
  const point = new THREE.Vector3();
  for (let v = 0; v < rig.vertices; v++)
    if (part[v] >= 0) box[part[v]].expandByPoint(point.fromArray(rig.neutral, 3 * v));
  const center = box.map((b) => b.getCenter(new THREE.Vector3()));
  for (let v = 0; v < rig.vertices; v++) {
    const look = looks[part[v]] ?? plain;
    look.color.toArray(color, 3 * v);
    if (look.eye) point.fromArray(rig.neutral, 3 * v).sub(center[part[v]]).normalize().toArray(gaze, 4 * v);
    gaze[4 * v + 3] = look.gloss;
  }
  tintRegions(rig, color);
  return { color, gaze };
}

/** Lips are redder than the skin around them, and gums than teeth; tints fade over two rings of vertices. */
const TINTS: { [region: string]: number[] } = { lips: [0.85, 0.55, 0.55], gums: [0.6, 0.25, 0.25] };

function tintRegions({ regions, vertices, triangles }: Rig, color: Float32Array) {
  for (const region of regions) {
    const tint = TINTS[region.name];
    if (!tint) continue;
    let share = new Float32Array(vertices);
    for (const v of region.vertices) share[v] = 1;
    for (let round = 0; round < 2; round++) {
      const sum = new Float32Array(vertices), count = new Float32Array(vertices);
      for (let t = 0; t < triangles.length; t += 3) {
        const all = share[triangles[t]] + share[triangles[t + 1]] + share[triangles[t + 2]];
        for (let k = 0; k < 3; k++) {
          sum[triangles[t + k]] += all;
          count[triangles[t + k]] += 3;
        }
      }
      share = sum.map((x, v) => (count[v] ? x / count[v] : share[v]));
    }
    for (let i = 0; i < color.length; i++) color[i] *= 1 + share[Math.floor(i / 3)] * (tint[i % 3] - 1);
  }
}

const heatStops = HEAT_STOPS.map((s) => `vec3(${s.map((x) => x.toFixed(3)).join(',')})`);
const VARYINGS = 'varying vec4 vGaze; varying float vHeat; varying float vShade; varying float vMark;';
const ATTRIBUTES = 'uniform float heatScale; attribute vec4 gaze; attribute float heat; attribute float shade; attribute float mark;';
const PASS_ON = 'vGaze = gaze; vHeat = heat * heatScale; vShade = shade; vMark = mark;';
const COLORS = `uniform float heatOn;
vec3 heatColor(float t) {
  vec3 s[6] = vec3[6](${heatStops.join(',')});
  float x = clamp(t, 0.0, 1.0) * 5.0; int i = int(min(x, 4.0));
  return pow(mix(s[i], s[i + 1], x - float(i)), vec3(2.2));
}
// The heat map leaves the surface as it is where there is nothing to show.
float heatShare(float heat) { return heatOn * smoothstep(0.04, 0.2, heat); }
vec3 eyeColor(vec3 base, vec3 d) {
  // Iris 12 mm across on a ball of 24 mm; +z is ahead at rest.
  float angle = acos(clamp(d.z, -1.0, 1.0));
  float spokes = 0.5 + 0.5 * sin(40.0 * atan(d.y, d.x)) * sin(17.0 * atan(d.y, d.x) + 2.0);
  vec3 iris = mix(vec3(0.23, 0.10, 0.03), vec3(0.07, 0.17, 0.23), smoothstep(0.19, 0.36, angle));
  iris *= 0.75 + 0.5 * spokes * smoothstep(0.19, 0.3, angle);
  iris = mix(iris, vec3(0.015, 0.025, 0.03), smoothstep(0.40, 0.47, angle));
  vec3 c = mix(vec3(0.004), iris, smoothstep(0.17, 0.20, angle));
  return mix(c, base, smoothstep(0.45, 0.50, angle));
}
vec3 surfaceColor(vec3 base, vec4 gaze, float mark, float heat) {
  if (dot(gaze.xyz, gaze.xyz) > 0.25) base = eyeColor(base, normalize(gaze.xyz));
  base = mix(base, vec3(0.05, 0.22, 0.62), 0.6 * mark * (1.0 - heatOn)); // locked
  float share = heatShare(heat);
  return share > 0.0 ? mix(base, heatColor(heat), share) : base;
}
vec3 occluded(vec3 color, float shade, float heat) {
  return color * mix(mix(vec3(0.16, 0.05, 0.04), vec3(1.0), shade), vec3(0.6 + 0.4 * shade), heatShare(heat));
}`;

export interface SurfaceMaterials {
  full: THREE.MeshStandardMaterial;
  /** Lit at the vertices: an order of magnitude cheaper where there is no GPU. */
  draft: THREE.ShaderMaterial;
  heatOn: { value: number };
  /** Turns the heat of a vertex into a fraction of the hottest color. */
  heatScale: { value: number };
}

const side = { side: THREE.DoubleSide, polygonOffsetFactor: 1, polygonOffsetUnits: 1 };

/** Skin, eyes drawn by angle, and an optional heat map per vertex. */
export function surfaceMaterials(): SurfaceMaterials {
  const uniforms = { heatOn: { value: 0 }, heatScale: { value: 1 } };
  return { full: fullMaterial(uniforms), draft: draftMaterial(uniforms), ...uniforms };
}

type HeatUniforms = Pick<SurfaceMaterials, 'heatOn' | 'heatScale'>;

function fullMaterial(uniforms: HeatUniforms) {
  const material = new THREE.MeshStandardMaterial({ vertexColors: true, roughness: 0.58, metalness: 0, ...side });
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, uniforms);
    shader.vertexShader = shader.vertexShader
      .replace('#include <common>', `#include <common>\n${ATTRIBUTES} ${VARYINGS}`)
      .replace('#include <begin_vertex>', `#include <begin_vertex>\n${PASS_ON}`);
    shader.fragmentShader = shader.fragmentShader
      .replace('#include <common>', `#include <common>\n${VARYINGS}\n${COLORS}`)
      .replace(
        '#include <color_fragment>',
        `#include <color_fragment>
diffuseColor.rgb = surfaceColor(diffuseColor.rgb, vGaze, vMark, vHeat);
// The inside of an open surface is dark, but not where a silhouette merely turns away.
float inside = gl_FrontFacing ? 0.0 : smoothstep(0.1, 0.5, -dot(normalize(vNormal), normalize(vViewPosition)));
diffuseColor.rgb *= mix(vec3(1.0), vec3(0.20, 0.10, 0.09), inside);
diffuseColor.rgb = occluded(diffuseColor.rgb, vShade, vHeat);`,
      )
      // Nor is it lit from behind there: dark specks would line the silhouette.
      .replace('#include <normal_fragment_begin>', '#include <normal_fragment_begin>\nnormal = normalize(mix(normalize(vNormal), normal, inside));')
      .replace(
        '#include <aomap_fragment>',
        `// Deep places get little light from the walls and hardly any from the lamps.
float deep = smoothstep(0.05, 0.5, vShade) * (1.0 - 0.85 * inside);
reflectedLight.indirectDiffuse *= mix(0.3, 1.0, deep);
reflectedLight.indirectSpecular *= deep;
reflectedLight.directSpecular *= deep;
reflectedLight.directDiffuse *= mix(0.25, 1.0, deep);`,
      )
      .replace(
        '#include <roughnessmap_fragment>',
        '#include <roughnessmap_fragment>\nroughnessFactor = mix(roughnessFactor, 0.12, vGaze.w * (1.0 - heatShare(vHeat)));',
      );
  };
  return material;
}

/** The linear shape over the physical one: it appears where the two are apart (`apart`, a fraction of the diagonal). */
export function ghostMaterial() {
  const material = new THREE.MeshStandardMaterial({ color: 0x4f8fd0, transparent: true, opacity: 0.5, depthWrite: false, roughness: 0.9, side: THREE.FrontSide });
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace('#include <common>', '#include <common>\nattribute float apart; varying float vApart;')
      .replace('#include <begin_vertex>', '#include <begin_vertex>\nvApart = apart;');
    shader.fragmentShader = shader.fragmentShader
      .replace('#include <common>', '#include <common>\nvarying float vApart;')
      .replace('#include <color_fragment>', '#include <color_fragment>\ndiffuseColor.a *= smoothstep(0.0002, 0.003, vApart);');
  };
  return material;
}

/** The same lamps and walls as the full material, summed up per vertex. */
function draftMaterial(uniforms: HeatUniforms) {
  return new THREE.ShaderMaterial({
    ...side,
    vertexColors: true,
    uniforms,
    vertexShader: `${ATTRIBUTES} ${VARYINGS} varying vec3 vLight; varying vec3 vBase; varying float vGlint; varying float vFacing;
void main() {
  ${PASS_ON}
  vBase = color;
  vec4 view = modelViewMatrix * vec4(position, 1.0);
  gl_Position = projectionMatrix * view;
  vec3 n = normalize(normal);
  vec3 toEye = normalize(cameraPosition - position);
  vFacing = dot(n, toEye);
  if (vFacing < -0.5) n = -n; // seen from inside; not where a silhouette merely turns away
  const vec3 key = vec3(-0.4264, 0.6396, 0.6396), rim = vec3(0.5976, 0.3586, -0.7171);
  float deep = smoothstep(0.05, 0.5, shade);
  vec3 walls = mix(vec3(0.22, 0.19, 0.17), vec3(0.42, 0.42, 0.43), 0.5 + 0.5 * n.y) + 0.30 * max(0.0, dot(n, key)) * vec3(1.0, 0.95, 0.9);
  vLight = mix(0.3, 1.0, deep) * walls
    + mix(0.25, 1.0, deep) * 0.60 * (max(0.0, dot(n, key)) * vec3(1.0, 0.88, 0.74) + 0.58 * max(0.0, dot(n, rim)) * vec3(0.74, 0.81, 1.0));
  vec3 h = normalize(key + toEye);
  float facing = max(0.0, dot(n, h));
  vGlint = deep * (0.05 * pow(facing, 8.0) + gaze.w * 0.5 * pow(facing, 80.0));
}`,
    fragmentShader: `${VARYINGS} varying vec3 vLight; varying vec3 vBase; varying float vGlint; varying float vFacing;
${COLORS}
void main() {
  vec3 base = occluded(surfaceColor(vBase, vGaze, vMark, vHeat), vShade, vHeat);
  if (!gl_FrontFacing) base *= mix(vec3(1.0), vec3(0.20, 0.10, 0.09), smoothstep(0.1, 0.5, -vFacing));
  gl_FragColor = vec4(base * vLight + vGlint * (1.0 - heatShare(vHeat)), 1.0);
  #include <tonemapping_fragment>
  #include <colorspace_fragment>
}`,
  });
}

/** Area-weighted normals; seams of the file are no seams here because vertices are shared. */
export function computeNormals(positions: Float32Array, triangles: Uint32Array, out: Float32Array) {
  out.fill(0);
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
    const ax = positions[a], ay = positions[a + 1], az = positions[a + 2];
    const ux = positions[b] - ax, uy = positions[b + 1] - ay, uz = positions[b + 2] - az;
    const vx = positions[c] - ax, vy = positions[c + 1] - ay, vz = positions[c + 2] - az;
    const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
    out[a] += x; out[a + 1] += y; out[a + 2] += z;
    out[b] += x; out[b + 1] += y; out[b + 2] += z;
    out[c] += x; out[c + 1] += y; out[c + 2] += z;
  }
  for (let i = 0; i < out.length; i += 3) {
    const x = out[i], y = out[i + 1], z = out[i + 2];
    const scale = 1 / (Math.sqrt(x * x + y * y + z * z) || 1);
    out[i] = x * scale; out[i + 1] = y * scale; out[i + 2] = z * scale;
  }
}

/** A soft studio: bright box above and to the left, dimmer walls, warm floor. */
export function studioEnvironment(renderer: THREE.WebGLRenderer): THREE.Texture {
  const scene = new THREE.Scene();
  const wall = (color: number, intensity: number, x: number, y: number, z: number, w: number, h: number) => {
    const panel = new THREE.Mesh(
      new THREE.PlaneGeometry(w, h),
      new THREE.MeshBasicMaterial({ color: new THREE.Color(color).multiplyScalar(intensity), side: THREE.DoubleSide }),
    );
    panel.position.set(x, y, z);
    panel.lookAt(0, 0, 0);
    scene.add(panel);
  };
  scene.background = new THREE.Color(0x6c7076).multiplyScalar(0.55);
  wall(0xfff4e6, 6, -4, 5, 4, 4, 4);
  wall(0xe6efff, 1.6, 6, 1, 2, 3, 6);
  wall(0xffffff, 2.2, 0, 7, -2, 6, 3);
  wall(0xcfd8e6, 2.5, 2, 2, -7, 6, 4);
  wall(0x9a8f86, 0.7, 0, -6, 0, 12, 12);
  const generator = new THREE.PMREMGenerator(renderer);
  const texture = generator.fromScene(scene, 0.04).texture;
  generator.dispose();
  return texture;
}

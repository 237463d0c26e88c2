// One shape in the view: what is drawn of it, where a ray meets it, and its heat map.
import * as THREE from 'three';
import { acceleratedRaycast, MeshBVH, type SerializedBVH } from 'three-mesh-bvh';
import { computeNormals, surfaceMaterials } from './shading';
import type { Overlay, Rig } from './state';

/** A point of a surface under the pointer. */
export interface Hit {
  /** The nearest corner of the triangle. */
  vertex: number;
  point: THREE.Vector3;
  /** Number in the rig. */
  triangle: number;
  barycentric: number[];
}

/** Math.hypot takes ten times as long. */
function distance(a: Float32Array, i: number, b: Float32Array, j: number): number {
  const x = a[i] - b[j], y = a[i + 1] - b[j + 1], z = a[i + 2] - b[j + 2];
  return Math.sqrt(x * x + y * y + z * z);
}

export class Surface {
  readonly geometry = new THREE.BufferGeometry();
  readonly materials = surfaceMaterials();
  readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.Material>;
  readonly wires: THREE.LineSegments;
  private bvh: MeshBVH | null = null;
  private stale = true;

  /** In its neutral. `common` has the attributes and the index that all surfaces share; `drawn` are the triangles of the index. */
  constructor(private rig: Rig, private drawn: Uint32Array, common: THREE.BufferGeometry, normals: Float32Array, wireMaterial: THREE.Material) {
    const { geometry } = this;
    geometry.setIndex(common.index);
    for (const name in common.attributes) geometry.setAttribute(name, common.attributes[name]);
    const position = new THREE.BufferAttribute(rig.neutral.slice(), 3).setUsage(THREE.DynamicDrawUsage);
    geometry.setAttribute('position', position);
    geometry.setAttribute('normal', new THREE.BufferAttribute(normals.slice(), 3));
    for (const name of ['heat', 'apart']) geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(rig.vertices), 1));
    this.mesh = new THREE.Mesh(geometry, this.materials.draft);
    this.mesh.frustumCulled = false;
    this.mesh.raycast = acceleratedRaycast;
    const wireGeometry = new THREE.BufferGeometry();
    wireGeometry.setAttribute('position', position);
    this.wires = new THREE.LineSegments(wireGeometry, wireMaterial);
    this.wires.frustumCulled = false;
  }

  dispose() {
    this.geometry.dispose();
    this.wires.geometry.dispose();
    this.materials.full.dispose();
    this.materials.draft.dispose();
  }

  get positions() {
    return this.geometry.attributes.position.array as Float32Array;
  }

  setPositions(positions: Float32Array) {
    const { position, normal } = this.geometry.attributes;
    this.positions.set(positions);
    computeNormals(positions, this.rig.triangles, normal.array as Float32Array);
    position.needsUpdate = normal.needsUpdate = true;
    this.stale = true;
  }

  /** Where a ray meets the surface first. `tree` comes from the survey; whoever is faster than it waits for another one here. */
  intersect(ray: THREE.Raycaster, tree: SerializedBVH | null): Hit | null {
    if (!this.bvh) {
      const roots = tree?.roots.map((root) => root.slice(0)); // each surface fits its own
      this.bvh = tree ? MeshBVH.deserialize({ ...tree, roots: roots! }, this.geometry, { setIndex: false }) : new MeshBVH(this.geometry, { indirect: true });
      (this.geometry as THREE.BufferGeometry & { boundsTree?: MeshBVH }).boundsTree = this.bvh;
      this.stale = !!tree;
    }
    if (this.stale) this.bvh.refit();
    this.stale = false;
    (ray as THREE.Raycaster & { firstHitOnly: boolean }).firstHitOnly = true;
    const { visible } = this.mesh;
    this.mesh.visible = true;
    const hit = ray.intersectObject(this.mesh, false)[0];
    this.mesh.visible = visible;
    if (!hit?.face) return null;
    const vertices = [hit.face.a, hit.face.b, hit.face.c];
    const [a, b, c] = vertices.map((v) => new THREE.Vector3().fromArray(this.positions, 3 * v));
    const distances = [a, b, c].map((corner) => corner.distanceToSquared(hit.point));
    const weights = new THREE.Vector3();
    THREE.Triangle.getBarycoord(hit.point, a, b, c, weights);
    return {
      vertex: vertices[distances.indexOf(Math.min(...distances))],
      point: hit.point,
      triangle: this.drawn[hit.faceIndex ?? 0],
      barycentric: weights.toArray(),
    };
  }

  /** Vertices within `radius` of a point. */
  near(point: THREE.Vector3, radius: number): number[] {
    const p = this.positions, found: number[] = [];
    for (let v = 0; v < this.rig.vertices; v++) {
      const x = p[3 * v] - point.x, y = p[3 * v + 1] - point.y, z = p[3 * v + 2] - point.z;
      if (x * x + y * y + z * z <= radius * radius) found.push(v);
    }
    return found;
  }

  /** Vertices within `radius` of one that the surface joins to it there: not the eye behind a cheek, nor the other lip. */
  patch(middle: number, radius: number): number[] {
    const inside = new Set(this.near(new THREE.Vector3().fromArray(this.positions, 3 * middle), radius));
    const { triangles } = this.rig, around: number[] = [];
    for (let t = 0; t < triangles.length; t += 3)
      if (inside.has(triangles[t]) && inside.has(triangles[t + 1]) && inside.has(triangles[t + 2])) around.push(t);
    const joined = new Set([middle]);
    for (let before = 0; joined.size > before; ) {
      before = joined.size;
      for (const t of around) {
        const corners = triangles.subarray(t, t + 3);
        if (corners.some((v) => joined.has(v))) corners.forEach((v) => joined.add(v));
      }
    }
    return [...joined];
  }

  /** Fills the heat map; `from` is the shape to compare with, `edges` are those of the polygons. Returns the value of the hottest color. */
  measureHeat(mode: Overlay, from: Float32Array, edges: Uint32Array): number {
    const attribute = this.geometry.attributes.heat as THREE.BufferAttribute;
    const heat = attribute.array as Float32Array, p = this.positions, { neutral } = this.rig;
    attribute.needsUpdate = true;
    if (mode === 'stretch') {
      heat.fill(0);
      for (let e = 0; e < edges.length; e += 2) {
        const i = 3 * edges[e], j = 3 * edges[e + 1];
        const rest = distance(neutral, i, neutral, j);
        const error = rest > 0 ? Math.abs(distance(p, i, p, j) / rest - 1) : 0;
        heat[i / 3] = Math.max(heat[i / 3], error);
        heat[j / 3] = Math.max(heat[j / 3], error);
      }
      return 0.5;
    }
    const other = mode === 'difference' ? from : neutral;
    let top = 0;
    for (let v = 0; v < heat.length; v++) {
      heat[v] = distance(p, 3 * v, other, 3 * v);
      if (heat[v] > top) top = heat[v];
    }
    return top;
  }
}

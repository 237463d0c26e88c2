// What a new rig needs before tools and overlays can work on it, and takes long to find: a tree for
// picking, the edges of its polygons, and how much light reaches each vertex. It runs in a worker.
import { BufferAttribute, BufferGeometry, DoubleSide, Ray, Vector3 } from 'three';
import { MeshBVH, type SerializedBVH } from 'three-mesh-bvh';

export interface SurveyRequest {
  neutral: Float32Array;
  normals: Float32Array;
  diagonal: number;
  /** Corners of the triangles that are drawn. */
  index: Uint32Array;
  /** Corners of all triangles, and the polygon of each. */
  triangles: Uint32Array;
  triangleFace: Uint32Array;
  /** Per vertex, 0 (skin) to 1 (wet): teeth and eyes come out of the dark when the mouth opens. */
  gloss: Float32Array;
}

/** Two answers: the tree and the edges at once, the light later. */
export type SurveyAnswer = { tree: SerializedBVH; edges: Uint32Array } | { shade: Float32Array };

/** Larger rigs do without occlusion. */
const MOST_SHADED = 80000;
const RAYS = 20;

/** Edges of the polygons: diagonals inside a face are left out. */
export function polygonEdges(triangles: Uint32Array, faceOf: Uint32Array): Uint32Array {
  const seen = new Map<number, number>(); // edge -> face, or -2 when it is a diagonal
  const limit = 2 ** 26;
  for (let t = 0; t < triangles.length; t += 3)
    for (let k = 0; k < 3; k++) {
      const a = triangles[t + k], b = triangles[t + ((k + 1) % 3)];
      const key = Math.min(a, b) * limit + Math.max(a, b);
      const face = seen.get(key);
      if (face === undefined) seen.set(key, faceOf[t / 3]);
      else if (face === faceOf[t / 3]) seen.set(key, -2);
    }
  const edges: number[] = [];
  for (const [key, face] of seen) if (face !== -2) edges.push(Math.floor(key / limit), key % limit);
  return new Uint32Array(edges);
}

/** Ambient occlusion of the neutral: 1 in the open. */
export function occlusion(tree: MeshBVH, { neutral, normals, diagonal, gloss }: SurveyRequest): Float32Array {
  const directions = Array.from({ length: RAYS }, (_, i) => {
    // Cosine-weighted on the hemisphere about +z, on a spiral.
    const u = (i + 0.5) / RAYS, angle = i * 2.399963;
    const r = Math.sqrt(u);
    return [r * Math.cos(angle), r * Math.sin(angle), Math.sqrt(1 - u)];
  });
  const ray = new Ray(), normal = new Vector3(), a = new Vector3(), b = new Vector3();
  const reach = 0.35 * diagonal, lift = 1e-3 * diagonal;
  return gloss.map((wet, v) => {
    normal.fromArray(normals, 3 * v);
    a.set(Math.abs(normal.x) > 0.9 ? 0 : 1, Math.abs(normal.x) > 0.9 ? 1 : 0, 0).cross(normal).normalize();
    b.crossVectors(normal, a);
    let open = 0;
    for (const [x, y, z] of directions) {
      ray.origin.fromArray(neutral, 3 * v).addScaledVector(normal, lift);
      ray.direction.set(0, 0, 0).addScaledVector(a, x).addScaledVector(b, y).addScaledVector(normal, z);
      const hit = tree.raycastFirst(ray, DoubleSide);
      open += hit && hit.distance < reach ? hit.distance / reach : 1;
    }
    return Math.min(1, 0.08 + (1.05 * open) / RAYS + 0.45 * wet);
  });
}

const asWorker = self as unknown as { postMessage(answer: SurveyAnswer): void; close(): void; onmessage: (event: MessageEvent<SurveyRequest>) => void };
asWorker.onmessage = ({ data }) => {
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new BufferAttribute(data.neutral, 3));
  geometry.setIndex(new BufferAttribute(data.index, 1));
  // The tree keeps its own order of triangles, so that the index stays as it is.
  const tree = new MeshBVH(geometry, { indirect: true });
  asWorker.postMessage({ tree: MeshBVH.serialize(tree), edges: polygonEdges(data.triangles, data.triangleFace) });
  if (data.gloss.length <= MOST_SHADED) asWorker.postMessage({ shade: occlusion(tree, data) });
  asWorker.close();
};

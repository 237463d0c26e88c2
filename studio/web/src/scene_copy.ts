// The page's copy of the scene: as the server has it, and on top the changes that the server has not answered yet.
import { applyPatch, type Json, type Operation } from './patch';
import { scene } from './state';

let confirmed: Json = scene.peek() as unknown as Json;
const pending = new Map<number, { ops: Operation[]; sent: number }>();
let nextId = 1;

const show = (document: Json) => (scene.value = document as never);

/** With a change on top, unless it is about something that is gone: the server will refuse it. */
function withProposal(document: Json, { ops }: { ops: Operation[] }): Json {
  try {
    return applyPatch(document, ops);
  } catch {
    return document;
  }
}

/** What the server did in between may not commute with what waits: it may have replaced the whole scene. */
const rebase = () => show([...pending.values()].reduce(withProposal, confirmed));

/** Applies a change of this page before the server answers; returns its number. */
export function propose(ops: Operation[]): number {
  const id = nextId++;
  const proposal = { ops, sent: performance.now() };
  pending.set(id, proposal);
  show(withProposal(scene.peek() as unknown as Json, proposal));
  return id;
}

/** The server has applied a change; `id` is its number if it came from this page, else null. Returns when it was proposed. */
export function confirm(ops: Operation[], id: number | null): number | null {
  const isFirst = pending.size > 0 && pending.keys().next().value === id;
  const proposal = id === null ? undefined : pending.get(id);
  confirmed = applyPatch(confirmed, ops);
  if (proposal) pending.delete(id!);
  if (!proposal || !isFirst) rebase(); // else the copy has it already
  return proposal?.sent ?? null;
}

/** The server has refused a change. */
export const refuse = (id: number) => pending.delete(id);

/** The server has sent the whole scene. */
export function reset(document: Json) {
  confirmed = document;
  rebase();
}

/** The connection is lost: what was not answered may not have arrived. */
export const forget = () => pending.clear();

/** Changes that the server has not answered. */
export const unanswered = () => pending.size;

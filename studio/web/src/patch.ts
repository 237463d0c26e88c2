// JSON Patch (RFC 6902) on plain values, as far as the studio uses it: add, remove, replace.
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export interface Operation {
  op: 'add' | 'remove' | 'replace';
  path: string;
  value?: Json;
}

export const escapeKey = (key: string) => key.replace(/~/g, '~0').replace(/\//g, '~1');
const unescapeKey = (key: string) => key.replace(/~1/g, '/').replace(/~0/g, '~');

/** A new document; parts that did not change are shared with the old one. Throws, as the server refuses, where a path leads nowhere. */
export function applyPatch<T extends Json>(document: T, operations: Operation[]): T {
  let result: Json = document;
  for (const operation of operations) {
    const keys = operation.path.split('/').slice(1).map(unescapeKey);
    result = change(result, keys, operation);
  }
  return result as T;
}

function change(value: Json | undefined, keys: string[], operation: Operation): Json {
  if (keys.length === 0) return operation.value ?? null;
  const [key, ...rest] = keys;
  const isThere = Array.isArray(value) ? Number(key) < value.length : typeof value === 'object' && value !== null && key in value;
  const isNew = operation.op === 'add' && !rest.length && typeof value === 'object' && value !== null;
  if (!isThere && !isNew) throw new Error(`${operation.path} leads nowhere`);
  if (Array.isArray(value)) {
    const list = value.slice();
    const index = key === '-' ? list.length : Number(key);
    if (rest.length) list[index] = change(list[index], rest, operation);
    else if (operation.op === 'remove') list.splice(index, 1);
    else if (operation.op === 'add') list.splice(index, 0, operation.value ?? null);
    else list[index] = operation.value ?? null;
    return list;
  }
  const object = { ...(value as { [key: string]: Json }) };
  if (rest.length) object[key] = change(object[key], rest, operation);
  else if (operation.op === 'remove') delete object[key];
  else object[key] = operation.value ?? null;
  return object;
}

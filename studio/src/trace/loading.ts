// Numbers of the open run that are still at the server: what is asked for in one go comes with one request.
import { source } from "../api/source";
import type { Tensor } from "../api/types";
import { data, run } from "./document";
import { headNumber } from "./heads";
import { elementsOf, endOf, placeOf, type Run } from "./run";

export const mostLoaded = 2 ** 18;  // numbers of one tensor that are fetched as they are; beyond it there are tiles
const mostAtOnce = 2 ** 19;         // of a whole run

export function canLoad(): boolean { return source.isServer && data.id !== undefined; }

interface Wanted { of: Run; tensor: Tensor; head?: number; done: Promise<void> }
const wanted = new Map<string, Wanted>();
let next: { names: Map<string, Wanted>; done: Promise<void> } | undefined;

// All of a tensor, or one head of it by its index.
export function load(tensor: Tensor, head?: number): Promise<void> {
  const holder = tensor.same_as ? (run().find(tensor.same_as) as Tensor) : tensor;
  const own = holder.name === "gradient.error" ? "error" : head === undefined ? holder.name : `${placeOf(holder.name)}.head.${headNumber(holder, head)}.${endOf(holder.name)}`;
  const key = `${data.id} ${run().key} ${own}`;
  const known = wanted.get(key);
  if (known) return known.done;
  if (!next) {
    const names = new Map<string, Wanted>();
    next = { names, done: Promise.resolve().then(() => { next = undefined; return fetchAll(names); }) };
  }
  const one = { of: run(), tensor: holder, head, done: next.done };
  next.names.set(own, one);
  wanted.set(key, one);
  next.done.catch(() => wanted.delete(key));
  return next.done;
}
async function fetchAll(names: Map<string, Wanted>): Promise<void> {
  for (const [name, { values }] of await source.tensors([...names.keys()])) {
    const one = names.get(name);
    one?.of.take(one.tensor.name, values, one.head);
  }
}

// A small run is fetched whole, so that every number answers at once.
export async function loadSmallRun(): Promise<void> {
  if (!source.isServer || data.id === undefined) return;
  const all = [...run().all.values()].filter((tensor) => !tensor.same_as && tensor.values === undefined);
  if (all.reduce((sum, tensor) => sum + elementsOf(tensor), 0) > mostAtOnce) return;
  await Promise.all(all.map((tensor) => load(tensor)));
}

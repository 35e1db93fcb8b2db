// Which head and which query of an attention is looked at.
import type { Head, Tensor } from "../api/types";
import { state } from "../state/state";
import { run } from "./document";
import { placeOf } from "./run";

// The heads of a run as they were measured; the one shown first, of a place or of all, is the one whose rows look most clearly at different
// keys, unless it looks everywhere alike.
export function shownFirst(place?: string): Head | undefined {
  const heads = run().heads.filter((one) => place === undefined || one.place === place);
  const telling = heads.filter((one) => one.role !== "uniform");
  return (telling.length > 0 ? telling : heads).reduce<Head | undefined>((best, one) => (best && best.selectivity >= one.selectivity ? best : one), undefined);
}
export function measuredHead(place: string, number: number): Head | undefined { return run().heads.find((one) => one.place === place && one.head === number); }

// Heads that are left after pruning keep their numbers; an index is where one stands among them.
export function headNumber(tensor: Tensor | undefined, index: number): number { return tensor?.head_numbers?.[index] ?? index; }
export function headIndex(tensor: Tensor | undefined, number: number): number { return tensor?.head_numbers ? tensor.head_numbers.indexOf(number) : number; }

export function headAt(place: string): number {
  const first = shownFirst(place);
  return state.heads[place] ?? (first ? headIndex(run().attentionAt(place), first.head) : 0);
}
export function rowAt(place: string): number { return state.rows[place] ?? 0; }

// The attention that panels look at.
export function chosenPlace(): string {
  const places = run().attentions().map((tensor) => placeOf(tensor.name));
  return places.includes(state.place) ? state.place : shownFirst()?.place ?? places[0] ?? "";
}
// Its head by its public name: "decoder.0.self.3".
export function chosenHead(): string {
  const place = chosenPlace();
  return place && `${place}.${headNumber(run().attentionAt(place), headAt(place))}`;
}
// False: there is no such head.
export function setHead(name: string): boolean {
  const place = placeOf(name);
  const tensor = run().attentionAt(place);
  const index = headIndex(tensor, Number(name.slice(place.length + 1)));
  if (!tensor || !(index >= 0 && index < (tensor.shape[1] as number))) return false;
  state.place = place;
  state.heads[place] = index;
  return true;
}

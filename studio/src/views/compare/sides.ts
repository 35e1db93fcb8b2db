// The two runs that stand beside each other, and what the server finds between them.
import type { CompareAnswer } from "../../api/compare";
import { readSafetensors, type StoredTensor } from "../../api/safetensors";
import { asRead } from "../../api/sentence";
import { source, type TraceRequest } from "../../api/source";
import { known, modelInfo } from "../../page/session";
import type { Words } from "../../draw/element";
import { state } from "../../state/state";
import { text } from "../../texts/words";
import { data, run, runs } from "../../trace/document";
import { Run } from "../../trace/run";

export type Against = "sentence" | "model" | "run" | "file";
export const tolerances = [0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

// What is chosen here; a link holds all of it but a file.
export const chosen = {
  against: "sentence" as Against, text: "", model: "", run: 0, tolerance: 0,
  tensor: undefined as string | undefined,  // that is looked at; absent: the first that differs
  head: undefined as number | undefined,    // its head by number; absent: where the difference is largest
  onlyDifferent: false,
};
let file: { name: string; content: Blob; tensors: Map<string, StoredTensor> } | undefined;
export function fileName(): string | undefined { return file?.name; }
export async function takeFile(given: File): Promise<void> {
  file = { name: given.name, content: given, tensors: readSafetensors(await given.arrayBuffer()).tensors };
}

// One of the two: a run at the server, or a file.
export interface Side { title: Words; id: string; at: number; run?: Run; file?: Map<string, StoredTensor> }
export interface Comparison { key: string; a: Side; b: Side; told: CompareAnswer }

// What can be compared with the open run.
export function choices(): Against[] { return ["sentence", "model", ...(runs.length > 1 ? ["run" as const] : []), "file"]; }
export function otherModels(): string[] { return known.models.map((one) => one.id).filter((id) => id !== state.model && id !== "worked"); }

const traced = new Map<string, Promise<Side>>();  // the last ones that were asked for
// Both sides read the same: a model that goes on by itself would leave the other's words behind.
function requestOf(model: string, sentence: string): TraceRequest {
  const can = modelInfo(model)?.can;
  const target = state.target || (can?.translates && model !== "worked" ? run().continuation : "");
  return { model, ...asRead(modelInfo(model), sentence), ...(target !== "" && can?.translates ? { target } : can?.continues_prompt ? { continue: 0 } : {}), ...(model === "worked" && state.train && { train: true }), backward: false };
}
function sideOf(model: string, sentence: string, title: string, signal: AbortSignal): Promise<Side> {
  const request = requestOf(model, sentence);
  const key = JSON.stringify(request);
  const before = traced.get(key);
  if (before) return before;
  const made = source.trace(request, signal).then((told) => ({ title, id: told.id ?? "", at: told.runs.length - 1, run: new Run(told.runs[told.runs.length - 1] as (typeof told.runs)[number]) }));
  made.catch(() => traced.delete(key));
  traced.set(key, made);
  if (traced.size > 6) traced.delete(traced.keys().next().value as string);
  return made;
}
function openSide(at: number): Side { return { title: text(runs[at]?.key ?? ""), id: data.id ?? "", at, run: runs[at] }; }

// What the chosen comparison is of; undefined where something is still to be given.
export function wanted(): string | undefined {
  const subject = [data.id, state.run, state.model, state.text, state.target, state.train, chosen.against, chosen.tolerance];
  if (chosen.against === "sentence") return chosen.text.trim() === "" ? undefined : JSON.stringify([...subject, chosen.text]);
  if (chosen.against === "model") return otherModels().includes(chosen.model) ? JSON.stringify([...subject, chosen.model]) : undefined;
  if (chosen.against === "run") return runs.length > 1 ? JSON.stringify([...subject, chosen.run]) : undefined;
  return file && JSON.stringify([...subject, file.name, file.content.size]);
}

export async function compare(signal: AbortSignal): Promise<Comparison> {
  const key = wanted() ?? "";
  const { tolerance } = chosen;
  const [a, b] = await sides(signal);
  if (b.file) return { key, a, b, told: await source.ask("POST", `/api/compare?a=${a.id}&run=${a.at}&tolerance=${tolerance}`, file?.content, signal) };
  return { key, a, b, told: await source.ask("POST", "/api/compare", { a: a.id, b: b.id, a_run: a.at, b_run: b.at, tolerance }, signal) };
}
async function sides(signal: AbortSignal): Promise<[Side, Side]> {
  if (chosen.against === "run") return [openSide(state.run), openSide(state.run === chosen.run ? (state.run + 1) % runs.length : chosen.run)];
  const own = sideOf(state.model, state.text, chosen.against === "sentence" ? state.text : state.model, signal);
  if (chosen.against === "file") return [await own, { title: file?.name ?? "", id: "", at: 0, file: file?.tensors }];
  return Promise.all([own, chosen.against === "sentence" ? sideOf(state.model, chosen.text, chosen.text, signal) : sideOf(chosen.model, state.text, chosen.model, signal)]);
}
// A trace that the server has let go of is asked for again.
export function forget(): void { traced.clear(); }

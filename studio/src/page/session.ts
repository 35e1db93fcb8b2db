// What is open at the server: the model, the sentence, and the trace of it.
import { ApiError, source, type ModelInfo, type ModelsAnswer, type TraceRequest } from "../api/source";
import { asRead, exampleFor } from "../api/sentence";
import type { PageDocument } from "../api/types";
import { state } from "../state/state";
import { addTexts, languageNames } from "../texts/words";
import { openDocument } from "../trace/document";
import { loadSmallRun } from "../trace/loading";

export let known: ModelsAnswer;
export function modelInfo(id = state.model): ModelInfo | undefined { return known.models.find((one) => one.id === id); }

export interface Failure { message: string; param: string | null }
export let failure: Failure | undefined;  // of the last sentence
export let busy = false;

const listeners = new Set<() => void>();
// What shows whether something is being computed, or what went wrong.
export function onSession(call: () => void): void { listeners.add(call); }
function tell(): void { for (const call of listeners) call(); }

export async function openSession(): Promise<void> {
  known = await source.models();
  if (!modelInfo()) state.model = known.models[0]?.id ?? "worked";
}
// Jobs write models while the page is open.
export async function refreshModels(): Promise<void> {
  known = await source.models();
  tell();
}
export async function loadTexts(language: string): Promise<void> {
  const told = await source.texts(language);
  for (const { code, name } of told.languages) languageNames.set(code, name);
  addTexts(told.language, told.texts);
}

let opened = "";  // what was asked for last
// Whether the chosen sentence is the one that is open.
export function isOpen(): boolean { return opened !== "" && opened === wanted(); }
function wanted(): string { return JSON.stringify([state.model, state.text, state.target, state.train]); }

export let layersShown: { shown: number; all: number } | undefined;  // where not all of them fit
// A run that is too large for the server's memory is asked for with half of its layers, and half of these.
async function traceThatFits(request: TraceRequest, signal: AbortSignal): Promise<PageDocument> {
  const all = Math.max(modelInfo()?.layers?.encoder ?? 0, modelInfo()?.layers?.decoder ?? 0);
  layersShown = undefined;
  for (let shown = all; ; shown = Math.ceil(shown / 2)) {
    try {
      return await source.trace(shown === all ? request : { ...request, layers: Array.from({ length: shown }, (_, i) => i) }, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 413 || shown <= 1) throw error;
      layersShown = { shown: Math.ceil(shown / 2), all };
    }
  }
}

let running: AbortController | undefined;
// Traces the chosen sentence by the chosen model. False: it could not be, and `failure` says why, or another one was asked for meanwhile.
export async function openTrace(): Promise<boolean> {
  running?.abort();
  const own = (running = new AbortController());
  busy = true;
  failure = undefined;
  tell();
  try {
    const model = modelInfo();
    const isWorked = state.model === "worked";
    const text = state.text || exampleFor(model, known);
    const document = await traceThatFits({ model: state.model, ...asRead(model, text), ...(state.target !== "" && { target: state.target }), ...(isWorked && state.train && { train: true }) }, own.signal);
    state.text = text;
    openDocument({ ...document, texts: {} });
    await loadSmallRun();
    opened = wanted();
    state.heads = {};
    state.rows = {};
    state.position = undefined;
    state.trail = [];
    return true;
  } catch (error) {
    if (own.signal.aborted) return false;
    failure = error instanceof ApiError ? { message: error.message, param: error.param } : { message: String((error as Error).message), param: null };
    return false;
  } finally {
    if (running === own) busy = false;
    tell();
  }
}
export async function openLesson(name: string): Promise<void> {
  openDocument({ ...(await source.lesson(name)), texts: {} });
  opened = "";
  state.lesson = name;
  state.trail = [];
}

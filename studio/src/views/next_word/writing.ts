// What the model writes: asked for word by word, with the alternatives that were chosen on the way.
import type { PredictAnswer, PredictedToken, PredictedWord, PredictEnd, PredictRequest, PredictStart } from "../../api/predict";
import { ApiError, source, type ServerEvent } from "../../api/source";
import { asQuestion } from "../../api/sentence";
import { modelInfo } from "../../page/session";
import { state } from "../../state/state";
import { data, hasRun, run } from "../../trace/document";
import { chosenPlace, headNumber } from "../../trace/heads";
import { placeOf } from "../../trace/run";

export const mostBest = 10;   // words that are told of each step
export const mostLength = 64;

export type Fork = [at: number, id: number];  // another word than the model's, and where
// What is chosen here; a link holds all of it.
export const chosen = {
  length: 24, temperature: 0, topK: 0, topP: 1, seed: 0,
  off: [] as string[],                    // heads
  forks: [] as Fork[],                    // in the order of their places; of masks: what was put there
  step: undefined as number | undefined,  // that is looked at; absent: the last one
  asked: undefined as number | undefined, // of models that fill masks: the position
};

export type Kind = "prompt" | "source" | "mask";
export function kindOfModel(): Kind {
  const can = modelInfo()?.can;
  return can?.translates ? "source" : can?.fills_masks && !can.continues_prompt ? "mask" : "prompt";
}
export function canPredict(): boolean { return modelInfo()?.can?.predicts !== false && hasRun(); }

// Attentions of which the new token has a row; the one that is looked at.
export function writingPlaces(): string[] {
  if (!hasRun() || kindOfModel() === "mask") return [];
  return run().attentions().map((tensor) => placeOf(tensor.name)).filter((place) => !place.startsWith("encoder."));
}
export function writingPlace(): string | undefined {
  const places = writingPlaces();
  const wanted = hasRun() ? chosenPlace() : "";
  return places.includes(wanted) ? wanted : places[places.length - 1];
}
export function headNames(place: string): string[] {
  const tensor = run().attentionAt(place);
  return Array.from({ length: tensor?.shape[1] ?? 0 }, (_, index) => `${place}.${headNumber(tensor, index)}`);
}
function watched(): { attention?: string[] } {
  const place = writingPlace();
  return place === undefined ? {} : { attention: headNames(place) };
}

// Who is asked what; fields that are as usual are left out.
function question(off = chosen.off): PredictRequest {
  const kind = kindOfModel();
  return {
    ...(state.model === "worked" ? { trace: data.id, run: state.run } : { model: state.model }),
    ...asQuestion(modelInfo(), state.text),
    ...(kind !== "mask" && {
      ...(chosen.temperature > 0 && { temperature: chosen.temperature }), ...(chosen.topK > 0 && { top_k: chosen.topK }),
      ...(chosen.topP < 1 && { top_p: chosen.topP }), ...(chosen.seed > 0 && { seed: chosen.seed }) }),
    ...(off.length > 0 && { heads_off: off }),
  };
}
// The sentence and the model that are written with: others begin anew.
export function subjectKey(): string { return JSON.stringify([data.id, state.run, state.model, state.text]); }

// A token as it stands in the text: the model's, or one that was put in its place.
export interface WrittenToken extends PredictedToken { isForced?: boolean }

export class Writing {
  tokens: WrittenToken[] = [];
  start?: PredictStart;
  stopped = "";  // why it ended
  error = "";
  isRunning = false;
  private control?: AbortController;

  constructor(private readonly changed: () => void) {}

  stop(): void {
    this.control?.abort();
    this.control = undefined;
    this.isRunning = false;
  }
  clear(): void {
    this.stop();
    Object.assign(this, { tokens: [], start: undefined, stopped: "", error: "" });
  }

  // Writes on after the first `kept` tokens, past every chosen alternative.
  async go(kept = 0): Promise<void> {
    this.stop();
    const own = (this.control = new AbortController());
    Object.assign(this, { tokens: this.tokens.slice(0, kept), stopped: "", error: "", isRunning: true });
    this.changed();
    try {
      if (kindOfModel() === "mask") await this.fillMask(own.signal);
      else await this.write(own.signal);
    } catch (error) {
      if (!own.signal.aborted) this.error = String((error as Error).message);
    }
    if (this.control !== own) return;
    this.isRunning = false;
    this.changed();
  }
  private async write(signal: AbortSignal): Promise<void> {
    for (const fork of chosen.forks) {
      if (this.tokens[fork[0]]?.isForced) continue;
      await this.stream(fork[0] + 1 - this.tokens.length, signal);
      if (!this.takeInstead(fork)) { chosen.forks = chosen.forks.filter((one) => one[0] < fork[0]); break; }
    }
    await this.stream(chosen.length - this.tokens.length, signal);
  }
  // False: there is no such alternative at this place.
  private takeInstead([at, id]: Fork): boolean {
    const token = this.tokens[at];
    const other = token && [...token.best, ...(token.with_all_heads ?? [])].find((one) => one.id === id);
    if (!token || !other) return false;
    this.tokens = [...this.tokens.slice(0, at), { ...token, id, token: other.token, text: other.token, probability: probabilityOf(token, id) ?? null, isForced: true, is_stop: token.is_stop && token.id === id }];
    this.stopped = "";
    return true;
  }
  // Goes on from an alternative.
  choose(at: number, id: number): Promise<void> {
    const token = this.tokens[at];
    if (!token || token.id === id) return Promise.resolve();
    this.stop();
    chosen.forks = [...chosen.forks.filter((one) => one[0] < at), [at, id]];
    return this.go(this.takeInstead([at, id]) ? at + 1 : 0);
  }

  private async stream(count: number, signal: AbortSignal): Promise<void> {
    if (count <= 0 || this.stopped === "end") return;
    const ids = this.tokens.map((token) => token.id);
    const asked: PredictRequest = { ...question(), ...watched(), max_new_tokens: count, best: mostBest, stages: true, stream: true, ...(ids.length > 0 && { append_ids: ids }) };
    await source.stream("POST", "/api/predict", asked, (event) => this.take(event, ids.length, signal), signal);
  }
  private take({ event, data: told }: ServerEvent, appended: number, signal: AbortSignal): void {
    if (signal.aborted) return;
    if (event === "error") throw new ApiError(told.error?.message ?? "", 400);
    if (event === "start") this.start = withoutLast(told, appended);
    else if (event === "token") this.tokens.push(told);
    else if (event === "done") this.stopped = (told as PredictEnd).stopped;
    this.changed();
  }

  // One word at a mask, or at any position; what was put in before stands there.
  private async fillMask(signal: AbortSignal): Promise<void> {
    const mask = modelInfo()?.tokenizer?.mask;
    const filled = new Map(chosen.forks);
    if (filled.size > 0 && !this.start) this.start = await this.ask({ ...question([]), at: chosen.forks[0]?.[0] ?? 0 }, signal);
    const shown = this.start?.prompt_tokens ?? (run().tokens.length > 0 ? run().tokens : run().source_tokens);
    const free = shown.findIndex((token, i) => token === mask && !filled.has(i));
    const at = chosen.asked ?? (free >= 0 ? free : chosen.forks[chosen.forks.length - 1]?.[0]);
    const { prompt: _, special: __, ...rest } = question();
    const asked = filled.size > 0 ? { ...rest, ids: this.start?.prompt_ids.map((id, i) => filled.get(i) ?? id) } : question();
    const told = await this.ask({ ...asked, ...(at !== undefined && { at }), best: mostBest, lens: true }, signal);
    const original = this.start?.prompt_ids ?? told.prompt_ids;
    this.start = { ...told, prompt_ids: original };
    this.tokens = told.tokens;
    this.stopped = told.stopped;
  }
  private ask(asked: PredictRequest, signal: AbortSignal): Promise<PredictAnswer> { return source.ask("POST", "/api/predict", asked, signal); }

  // One step again, with all that can be told of it: other settings, another attention, what each layer would have said.
  async detail(at: number, signal: AbortSignal): Promise<PredictedToken | undefined> {
    const ids = this.tokens.slice(0, at).map((token) => token.id);
    return (await this.ask({ ...question(), ...watched(), max_new_tokens: 1, best: mostBest, stages: true, lens: true, ...(ids.length > 0 && { append_ids: ids }) }, signal)).tokens[0];
  }
  // What would be written with all heads.
  async whole(signal: AbortSignal): Promise<string> { return (await this.ask({ ...question([]), max_new_tokens: chosen.length, best: 1 }, signal)).text; }
}

function withoutLast(start: PredictStart, count: number): PredictStart {
  const end = start.prompt_ids.length - count;
  return { ...start, prompt_ids: start.prompt_ids.slice(0, end), prompt_tokens: start.prompt_tokens.slice(0, end) };
}
export function probabilityOf(token: PredictedToken, id: number): number | undefined { return token.best.find((one: PredictedWord) => one.id === id)?.probability ?? undefined; }

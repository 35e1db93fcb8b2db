// Experiments of the lab: each is a job of the server, which keeps what comes of it, so that a link or the next visit finds it again.
import type { JobFacts } from "../../api/head_jobs";
import { ApiError, source } from "../../api/source";
import { state } from "../../state/state";

// What is asked; ablations differ by what stands in for the head.
export const purposes = ["gradient", "zero", "mean", "resample", "gates", "attribute", "patch", "curve", "prune", "bench"] as const;
export type Purpose = (typeof purposes)[number];
export const kinds: Record<Purpose, string> = { gradient: "score", zero: "ablate", mean: "ablate", resample: "ablate", gates: "gates", attribute: "attribute", patch: "patch", curve: "curve", prune: "prune", bench: "bench" };

export interface Problem { message: string; field: string | null }
export interface Experiment {
  job?: JobFacts;     // absent while it is asked for
  isRunning: boolean;
  problem?: Problem;
  control: AbortController;
}

let of = "";                                         // the model that they are about
let all = new Map<Purpose, Experiment>();
let told: (purpose: Purpose, isOver: boolean) => void = () => undefined;
// Called whenever something is known of an experiment: `isOver` when more than its progress has changed.
export function onExperiment(call: typeof told): void { told = call; }

export function experimentOf(purpose: Purpose): Experiment | undefined { return of === state.model ? all.get(purpose) : undefined; }
export function resultOf<T>(purpose: Purpose): T | undefined { return experimentOf(purpose)?.job?.result ?? undefined; }
export function requestOf(purpose: Purpose): Record<string, any> | undefined { return experimentOf(purpose)?.job?.request; }
export function isRunning(purpose: Purpose): boolean { return experimentOf(purpose)?.isRunning ?? false; }

// For the address: "gradient:j1,zero:j2".
export function written(): string { return of === state.model ? [...all].flatMap(([purpose, one]) => (one.job ? [`${purpose}:${one.job.id}`] : [])).join(",") : ""; }
export function read(words: string): [Purpose, string][] {
  return words.split(",").map((one) => one.split(":") as [Purpose, string]).filter(([purpose, id]) => purposes.includes(purpose) && /^\w{1,20}$/.test(id ?? ""));
}

function begin(): void {
  if (of === state.model) return;
  leave();
  of = state.model;
  all = new Map();
}
export function leave(): void { for (const one of all.values()) one.control.abort(); }
function forget(purpose: Purpose): void {
  all.get(purpose)?.control.abort();
  all.delete(purpose);
}
function made(purpose: Purpose): Experiment {
  forget(purpose);
  const one: Experiment = { isRunning: true, control: new AbortController() };
  all.set(purpose, one);
  return one;
}
function problemOf(error: unknown): Problem { return { message: String((error as Error).message), field: error instanceof ApiError ? error.param : null }; }

export async function start(purpose: Purpose, request: Record<string, unknown>): Promise<Experiment> {
  begin();
  const one = made(purpose);
  told(purpose, true);
  try {
    one.job = await source.ask<JobFacts>("POST", "/api/jobs", { kind: kinds[purpose], model: state.model, ...request });
    told(purpose, true);
    await follow(purpose, one);
  } catch (error) {
    fail(purpose, one, error);
  }
  return one;
}
function fail(purpose: Purpose, one: Experiment, error: unknown): void {
  if (one.control.signal.aborted) return;
  Object.assign(one, { isRunning: false, problem: problemOf(error) });
  told(purpose, true);
}

// Listens until it is over; a connection that ends before is taken up again.
async function follow(purpose: Purpose, one: Experiment): Promise<void> {
  const { id } = one.job as JobFacts;
  const control = one.control;
  let last = 0;
  for (let tries = 0; tries < 5 && !isOver(one.job as JobFacts); ++tries) {
    await source.stream("GET", `/api/jobs/${id}/events?after=${last}`, undefined, (event) => {
      if (control.signal.aborted) return;
      last = Number(event.id ?? last);
      if (event.event === "progress") { (one.job as JobFacts).progress = event.data.progress; told(purpose, false); }
      if (event.event === "state") one.job = { ...(one.job as JobFacts), ...event.data };
    }, control.signal);
    if (control.signal.aborted) return;
    one.job = await source.ask<JobFacts>("GET", `/api/jobs/${id}`, undefined, control.signal);
    if (one.job.state === "paused") break;
  }
  settle(one);
  told(purpose, true);
}
function isOver(job: JobFacts): boolean { return ["done", "failed", "cancelled", "paused"].includes(job.state); }
function settle(one: Experiment): void {
  const job = one.job as JobFacts;
  one.isRunning = false;
  if (job.state !== "done") one.problem = { message: job.error ?? job.state, field: fieldOf(job.error ?? "") };
}
// What a failed job says names what it is about in its first words.
function fieldOf(message: string): string | null {
  const names: [RegExp, string][] = [[/^(data|pairs|text|task|examples)\b/, "data_text"], [/^ids\b/, "ids_text"], [/^targets\b/, "targets_text"], [/\(word\)|\bword\b/, "word"], [/\(tokens\)/, "corrupt"], [/\(against\)/, "against"]];
  return names.find(([pattern]) => pattern.test(message))?.[1] ?? null;
}

// Stops what runs, and lets go of what it has written.
export async function cancel(purpose: Purpose): Promise<void> {
  const id = all.get(purpose)?.job?.id;
  forget(purpose);
  told(purpose, true);
  if (id !== undefined) await source.ask("DELETE", `/api/jobs/${id}`).catch(() => undefined);
}
export function drop(...dropped: Purpose[]): void { for (const one of dropped) forget(one); }

async function open(purpose: Purpose, id: string): Promise<void> {
  const one = made(purpose);
  try {
    one.job = await source.ask<JobFacts>("GET", `/api/jobs/${id}`, undefined, one.control.signal);
    if (isOver(one.job)) { settle(one); told(purpose, true); }
    else { told(purpose, true); void follow(purpose, one).catch((error) => fail(purpose, one, error)); }
  } catch (error) {
    fail(purpose, one, error);
  }
}
// Those that a link names, or the newest ones that the server keeps of this model.
export async function restore(named: [Purpose, string][]): Promise<void> {
  if (of === state.model && named.length === 0) return resume();
  of = state.model;
  leave();
  all = new Map();
  const model = of;
  const found = named.length > 0 ? named : await newest();
  if (of === model) await Promise.all(found.map(([purpose, id]) => open(purpose, id)));
}
// What was listened to when the panel was left.
async function resume(): Promise<void> {
  await Promise.all([...all].filter(([, one]) => one.isRunning && one.control.signal.aborted && one.job).map(([purpose, one]) => open(purpose, (one.job as JobFacts).id)));
}
async function newest(): Promise<[Purpose, string][]> {
  const found = new Map<Purpose, string>();
  for (const job of (await kept()).filter((one) => one.model === state.model && ["done", "running", "queued"].includes(one.state))) {
    const about = purposes.filter((purpose) => kinds[purpose] === job.kind);
    if (about.every((purpose) => found.has(purpose))) continue;
    const purpose = job.kind !== "ablate" ? about[0] : ((await source.ask<JobFacts>("GET", `/api/jobs/${job.id}`)).request?.by ?? "zero");
    if (purpose && !found.has(purpose)) found.set(purpose, job.id);
  }
  return [...found];
}
// All experiments that the server keeps, the newest first.
export async function kept(): Promise<JobFacts[]> {
  const listed = await source.ask<{ jobs: JobFacts[] }>("GET", "/api/jobs");
  return listed.jobs.filter((one) => Object.values(kinds).includes(one.kind));
}
export async function showKept(job: JobFacts): Promise<void> {
  begin();
  const whole = await source.ask<JobFacts>("GET", `/api/jobs/${job.id}`);
  const purpose = purposes.find((one) => kinds[one] === job.kind && (job.kind !== "ablate" || one === (whole.request?.by ?? "zero")));
  if (purpose) await open(purpose, job.id);
}
export async function remove(job: JobFacts): Promise<void> {
  const shown = [...all].find(([, one]) => one.job?.id === job.id)?.[0];
  if (shown) return cancel(shown);
  await source.ask("DELETE", `/api/jobs/${job.id}`);
}

// Train: a small model learns before one's eyes. It is a job of the server, which goes on when the panel is left.
import type { JobFacts } from "../../api/jobs";
import { ApiError, source } from "../../api/source";
import { Chart } from "../../draw/chart";
import { button, element, fill, type Child } from "../../draw/element";
import { choosePanel, remember } from "../../page/page";
import { modelInfo, openTrace, refreshModels } from "../../page/session";
import { state } from "../../state/state";
import { text } from "../../texts/words";
import type { View } from "../view";
import { drawCurve } from "./curve";
import { factsOf, progressBar, stateBadge } from "./facts";
import { Film, type FilmChoice } from "./film";
import { chooseAgain, exampleTitle, order, readOrder, trainForm, writtenOrder } from "./form";
import { at, chosen, drawn, fillWhenChanged, whats, type What } from "./parts";
import { isOver, Training } from "./training";
import { commandOf, drawSamples } from "./written";

const [jobsSeconds, playSeconds] = [2, 0.25];

let jobs: JobFacts[] = [];
let problem = "";          // why there are no jobs
let training: Training | undefined;
let wanted: string | undefined;   // the job that is to be shown; "": a new one
let chart: Chart | undefined;
let film: Film | undefined;
let playing: ReturnType<typeof setInterval> | undefined;
let listing: ReturnType<typeof setInterval> | undefined;
let theme: MutationObserver | undefined;
let isDue = false;
let isAsked = false;       // it was asked to pause or to be removed
let known = "";            // what is said of a job whose model is not in the list yet

export const train: View = {
  name: "train",
  needs: "server",
  show(holder) {
    chart = undefined;
    film = undefined;
    fill(holder, element("section", { class: "card", id: "train" }, element("h1", { class: "panel-title" }, text("studio.panel.train")), element("p", { class: "text" }, text("studio.train.text")),
      element("div", { id: "train-jobs" }), element("div", { id: "train-new" })), element("section", { class: "card", id: "training", hidden: true }));
    theme ??= new MutationObserver(() => { film?.draw(training?.frames ?? [], chosen, true); });
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    // What is followed tells of itself; others are asked for.
    listing ??= setInterval(() => { if (!document.hidden && jobs.some((one) => (one.state === "running" || one.state === "queued") && one.id !== training?.id)) void list(); }, 1000 * jobsSeconds);
    if (wanted !== undefined) open(wanted);
    // What runs is shown where a link says nothing else.
    void list().then(() => { if (wanted === undefined && state.panel === train.name) { open(jobs.find((one) => one.state === "running")?.id ?? ""); remember(); } });
  },
  leave() {
    stopPlaying();
    clearInterval(listing);
    listing = undefined;
    theme?.disconnect();
    training?.leave();
    training = undefined;
  },
  moveStep(by) { moveFrame(by); },
  moveHead(by) {
    const names = film?.heads() ?? [];
    const next = names[(names.indexOf(film?.headName() ?? "") + by + names.length) % names.length];
    if (next !== undefined) choose({ head: next });
  },
  moveLayer: () => undefined,
  keys: { g: () => void pauseOrResume(), l: () => { drawn.isLogarithmic = !drawn.isLogarithmic; drawTraining(); remember(); } },
  keyTexts: [[["g"], "studio.train.key_pause"], [["l"], "studio.train.key_scale"]],
  remember(params) {
    const put = (name: string, value: string | number | undefined) => { if (value !== undefined && value !== "") params.set(name, String(value)); };
    put("job", wanted);
    if (wanted) {
      put("at_step", chosen.step);
      put("of_head", chosen.head);
      put("curve", drawn.what === "loss" ? "" : drawn.what);
      put("scale", drawn.isLogarithmic ? "log" : "");
    } else {
      put("example", order.example.name === "words" ? "" : order.example.name);
      put("set", writtenOrder());
    }
  },
  recall(params) {
    const job = params.get("job");
    const step = params.get("at_step") ?? "";
    const what = params.get("curve") as What;
    wanted = job !== null && /^j\d{1,12}$/.test(job) ? job : params.has("example") || params.has("set") ? "" : undefined;
    Object.assign(chosen, { step: /^\d{1,12}$/.test(step) ? Number(step) : undefined, head: params.get("of_head") ?? undefined });
    Object.assign(drawn, { what: whats.includes(what) ? what : "loss", isLogarithmic: params.get("scale") === "log" });
    readOrder(params.get("example"), params.get("set"));
  },
};

// The list of trainings.
async function list(): Promise<void> {
  try {
    jobs = (await source.ask<{ jobs: JobFacts[] }>("GET", "/api/jobs")).jobs.filter((one) => one.kind === "train");
    problem = "";
  } catch (error) {
    problem = (error as Error).message;
  }
  drawJobs();
}
function drawJobs(): void {
  if (!at("train-jobs")) return;
  fillWhenChanged("train-jobs", `${problem} ${wanted} ${jobs.map((one) => `${one.id} ${one.state} ${one.name}`).join()}`, () => [problem !== "" && element("p", { class: "problem", role: "alert" }, problem),
    jobs.length > 0 && element("nav", { class: "jobs", "aria-label": text("studio.train.jobs") }, jobButton("", [element("b", {}, "＋ ", text("studio.train.new"))]),
      jobs.map((job) => jobButton(job.id, [element("b", {}, titleOf(job)), element("small", {}, job.id), stateBadge(job.state), !isOver(job.state) && progressBar(job.progress, titleOf(job))])))]);
  for (const job of jobs) document.querySelector<HTMLElement>(`[data-job="${job.id}"] .progress i`)?.style.setProperty("width", `${(100 * job.progress).toFixed(1)}%`);
}
function jobButton(id: string, content: Child): HTMLElement { return button(content, { class: "job", "data-job": id, "data-does": id, "aria-current": id === (wanted ?? "") ? "true" : undefined, click: () => { Object.assign(chosen, { step: undefined, head: undefined }); open(id); remember(true); } }); }
function titleOf(job: JobFacts) { return exampleTitle(job.name) ?? job.name ?? job.id; }

// A training, or (empty) the form for a new one.
function open(id: string): void {
  wanted = id;
  stopPlaying();
  if (training?.id !== id) {
    training?.leave();
    training = id === "" ? undefined : new Training(id, drawSoon);
    isAsked = false;
    void training?.follow();
  }
  drawJobs();
  const form = at("train-new");
  const card = at("training");
  if (!form || !card) return;
  form.hidden = id !== "";
  card.hidden = id === "";
  chart = undefined;
  film = undefined;
  if (id === "") fill(form, trainForm(begun, remember));
  else fill(card, frame());
  drawTraining();
}
function begun(job: JobFacts): void {
  Object.assign(chosen, { step: undefined, head: undefined });
  open(job.id);
  remember(true);
  void list();
  at("training")?.scrollIntoView({ block: "nearest" });
  at("training-title")?.focus({ preventScroll: true });
}

// What stands still while numbers change.
function frame(): Child {
  chart = new Chart();
  film = new Film(choose);
  const step = element("input", { type: "range", id: "film-step", min: 0, max: 0, step: 1, "aria-label": text("studio.train.checkpoint"), input: () => { stopPlaying(); const one = training?.frames[Number(step.value)]; if (one) choose({ step: one.step }); } });
  return [
    element("div", { class: "train-top" }, element("h2", { id: "training-title", tabindex: "-1" }), element("span", { id: "training-state" }), element("span", { id: "training-buttons", class: "train-buttons" })),
    element("p", { class: "problem", id: "training-problem", role: "alert" }), element("div", { id: "training-progress" }), element("div", { id: "training-facts" }), element("div", { id: "training-next" }),
    element("div", { class: "group" }, element("div", { class: "picks", id: "curve-picks" }), chart.element, element("div", { id: "moments", class: "moments" })),
    element("div", { class: "group", id: "film" }, element("h3", {}, text("studio.train.film")), element("p", { class: "note" }, text("studio.train.film_text")),
      element("div", { class: "picks film-tools" }, button("", { class: "plain", id: "film-play", click: () => (playing ? stopPlaying() : play()) }), element("label", {}, step), element("output", { id: "film-at", for: "film-step", "aria-live": "off" })),
      element("div", { class: "film-and-head" }, film.element, film.detail)),
    element("div", { class: "group" }, element("h3", {}, text("studio.train.samples")), element("ol", { class: "samples", id: "samples", tabindex: "0", "aria-label": text("studio.train.samples") })),
    element("details", { class: "group", id: "training-command" }, element("summary", {}, element("h3", {}, text("studio.train.command"))), element("pre", { tabindex: "0" })),
  ];
}

// Drawing, once for each frame.
function drawSoon(): void {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; if (state.panel === train.name) drawTraining(); });
}
function drawTraining(): void {
  const title = at("training-title");
  if (!training || !title) return;
  const { facts, start } = training;
  fill(at("training-problem") as Element, training.isGone ? text("studio.train.gone") : training.isLost ? text("studio.train.lost") : facts?.state === "failed" ? [text("studio.train.failed"), " ", facts.error ?? ""] : "");
  if (!facts) return;
  if (isOver(facts.state) || facts.state === "paused") isAsked = false;
  const listed = jobs.find((one) => one.id === facts.id);
  if (listed && (listed.state !== facts.state || listed.progress !== facts.progress)) { Object.assign(listed, { state: facts.state, progress: facts.progress }); drawJobs(); }
  fill(title, titleOf(facts), " ", element("code", {}, facts.written ?? facts.id));
  fill(at("training-state") as Element, stateBadge(facts.state));
  fillWhenChanged("training-buttons", `${facts.state} ${isAsked}`, () => buttons(facts));
  fill(at("training-progress") as Element, !isOver(facts.state) && progressBar(start ? training.step / Math.max(1, start.steps) : facts.progress, text("studio.panel.train")));
  fill(at("training-facts") as Element, factsOf(training));
  fillWhenChanged("training-next", `${facts.state} ${facts.written}`, () => facts.state === "done" && lookAtIt(facts));
  if (chart) drawCurve(training, chart, { choose: (choice) => { stopPlaying(); choose(choice); }, redraw: () => { drawTraining(); remember(); } });
  drawFilm();
  drawSamples(training);
  const command = document.querySelector("#training-command pre");
  if (command) command.textContent = commandOf(facts);
  if (facts.written !== null && facts.written !== known && !modelInfo(facts.written)) { known = facts.written; void refreshModels(); }
}
function buttons(facts: JobFacts): Child {
  const does = (name: string, key: string, act: () => unknown) => button(text(`studio.train.${key}`), { class: "plain", "data-does": name, disabled: isAsked, click: act });
  const isAtWork = facts.state === "running" || facts.state === "queued";
  return [isAtWork && does("pause", isAsked ? "pausing" : "pause", pauseOrResume), (facts.state === "paused" || facts.state === "failed") && does("pause", "resume", pauseOrResume),
    isOver(facts.state) && does("again", "again", () => { chooseAgain(facts); open(""); remember(true); }), does("remove", isAtWork || facts.state === "paused" ? "cancel" : "remove", () => remove(facts))];
}
async function pauseOrResume(): Promise<void> {
  const job = training;
  if (!job?.facts || isAsked || isOver(job.facts.state) && job.facts.state !== "failed") return;
  const what = job.facts.state === "paused" || job.facts.state === "failed" ? "resume" : "pause";
  isAsked = what === "pause";
  drawTraining();
  await job.ask(what).catch(complain);
  isAsked = isAsked && job.facts.state === "running";
  drawTraining();
}
async function remove(facts: JobFacts): Promise<void> {
  if (facts.state === "done" && !confirm(String(text("studio.train.really", { name: facts.written ?? facts.id })))) return;
  isAsked = true;
  drawTraining();
  training?.leave();
  try {
    await source.ask("DELETE", `/api/jobs/${facts.id}`);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) return complain(error as Error);
  }
  isAsked = false;
  if (facts.written !== null) {
    await refreshModels();
    if (!modelInfo()) { Object.assign(state, { model: "worked", text: "", target: "", train: false }); void openTrace(); }
  }
  open("");
  remember();
  await list();
}
function complain(error: Error): void { isAsked = false; const said = at("training-problem"); if (said) fill(said, error.message); }

// Panels that show the model that came of it.
function lookAtIt(facts: JobFacts): Child {
  if (facts.written === null) return undefined;
  const show = async (panel: string) => {
    if (!modelInfo(facts.written ?? "")) await refreshModels();
    Object.assign(state, { model: facts.written, text: facts.request?.probe ?? "", target: "", train: false });
    if (await openTrace()) await choosePanel(panel);
    else complain(new Error(String(text("studio.train.not_opened"))));
  };
  return element("p", { class: "look-at-it" }, element("span", {}, text("studio.train.look")), ["heads", "microscope", "next_word", "walk"].map((panel) => button(text(`studio.panel.${panel}`), { class: panel === "heads" ? "go" : "plain", "data-does": panel, click: () => show(panel) })));
}

// The film.
function drawFilm(): void {
  const holder = at("film");
  if (!training || !film || !holder) return;
  const { frames } = training;
  holder.hidden = frames.length === 0;
  if (holder.hidden) return;
  film.draw(frames, chosen);
  const shown = film.frameAt(chosen.step);
  const slider = at("film-step") as HTMLInputElement;
  slider.max = String(frames.length - 1);
  slider.value = String(shown ? frames.indexOf(shown) : 0);
  slider.setAttribute("aria-valuetext", `${text("label.step")} ${shown?.step ?? 0}`);
  // What somebody chose is told; what comes by itself is not.
  film.detail.setAttribute("aria-live", chosen.step === undefined || playing ? "off" : "polite");
  fill(at("film-at") as Element, text("label.step"), ` ${shown?.step ?? 0}`);
  fillWhenChanged("film-play", String(playing !== undefined), () => text(playing ? "studio.train.stop" : "studio.train.play"));
}
function choose(choice: FilmChoice): void {
  // The newest checkpoint of what still learns is followed by the next.
  if (choice.step !== undefined) chosen.step = training?.facts?.state === "running" && choice.step === training.frames.at(-1)?.step ? undefined : choice.step;
  if (choice.head !== undefined) chosen.head = choice.head;
  drawTraining();
  remember();
}
function moveFrame(by: number): void {
  const frames = training?.frames ?? [];
  const shown = film?.frameAt(chosen.step);
  const next = frames[Math.max(0, Math.min(frames.length - 1, (shown ? frames.indexOf(shown) : 0) + by))];
  if (next) choose({ step: next.step });
}
function play(): void {
  const frames = training?.frames ?? [];
  let i = film?.frameAt(chosen.step) === frames.at(-1) ? 0 : frames.indexOf(film?.frameAt(chosen.step) as (typeof frames)[0]);
  playing = setInterval(() => {
    const one = training?.frames[i++];
    if (!one) return stopPlaying();
    choose({ step: one.step });
  }, 1000 * playSeconds);
  drawTraining();
}
function stopPlaying(): void {
  if (!playing) return;
  clearInterval(playing);
  playing = undefined;
  drawTraining();
}

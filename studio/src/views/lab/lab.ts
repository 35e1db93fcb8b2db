// The heads lab: what each head is worth by several methods, which carry a difference, how many can go, and the smaller model made real.
import { button, choice, element, fill, type Child } from "../../draw/element";
import { markHead } from "../../draw/head_grid";
import { redraw, remember } from "../../page/page";
import { known, modelInfo, openTrace, refreshModels } from "../../page/session";
import { markHere, type SideEntry } from "../../page/side";
import { state } from "../../state/state";
import { text } from "../../texts/words";
import { setHead } from "../../trace/heads";
import type { View } from "../view";
import * as examples from "./examples";
import { drop, experimentOf, isRunning, kept, leave, onExperiment, purposes, read, remove, requestOf, restore, showKept, written, type Purpose } from "./experiments";
import { chosen, headDetail, headNames, importanceBody, measure, methods, scatterBody, valuesOf, type Method } from "./importance";
import { field, head, moveProgress, numberInput, sayProblems } from "./parts";
import * as patching from "./patching";
import * as pruning from "./pruning";
import type { JobFacts } from "../../api/head_jobs";

let named: ReturnType<typeof read> = [];  // jobs that a link names
let isListed = false;                     // the list of kept experiments is open
const cards = ["importance", "scatter", "patch", "prune", "kept"] as const;

export const labView: View = {
  name: "lab",
  needs: "server",
  show(holder) {
    if (headNames().length === 0) return fill(holder, intro(element("p", { class: "absent" }, text("studio.lab.choose_model")), otherModels()));
    fill(holder, intro(element("div", { id: "lab-examples" })), cards.map((name) => element("section", { class: "card", id: `lab-${name}`, tabindex: "-1" }, element("h2", {}, text(`studio.lab.card.${name}`)), name !== "kept" && element("p", { class: "text" }, text(`studio.lab.about.${name}`)), element("div", { class: "lab-body" }))));
    markHere();
    void begin();
  },
  leave,
  headChanged() { showHead(); },
  moveHead: (step) => moveTo((names, at) => (at + step + names.length) % names.length),
  moveLayer: (step) => moveTo((names, at) => { const other = names.indexOf((names[at] as string).replace(/\.(\d+)\./, (_, layer) => `.${Number(layer) + step}.`)); return other < 0 ? at : other; }),
  keys: { m: () => void measureAll() },
  keyTexts: [[["m"], "studio.lab.key_measure"]],
  remember(params) {
    const put = (name: string, value: string | number, usual: string | number) => { if (value !== usual) params.set(name, String(value)); };
    put("method", chosen.method, "gradient");
    put("scale", chosen.isLinear ? "linear" : "", "");
    put("shown", patching.chosen.isEstimated ? "estimated" : "", "");
    put("keep", pruning.chosen.keep, 0);
    put("order", pruning.chosen.order, "gradient");
    put("data", examples.chosen.isOwn && examples.chosen.text.length <= 1500 ? examples.chosen.text : "", "");
    put("jobs", written(), "");
  },
  recall(params) {
    chosen.method = methods.find((one) => one === params.get("method")) ?? "gradient";
    chosen.isLinear = params.get("scale") === "linear";
    patching.chosen.isEstimated = params.get("shown") === "estimated";
    pruning.chosen.keep = /^\d{1,5}$/.test(params.get("keep") ?? "") ? Number(params.get("keep")) : 0;
    pruning.chosen.order = params.get("order") === "ablation" ? "ablation" : "gradient";
    named = read(params.get("jobs") ?? "");
    ownText = params.get("data");
  },
};
let ownText: string | null = null;  // that a link has

export function labEntries(): SideEntry[] { return [["lab", "1", text("studio.panel.lab")], ...cards.map((name, i): SideEntry => [`lab-${name}`, String(i + 2), text(`studio.lab.card.${name}`)])]; }

function intro(...content: Child[]): HTMLElement {
  return element("section", { class: "card", id: "lab", tabindex: "-1" }, element("h1", { class: "panel-title" }, text("studio.panel.lab")), element("p", { class: "text" }, text("studio.lab.text")), content);
}
// The tiny model of the first screen is made anew with every run, so that jobs cannot have it.
function otherModels(): Child {
  return element("p", { class: "next-steps" }, known.models.filter((one) => one.attentions && one.can?.predicts).map((one) => button(one.id, { class: "plain", title: one.purpose ? text(one.purpose) : undefined, click: async () => {
    Object.assign(state, { model: one.id, train: false, target: "", text: "" });
    await openTrace();
    redraw();
    remember(true);
  } })));
}

// What the server keeps, then all cards.
async function begin(): Promise<void> {
  const links = named;
  named = [];
  onExperiment(experimentTold);
  await Promise.all([examples.begin(), patching.begin()]);
  if (ownText !== null) Object.assign(examples.chosen, { kind: "text", text: ownText, isOwn: true });
  const isFresh = links.length > 0 || written() === "";
  await restore(links).catch((error) => fill(bodyOf("importance"), String(error.message)));
  if (isFresh) {
    examples.recallFields(requestOf(chosen.method === "attribute" ? "gradient" : chosen.method) ?? requestOf("gradient") ?? requestOf("zero") ?? requestOf("curve"));
    patching.recallRequest();
    const pruned = requestOf("prune");
    if (pruned && pruning.chosen.keep === 0) Object.assign(pruning.chosen, { keep: Math.round((pruned.keep ?? 0) * pruning.allHeads()), order: pruned.by === "ablation" ? "ablation" : "gradient", finetune: pruned.finetune ?? 0 });
    const asked = requestOf("attribute");
    if (asked) Object.assign(chosen, { word: asked.word, against: asked.against ?? "" });
    if (requestOf("gates")) chosen.penalty = requestOf("gates")?.penalty ?? chosen.penalty;
  }
  ownText = null;
  if (state.panel !== labView.name) return;
  drawExamples();
  for (const name of cards) draw(name);
  remember();
}

// Which cards show an experiment.
const shownIn: Record<Purpose, (typeof cards)[number][]> = { gradient: ["importance", "scatter"], zero: ["importance", "scatter"], mean: ["importance", "scatter"], resample: ["importance", "scatter"], gates: ["importance"], attribute: ["importance"], patch: ["patch"], curve: ["prune"], prune: ["prune"], bench: ["prune"] };
function experimentTold(purpose: Purpose, isOver: boolean): void {
  if (state.panel !== labView.name || !document.getElementById("lab-examples")) return;
  if (!isOver) return moveProgress(purpose);
  for (const name of shownIn[purpose]) draw(name);
  drawGo();
  if (isListed) draw("kept");
  remember();
}
function bodyOf(name: string): HTMLElement { return document.querySelector(`#lab-${name} .lab-body`) ?? element("div"); }

function draw(name: (typeof cards)[number]): void {
  const holder = bodyOf(name);
  const held = holder.contains(document.activeElement) ? document.activeElement : null;
  const way = held && (held.getAttribute("data-head") ? `[data-head="${CSS.escape(held.getAttribute("data-head") ?? "")}"]` : held.id ? `#${CSS.escape(held.id)}` : held.getAttribute("name") ? `[name="${held.getAttribute("name")}"]` : ".choice [aria-pressed=true]");
  fill(holder, bodies[name]());
  if (name === "importance") sayRest("importance-said", holder, [chosen.method]);
  if (name === "patch") sayRest("patch-said", holder, ["patch"]);
  if (name === "prune") sayRest("prune-said", holder, ["curve", "prune", "bench"]);
  if (way) holder.querySelector<HTMLElement>(way)?.focus({ preventScroll: true });
}
// What is wrong with the examples stands beside them too.
function sayRest(id: string, holder: ParentNode, asked: Purpose[]): void {
  const rest = sayProblems(holder, asked);
  const said = document.getElementById(id);
  if (said) fill(said, rest);
}
const bodies: Record<(typeof cards)[number], () => Child> = {
  importance: () => importanceBody({ method: chooseMethod, scale: chooseScale, head: chooseHead, again: () => void measure(chosen.method) }),
  scatter: () => scatterBody({ scale: chooseScale, head: chooseHead, both: () => void measureAll() }),
  patch: () => [patching.patchForm({ patch: () => void patching.patch(), direction: (direction) => { patching.chosen.direction = direction; if (requestOf("patch")) void patching.patch(); else draw("patch"); } }),
    element("p", { class: "said problem-said", id: "patch-said", role: "alert" }), patching.patchBody({ head: chooseHead, estimated: (isEstimated) => { patching.chosen.isEstimated = isEstimated; draw("patch"); remember(); } })],
  prune: () => [element("p", { class: "said problem-said", id: "prune-said", role: "alert" }),
    pruning.curveBody({ curve: () => void pruning.curve(), kept: (keep) => { pruning.chosen.keep = keep; }, order: (order) => { pruning.chosen.order = order; draw("prune"); remember(); }, real: () => void pruning.makeReal().then(() => draw("prune")) }),
    element("div", { class: "group lab-real" }, pruning.realBody({ bench: () => void pruning.bench() }))],
  kept: keptList,
};

// What is measured on.
function drawExamples(): void {
  const holder = document.getElementById("lab-examples");
  if (!holder) return;
  const given = examples.chosen;
  const area = element("textarea", { rows: 4, spellcheck: "false", input: () => { given.text = area.value; given.isOwn = true; }, change: () => remember() });
  area.value = given.text;
  const translates = modelInfo()?.can?.translates ?? false;
  fill(holder, element("form", { class: "lab-form", id: "examples-form", submit: (event: Event) => { event.preventDefault(); void measureAll(); } },
    element("span", { class: "lab-field" }, element("span", {}, text("studio.lab.measured_on")), choice(text("studio.lab.measured_on"), (["task", "text"] as const).map((value) => ({ label: text(`studio.lab.examples.${value}`), value })), given.kind, (kind) => { given.kind = kind; drawExamples(); document.querySelector<HTMLElement>("#examples-form [aria-pressed=true]")?.focus(); })),
    given.kind === "text" ? (examples.readsIds() ? idFields(area) : field("examples", "data_text", text(translates ? "studio.lab.pairs" : "studio.lab.own_text"), area, "whole")) : element("small", { class: "said", "data-field": "data_text", role: "alert" }),
    field("examples", "examples", text("studio.lab.examples"), numberInput(given.examples, 1, (value) => { given.examples = Math.round(value); }), "short"), field("examples", "seed", text("term.seed"), numberInput(given.seed, 0, (value) => { given.seed = Math.round(value); }), "short"),
    button(text("studio.lab.measure"), { class: "go", id: "lab-measure" })), element("div", { id: "lab-at-work" }));
  const go = holder.querySelector<HTMLButtonElement>("#lab-measure");
  if (go) go.type = "submit";
  drawGo();
}
function idFields(area: HTMLTextAreaElement): Child {
  const targets = element("textarea", { rows: 4, spellcheck: "false", input: () => { examples.chosen.targets = targets.value; } });
  targets.value = examples.chosen.targets;
  return [field("examples", "ids_text", text("studio.lab.ids"), area, "wide"), field("examples", "targets_text", text("studio.lab.targets"), targets, "wide")];
}
function drawGo(): void {
  const holder = document.getElementById("lab-examples");
  if (!holder) return;
  const go = holder.querySelector<HTMLButtonElement>("#lab-measure");
  if (go) go.disabled = isRunning("gradient") || isRunning("zero");
  sayProblems(holder, purposes.filter((one) => ["data_text", "ids_text", "targets_text", "examples", "seed"].includes(experimentOf(one)?.problem?.field ?? "")));
}

// One click: the gradient at once, ablation after it, and what is looked at.
async function measureAll(): Promise<void> {
  drop(...methods, "curve");
  const wanted: Method[] = ["gradient", "zero", ...(["mean", "resample"].includes(chosen.method) ? [chosen.method] : [])];
  // The server does them one after another, in this order.
  for (const method of wanted) { void measure(method); await new Promise((done) => setTimeout(done)); }
  draw("prune");
}
function chooseMethod(method: Method): void {
  chosen.method = method;
  if (!valuesOf(method) && !isRunning(method)) void measure(method);
  draw("importance");
  draw("scatter");
  remember();
}
function chooseScale(isLinear: boolean): void {
  chosen.isLinear = isLinear;
  draw("importance");
  draw("scatter");
  remember();
}
function chooseHead(name: string): void {
  if (!setHead(name)) return;
  showHead();
  remember();
}
function showHead(): void {
  markHead(document.getElementById("walk") as HTMLElement, head());
  const detail = document.getElementById("lab-head");
  if (detail) fill(detail, headDetail(head()));
  if (document.getElementById("patch-positions")) draw("patch");
  markHere();
}
function moveTo(step: (names: string[], at: number) => number): void {
  const names = headNames();
  chooseHead(names[step(names, Math.max(0, names.indexOf(head())))] as string);
}

// All that the server keeps: to look at again, or to let go of.
function keptList(): Child {
  const list = element("div", {});
  const made = element("details", { class: "sink", open: isListed, toggle: () => { isListed = made.open; if (isListed) void show(); } }, element("summary", {}, text("studio.lab.kept")), list);
  const show = async () => {
    const jobs = await kept().catch((error) => { fill(list, String(error.message)); return [] as JobFacts[]; });
    if (jobs.length === 0) return fill(list, element("p", { class: "note" }, text("studio.lab.kept_none")));
    fill(list, element("ul", { class: "kept-jobs" }, jobs.map((job) => element("li", { "data-job": job.id }, element("code", {}, job.id), " ", text(`studio.lab.kind.${job.kind}`), " · ", job.model, " · ", element("time", { datetime: job.created }, job.created.replace("T", " ").slice(0, 16)), " ", job.state !== "done" && element("small", {}, job.error ?? job.state), " ",
      job.model === state.model && job.state === "done" && button(text("studio.lab.show"), { class: "plain", click: () => void showKept(job) }),
      button(text("studio.lab.delete"), { class: "plain", click: async () => { await remove(job); await refreshModels(); await show(); } })))));
  };
  if (isListed) void show();
  return made;
}

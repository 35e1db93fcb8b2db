// The next word: the model writes, and each step of it can be looked at, changed and gone on from.
import type { PredictedToken } from "../../api/predict";
import { button, element, fill, type Child } from "../../draw/element";
import { remember } from "../../page/page";
import { markHere } from "../../page/side";
import { state } from "../../state/state";
import { number, prose } from "../../texts/numbers";
import { text } from "../../texts/words";
import { run } from "../../trace/document";
import { chosenHead, setHead } from "../../trace/heads";
import { placeOf, visible } from "../../trace/run";
import type { View } from "../view";
import { headSwitches } from "./heads_off";
import { keepButtons } from "./keep";
import { slider } from "./parts";
import { attention, lens, stages, type StepEvents } from "./step";
import { WrittenText } from "./text";
import { canPredict, chosen, headNames, kindOfModel, mostLength, subjectKey, writingPlace, writingPlaces, Writing, type Fork } from "./writing";

const endings = ["end", "limit", "context"];  // what is told of why it ended

const writing = new Writing(() => drawSoon());
let written: WrittenText | undefined;
let of = "";               // what was written after
let isRecalled = false;    // a link says what is chosen
let detail: { key: string; token: PredictedToken } | undefined;
let asking: { key: string; control: AbortController } | undefined;  // the last question about a step
let whole = { key: "", text: "", control: new AbortController() };  // what all heads would have written
let isDue = false;

export const nextWord: View = {
  name: "next_word",
  needs: "server",
  show(holder) {
    if (!canPredict()) return fill(holder, card(element("p", { class: "absent" }, text("studio.next_word.cannot"))));
    begin();
    written = new WrittenText(writing, { step: chooseStep, instead: choose, ask: (position) => { chosen.asked = position; void writing.go(); remember(); } });
    fill(holder, card([settings(), kindOfModel() !== "mask" && element("p", { class: "legend", "aria-hidden": "true" }, text("term.probability"), " 0", element("i"), "1"), written.element,
      element("p", { class: "note", id: "written-said", role: "status" }), element("p", { class: "note", id: "written-whole", hidden: true }), keepButtons(writing, writingPlace, shownHead)]),
    element("section", { class: "card", id: "next-step" }, element("h2", { id: "next-step-title" }), element("div", { id: "next-step-words" }),
      element("div", { class: "group" }, element("h3", {}, text("studio.next_word.heads")), element("p", { class: "note" }, text("studio.next_word.heads_text")), headSwitches(headsChanged)),
      element("div", { id: "next-step-attention" }), element("div", { id: "next-step-lens" })));
    draw();
    markHere();
    if (writing.tokens.length === 0 && !writing.isRunning && !writing.error) void writing.go();
  },
  leave() {
    writing.stop();
    asking?.control.abort();
    asking = undefined;
    if (whole.text === "") { whole.control.abort(); whole.key = ""; }
  },
  headChanged: placeChanged,
  moveStep(step) { if (writing.tokens.length > 0) chooseStep(Math.max(0, Math.min(writing.tokens.length - 1, shownStep() + step))); },
  moveHead(step) {
    const names = headNames(writingPlace() ?? "");
    if (names.length > 0) chooseHead(names[(names.indexOf(shownHead()) + step + names.length) % names.length] as string);
  },
  moveLayer(step) {
    const other = (writingPlace() ?? "").replace(/\.(\d+)\./, (_, layer) => `.${Number(layer) + step}.`);
    if (writingPlaces().includes(other)) choosePlace(other);
  },
  keys: { g: () => (writing.isRunning ? stop() : again()) },
  keyTexts: [[["g"], "studio.next_word.key_write"]],
  remember(params) {
    const put = (name: string, value: string | number, usual: string | number) => { if (value !== usual) params.set(name, String(value)); };
    put("length", chosen.length, 24);
    put("temperature", chosen.temperature, 0);
    put("top_k", chosen.topK, 0);
    put("top_p", chosen.topP, 1);
    put("seed", chosen.seed, 0);
    put("off", chosen.off.join(","), "");
    put("instead", chosen.forks.map((fork) => fork.join(":")).join(","), "");
    put("step", chosen.step ?? "", "");
    put("ask", chosen.asked ?? "", "");
  },
  recall(params) {
    const within = (name: string, usual: number, least: number, most: number) => { const asked = Number(params.get(name) ?? usual); return asked >= least && asked <= most ? asked : usual; };
    const place = (name: string) => (/^\d{1,6}$/.test(params.get(name) ?? "") ? Number(params.get(name)) : undefined);
    const list = (name: string) => (params.get(name) ?? "").split(",").filter(Boolean);
    Object.assign(chosen, { length: Math.round(within("length", 24, 1, mostLength)), temperature: within("temperature", 0, 0, 2), topK: Math.round(within("top_k", 0, 0, 1000)), topP: within("top_p", 1, 0, 1),
      seed: Math.round(within("seed", 0, 0, 2 ** 31)), off: list("off"), step: place("step"), asked: place("ask"),
      forks: list("instead").map((one) => one.split(":").map(Number) as Fork).filter((fork) => fork.length === 2 && fork.every((part) => Number.isInteger(part) && part >= 0)).sort((a, b) => a[0] - b[0]) });
    isRecalled = true;
  },
};

function card(content: Child): HTMLElement {
  return element("section", { class: "card", id: "next-word" }, element("h1", { class: "panel-title" }, text("studio.panel.next_word")), element("p", { class: "text" }, text(`studio.next_word.text.${kindOfModel()}`)), content);
}
// Another sentence or model begins anew; heads that it does not have are forgotten.
function begin(): void {
  if (of === subjectKey()) { if (isRecalled) writing.clear(); isRecalled = false; return; }
  if (of !== "" && !isRecalled) Object.assign(chosen, { forks: [], step: undefined, asked: undefined });
  isRecalled = false;
  of = subjectKey();
  const heads = new Set(run().attentions().flatMap((tensor) => headNames(placeOf(tensor.name))));
  chosen.off = chosen.off.filter((head) => heads.has(head));
  detail = undefined;
  writing.clear();
}

// What is chosen.
function stop(): void { writing.stop(); drawSoon(); }
function again(): void { Object.assign(chosen, { step: undefined }); void writing.go(); remember(); }
function chooseStep(at: number): void {
  chosen.step = at;
  draw();
  remember();
}
function choose(at: number, id: number): void {
  if (kindOfModel() === "mask") {
    chosen.forks = [...chosen.forks.filter((fork) => fork[0] !== at), [at, id]];
    chosen.asked = undefined;
    void writing.go();
  } else {
    chosen.step = undefined;
    void writing.choose(at, id);
    draw();
    written?.focus(at);
  }
  remember(true);
}
function placeChanged(): void {
  if (writingPlace() !== undefined && kindOfModel() !== "mask" && !writing.tokens.every((token) => token.attention?.some((row) => row.head === shownHead()))) void writing.go();
  else draw();
  remember();
}
function choosePlace(place: string): void { const first = headNames(place)[0]; if (first !== undefined && setHead(first)) placeChanged(); }
function chooseHead(name: string): void { if (setHead(name)) placeChanged(); }
function headsChanged(): void { void writing.go(); remember(); }
function shownHead(): string {
  const place = writingPlace();
  const head = chosenHead();
  return place === undefined ? "" : placeOf(head) === place ? head : headNames(place)[0] ?? "";
}
function shownStep(): number { return written?.shownStep() ?? writing.tokens.length - 1; }

function settings(): HTMLElement {
  const write = button("", { class: "go", id: "write", click: () => (writing.isRunning ? stop() : again()) });
  if (kindOfModel() === "mask") return element("div", { class: "picks" });
  const released = () => { void writing.go(); remember(); };
  const moved = <K extends "length" | "temperature" | "topK" | "topP">(name: K) => (value: number) => { chosen[name] = value; if (name !== "length") askDetail(); };
  const plain = (value: number) => number(value, prose);
  const seed = element("input", { type: "number", name: "seed", min: 0, max: 2 ** 31, step: 1, value: chosen.seed, change: () => { chosen.seed = Math.max(0, Math.round(Number(seed.value) || 0)); released(); } });
  return element("div", { class: "picks settings" }, write,
    slider({ name: "length", label: text("studio.next_word.length"), least: 1, most: mostLength, step: 1, value: chosen.length, shown: plain, moved: moved("length"), released }),
    slider({ name: "temperature", label: text("studio.next_word.temperature"), least: 0, most: 2, step: 0.05, value: chosen.temperature, shown: (value) => (value === 0 ? text("studio.next_word.greedy") : plain(value)), moved: moved("temperature"), released }),
    slider({ name: "top_k", label: "top-k", least: 0, most: 50, step: 1, value: chosen.topK, shown: (value) => (value === 0 ? text("studio.next_word.all_words") : plain(value)), moved: moved("topK"), released }),
    slider({ name: "top_p", label: "top-p", least: 0.05, most: 1, step: 0.05, value: chosen.topP, shown: plain, moved: moved("topP"), released }),
    element("label", {}, text("term.seed"), " ", seed));
}

// Drawing, once for each frame.
function drawSoon(): void {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; if (state.panel === nextWord.name) draw(); });
}
function at(id: string): HTMLElement { return document.getElementById(id) as HTMLElement; }
function draw(): void {
  if (!written || !written.element.isConnected) return;
  written.draw();
  written.element.toggleAttribute("aria-busy", writing.isRunning);
  const write = document.getElementById("write");
  if (write) fill(write, text(writing.isRunning ? "studio.next_word.stop" : "studio.next_word.write"));
  fill(at("written-said"), writing.error || (endings.includes(writing.stopped) && text(`studio.next_word.stopped.${writing.stopped}`, { count: writing.tokens.length })));
  drawWhole();
  drawStep();
  if (!writing.isRunning) askDetail();
}
// What the whole model would have written, where heads are off.
function drawWhole(): void {
  const holder = at("written-whole");
  holder.hidden = chosen.off.length === 0 || kindOfModel() === "mask";
  if (holder.hidden || writing.isRunning) return;
  const key = JSON.stringify([of, chosen.length, chosen.temperature, chosen.topK, chosen.topP, chosen.seed]);
  if (whole.key !== key) {
    whole.control.abort();
    whole = { key, text: "", control: new AbortController() };
    writing.whole(whole.control.signal).then((told) => { if (whole.key === key) { whole.text = told; drawSoon(); } }, () => undefined);
  }
  fill(holder, text("studio.next_word.with_all_heads"), ": ", element("q", {}, whole.text));
}

const events: StepEvents = {
  instead: (id) => choose(kindOfModel() === "mask" ? writing.start?.masked_at ?? 0 : shownStep(), id),
  place: choosePlace,
  head: chooseHead,
};
function detailKey(): string { return JSON.stringify([of, shownStep(), writing.tokens.slice(0, shownStep()).map((token) => token.id), chosen.temperature, chosen.topK, chosen.topP, chosen.seed, chosen.off, writingPlace()]); }
function drawStep(): void {
  const own = writing.tokens[shownStep()];
  const holder = at("next-step");
  holder.hidden = !own;
  if (!own) return;
  const token = detail?.key === detailKey() ? detail.token : own;
  const masked = writing.start?.masked_at;
  fill(at("next-step-title"), masked === undefined ? text("studio.next_word.step", { number: shownStep() + 1 }) : text("studio.next_word.position", { number: masked }), " ", element("q", {}, visible(own.token)));
  refill(at("next-step-words"), element("p", { class: "note" }, text(token.stages ? "studio.next_word.stages_text" : "studio.next_word.best_text")), stages(token, own.id, events));
  refill(at("next-step-attention"), writing.start && attention(writing.tokens, shownStep(), token, writing.start, shownHead(), events));
  refill(at("next-step-lens"), lens(token));
}
// What had the focus has it again, and what was open stays open.
function refill(holder: HTMLElement, ...content: Child[]): void {
  const stops = () => [...holder.querySelectorAll<HTMLElement>("button, select, summary, [tabindex]")];
  const focused = stops().indexOf(document.activeElement as HTMLElement);
  const isOpen = holder.querySelector("details")?.open ?? false;
  fill(holder, ...content);
  const details = holder.querySelector("details");
  if (details && isOpen) details.open = true;
  if (focused >= 0) stops()[focused]?.focus({ preventScroll: true });
}
// The step that is looked at, asked again with all that can be told; while a slider moves, the last question counts.
function askDetail(): void {
  const key = detailKey();
  if (!writing.tokens[shownStep()] || detail?.key === key || asking?.key === key || kindOfModel() === "mask") return;
  asking?.control.abort();
  const own = (asking = { key, control: new AbortController() });
  writing.detail(shownStep(), own.control.signal).then((token) => {
    if (own.control.signal.aborted || !token || state.panel !== nextWord.name) return;
    detail = { key, token };
    drawStep();
  }, (error) => { if (!own.control.signal.aborted && !writing.error) fill(at("written-said"), String(error.message)); });
}

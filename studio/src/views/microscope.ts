// The microscope: one head or several, as lines, as an exact heat map, and the dot product of one query with one key.
import { source, type EdgesAnswer } from "../api/source";
import type { Tensor } from "../api/types";
import { button, choice, element, fill, type Child } from "../draw/element";
import { lineDrawing } from "../draw/lines";
import { shadingOf, tiles, usualShading, type Shading } from "../draw/tiles";
import { waitingFor } from "../draw/waiting";
import { remember } from "../page/page";
import { markHere } from "../page/side";
import { state, type Cell } from "../state/state";
import { number, percent, prose, short } from "../texts/numbers";
import { text } from "../texts/words";
import { run } from "../trace/document";
import { chosenHead, chosenPlace, headAt, headIndex, headNumber, measuredHead } from "../trace/heads";
import { placeOf } from "../trace/run";
import { Explanation, type Term } from "../trace/terms";
import { cellOf, cellText } from "../trace/views";
import { headEffect } from "./head_effect";
import { measures, placeTitle, roleBadge } from "./head_parts";
import type { View } from "./view";
import { askWhy } from "./why";

const mostLines = 64;  // tokens of a drawing of lines

// What is chosen here besides the head.
const chosen = { mode: "lines" as "lines" | "map", mass: 0.8, shading: undefined as Shading | undefined, merged: false, others: new Set<number>(), rows: new Set<number>(), key: 0 };

export const microscope: View = {
  name: "microscope",
  needs: "run",
  show(holder) {
    fill(holder, element("section", { class: "card", id: "microscope" }, element("h1", { class: "panel-title" }, text("studio.panel.microscope")), element("p", { class: "text" }, text("studio.microscope.text")), content()));
    markHere();
  },
  moveStep(step) {
    const tensor = attention();
    if (!tensor) return;
    const at = [...chosen.rows].pop() ?? state.rows[chosenPlace()] ?? 0;
    chooseRow(Math.max(0, Math.min((tensor.shape[2] as number) - 1, at + step)), true);
  },
  remember(params) {
    params.set("head", chosenHead());
    if (chosen.mode !== "lines") params.set("mode", chosen.mode);
    if (chosen.rows.size > 0) params.set("rows", [...chosen.rows].join(","));
    if (chosen.others.size > 0) params.set("with", [...chosen.others].join(","));
    if (chosen.merged) params.set("words", "1");
    if (chosen.mass !== 0.8) params.set("mass", String(chosen.mass));
    if (chosen.shading) params.set("shading", chosen.shading);
    if (chosen.key > 0) params.set("key", String(chosen.key));
  },
  recall(params) {
    const list = (name: string) => new Set((params.get(name) ?? "").split(",").filter((one) => /^\d+$/.test(one)).map(Number));
    chosen.mode = params.get("mode") === "map" ? "map" : "lines";
    chosen.rows = list("rows");
    chosen.others = list("with");
    chosen.merged = params.get("words") === "1";
    const mass = Number(params.get("mass") ?? 0.8);
    chosen.mass = mass > 0 && mass <= 1 ? mass : 0.8;
    chosen.shading = shadingOf(params.get("shading"));
    chosen.key = [...list("key")][0] ?? 0;
  },
};

function attention(): Tensor | undefined { return run().attentionAt(chosenPlace()); }
function redraw(): void {
  microscope.show(document.getElementById("walk") as HTMLElement);
  remember();
}
function chooseRow(row: number, alone = false): void {
  if (alone) chosen.rows = new Set([row]);
  else if (!chosen.rows.delete(row)) chosen.rows.add(row);
  state.rows[chosenPlace()] = row;
  redraw();
}

function content(): Child {
  const tensor = attention();
  if (!tensor) return element("p", { class: "absent" }, text("message.absent"));
  const place = chosenPlace();
  const index = headAt(place);
  const count = tensor.shape[1] as number;
  const shown = [index, ...[...chosen.others].filter((one) => one !== index && one < count)];
  return [
    element("div", { class: "picks" },
      element("label", {}, text("studio.microscope.place"), " ", placeSelect(place)),
      headChoice(tensor, place, shown)),
    element("div", { class: "picks" },
      choice(text("studio.microscope.mode"), [{ label: text("page.lines"), value: "lines" as const }, { label: text("term.heat_map"), value: "map" as const }], chosen.mode, (mode) => { chosen.mode = mode; redraw(); }),
      chosen.mode === "lines" && isSmall(tensor) ? massSlider() : choice(text("studio.heads.shading"), (["linear", "logarithmic", "without_first"] as const).map((value) => ({ label: text(`studio.heads.shading.${value}`), value })), shadingNow(tensor), (value) => { chosen.shading = value; redraw(); }),
      hasParts(tensor) && element("label", { class: "check-box" }, checkBox(chosen.merged, (on) => { chosen.merged = on; redraw(); }), " ", text("studio.microscope.merge"))),
    element("div", { class: "scopes" }, shown.map((head) => scope(tensor, place, head))),
    dotProduct(tensor, place, index),
    headEffect(chosenHead(), tensor.name.startsWith("decoder.") || run().tokens.length === 0 ? [...chosen.rows].pop() : undefined),
  ];
}
function checkBox(on: boolean, change: (on: boolean) => void): HTMLInputElement {
  const made = element("input", { type: "checkbox", change: () => change(made.checked) });
  made.checked = on;
  return made;
}
function placeSelect(place: string): HTMLElement {
  const made = element("select", { change: () => { state.place = made.value; chosen.rows.clear(); redraw(); } }, run().attentions().map((tensor) => element("option", { value: placeOf(tensor.name) }, placeOf(tensor.name))));
  made.value = place;
  return made;
}
// One head by a click; more with the sign beside it.
function headChoice(tensor: Tensor, place: string, shown: number[]): HTMLElement {
  return element("span", { class: "choice", role: "group", "aria-label": text("term.head") }, Array.from({ length: tensor.shape[1] as number }, (_, head) =>
    button(String(headNumber(tensor, head)), { "aria-pressed": String(shown.includes(head)), title: `${place}.${headNumber(tensor, head)}`, click: (event: MouseEvent) => {
      if (event.shiftKey || event.ctrlKey || event.metaKey) {
        if (!chosen.others.delete(head)) chosen.others.add(head);
      } else {
        chosen.others.clear();
        state.place = place;
        state.heads[place] = head;
      }
      redraw();
    } })), element("small", {}, text("studio.microscope.several")));
}
function massSlider(): HTMLElement {
  const told = element("output", {}, percent(chosen.mass));
  const made = element("input", { type: "range", min: 0.1, max: 1, step: 0.05, value: chosen.mass, "aria-label": text("studio.microscope.mass"),
    input: () => fill(told, percent(Number(made.value))), change: () => { chosen.mass = Number(made.value); redraw(); } });
  return element("label", { class: "slider" }, text("studio.microscope.mass"), " ", made, " ", told);
}

function isSmall(tensor: Tensor): boolean { return Math.max(tensor.shape[2] as number, tensor.shape[3] as number) <= mostLines; }
function shadingNow(tensor: Tensor): Shading { return chosen.shading ?? usualShading(tensor.shape[3] as number); }
function hasParts(tensor: Tensor): boolean {
  return [2, 3].some((axis) => { const words = run().wordsOf(tensor.axes[axis]); return new Set(words).size < words.length; });
}

function scope(tensor: Tensor, place: string, head: number): HTMLElement {
  const name = headNumber(tensor, head);
  const measured = measuredHead(place, name);
  return element("div", { class: "head scope", "data-head": `${place}.${name}` },
    element("div", { class: "top" }, element("b", {}, text("place.head", { head: name })), measured && roleBadge(measured), measured && measures(measured)),
    element("p", { class: "note" }, placeTitle(place)),
    chosen.mode === "lines" && isSmall(tensor) ? linesOf(tensor, name) : [chosen.mode === "lines" && element("p", { class: "note" }, text("studio.microscope.too_many", { count: mostLines })), mapOf(tensor, name)],
    summed(tensor, head));
}

// Only the edges that make up the top share.
function linesOf(tensor: Tensor, head: number): Child {
  let told: EdgesAnswer;
  return waitingFor(async () => { told = await source.edges({ name: tensor.name, head, mass: chosen.mass, limit: 1024 }); }, () => {
    const [from, to] = [labelled(tensor, 2), labelled(tensor, 3)];
    const edges = chosen.merged ? mergedEdges(tensor, told.edges) : told.edges;
    return [lineDrawing({ from, to, edges, label: `${tensor.name} ${head}`, chosen: chosen.merged ? undefined : chosen.rows, choose: chosen.merged ? undefined : (row) => chooseRow(row) }),
      element("p", { class: "readout" }, text("studio.microscope.edges", { shown: told.edges.length, all: told.total, share: percent(told.reached) }))];
  }, 8);
}
// Subwords merged: what a word gets is the sum over its tokens, what it gives the mean over them.
function mergedEdges(tensor: Tensor, edges: [number, number, number][]): [number, number, number][] {
  const [from, to] = [run().wordsOf(tensor.axes[2]), run().wordsOf(tensor.axes[3])];
  const parts = new Map<number, number>();
  for (const word of from) parts.set(word, (parts.get(word) ?? 0) + 1);
  const sums = new Map<string, [number, number, number]>();
  for (const [i, j, share] of edges) {
    const key = `${from[i]} ${to[j]}`;
    const one = sums.get(key) ?? [from[i] as number, to[j] as number, 0];
    one[2] += share / (parts.get(from[i] as number) ?? 1);
    sums.set(key, one);
  }
  return [...sums.values()];
}
function labelled(tensor: Tensor, axis: number): string[] {
  const labels = run().labels(tensor.axes[axis]);
  if (!chosen.merged) return labels;
  const merged: string[] = [];
  run().wordsOf(tensor.axes[axis]).forEach((word, i) => { merged[word] = (merged[word] ?? "") + (labels[i] ?? "").replace(/␣/g, ""); });
  return merged;
}

function mapOf(tensor: Tensor, head: number): HTMLElement {
  return tiles({ rows: tensor.shape[2] as number, columns: tensor.shape[3] as number, rowLabels: run().labels(tensor.axes[2]), columnLabels: run().labels(tensor.axes[3]),
    label: `${placeOf(tensor.name)}.${head}`, ink: "a", largest: 1, shading: shadingNow(tensor), selection: chosen.rows,
    tile: (rows, columns, most) => source.tile({ name: tensor.name, head, rows, columns, most }),
    pick: (row, column) => { chosen.key = column; chooseRow(row, true); askWhy({ name: tensor.name, index: [0, headIndex(tensor, head), row, column] }, { from: document.activeElement }); } });
}

// Where the chosen tokens look together: the mean of their rows.
function summed(tensor: Tensor, head: number): Child {
  if (chosen.rows.size < 2) return undefined;
  let told: EdgesAnswer;
  const rows = [...chosen.rows];
  return waitingFor(async () => { told = await source.edges({ name: tensor.name, head: headNumber(tensor, head), mass: 1, limit: 4096, rows }); }, () => {
    const keys = run().labels(tensor.axes[3]);
    const sums = keys.map((_, j) => told.edges.filter((edge) => edge[1] === j).reduce((all, edge) => all + edge[2], 0) / rows.length);
    const best = sums.map((share, j): [number, number] => [j, share]).sort((a, b) => b[1] - a[1]).slice(0, 8).filter(([, share]) => share >= 0.005);
    return element("div", { class: "rows one" }, element("div", { class: "row" }, element("h4", {}, text("studio.microscope.together"), " ", rows.map((i) => run().labels(tensor.axes[2])[i]).join(" + ")),
      best.map(([j, share]) => element("div", { class: "bar" }, element("span", { class: "label" }, keys[j]), element("span", { class: "track" }, element("i", { style: { width: `${(100 * share).toFixed(1)}%` } })),
        element("span", { class: "share" }, number(share, (x) => prose(x, 3)))))));
  }, 3);
}

// q · k with its digits: the score of one query with one key, term by term.
function dotProduct(weights: Tensor, place: string, head: number): Child {
  const scores = run().find(`${place}.scores`);
  if (!scores) return undefined;
  const row = Math.min([...chosen.rows].pop() ?? state.rows[place] ?? 0, (weights.shape[2] as number) - 1);
  const key = Math.min(chosen.key, (weights.shape[3] as number) - 1);
  const cell: Cell = { name: scores.name, index: [0, head, row, key] };
  const pick = (axis: number, at: number, set: (i: number) => void) => {
    const made = element("select", { "aria-label": text(axis === 2 ? "term.query" : "term.key"), change: () => { set(Number(made.value)); redraw(); } }, run().labels(weights.axes[axis]).map((label, i) => element("option", { value: i }, label)));
    made.value = String(at);
    return made;
  };
  const strip = (terms: Term[], value: number | undefined) => element("div", { class: "scroll" }, element("table", { class: "strip-table" },
    (["q", "k"] as const).map((ink, at) => element("tr", { class: `ink-${ink}` }, element("th", { scope: "row" }, text(at === 0 ? "term.query" : "term.key")), terms.map((term) => element("td", { class: "digits" }, number(term.factors[at]?.value, short))))),
    element("tr", { class: "ink-a" }, element("th", { scope: "row" }, text("cell.term.product")), terms.map((term) => element("td", { class: "digits" }, number(term.value, short))), element("td", { class: "sum" }, "Σ = ", number(value)))));
  const own = new Explanation(cell);
  let found: { terms: Term[]; value: number | undefined } | undefined = own.missing || own.value === undefined ? undefined : { terms: own.terms, value: own.value };
  const draw = () => (found ? strip(found.terms.slice(0, 128), found.value) : undefined);
  return element("div", { class: "group" }, element("h3", {}, text("studio.microscope.dot")),
    element("div", { class: "picks" }, pick(2, row, (i) => { chosen.rows = new Set([i]); }), "·", pick(3, key, (i) => { chosen.key = i; }), button(text("page.key.why"), { class: "plain", click: (event: MouseEvent) => askWhy(cell, { from: event.currentTarget as Element }) })),
    found ? draw() : source.isServer ? waitingFor(async () => {
      const told = await source.cell(cellText(cell));
      found = { value: told.value ?? -Infinity, terms: told.terms.map((term) => ({ ...term, factors: term.factors.map((factor) => ({ value: factor.value, cell: cellOf(factor.cell) as Cell })) })) };
    }, draw, 3) : undefined);
}

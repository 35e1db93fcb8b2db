// The page of an experiment: what came out, the map of heads with what they look at, pictures, tables.
import type { LookedAt, ReportCell, ReportColumn, ReportDocument, ReportSentence, ReportTable, ReportText, ReportValue } from "../api/types";
import { button, choice, drawing, element, fill, told, type Child, type Words } from "../draw/element";
import { clipped } from "../draw/matrix";
import { remember } from "../page/page";
import type { SideEntry } from "../page/side";
import { state } from "../state/state";
import { decimals, number, percent, prose, signed } from "../texts/numbers";
import { text, wordsOf } from "../texts/words";
import { data } from "../trace/document";
import { floatsOf } from "../trace/run";
import type { View } from "./view";

export const mostRows = 2000;
export let experiment: ReportDocument;
export let byHead: ReportTable | undefined;
export let scores: ReportColumn[] = [];
export let rowsOfHeads = new Map<string, ReportCell[]>();
export let openingScore = 0;
let headColumn = 0;
let places: string[] = [];
let headNumbers: number[] = [];

export const reportView: View = {
  name: "report",
  needs: "run",
  show(holder) {
    fill(holder, resultCard(), headsCard(), pictureCard(), experiment.tables.map(tableCard), element("footer", {}, text("experiment.page.made_by"), " ", element("code", {}, data.version)));
    drawScores();
    drawMap();
    drawHead();
  },
  moveHead,
  moveLayer() { /* the map has arrows */ },
  keyTexts: [[["←", "→", "↑", "↓"], "experiment.page.key_map"], [["Enter"], "experiment.page.key_choose"], [["[", "]"], "page.key.heads"]],
  remember(chosen) {
    chosen.delete("run");
    if (state.score) chosen.set("score", state.score);
    if (state.head) chosen.set("head", state.head);
    if (state.sentence > 0) chosen.set("sentence", String(state.sentence));
  },
  recall(chosen) {
    const [score, head, sentence] = [chosen.get("score"), chosen.get("head"), chosen.get("sentence")];
    if (scores.some((column) => column.name === score)) state.score = score as string;
    if (head !== null && rowsOfHeads.has(head)) state.head = head;
    if (sentence !== null && experiment.sentences[Number(sentence)]) state.sentence = Number(sentence);
  },
};

export function reportEntries(): SideEntry[] {
  return [["result", "·", text("experiment.page.result")], ...(hasMap() ? [["heads", "·", text("experiment.page.heads")] as SideEntry] : []),
    ...(experiment.pictures.length > 0 ? [["pictures", "·", text("experiment.page.pictures")] as SideEntry] : []),
    ...experiment.tables.map((table, i): SideEntry => [`table-${i}`, "·", said(table.title) as Words])];
}
export function reportTitle(): string { return String(said(experiment.title)); }

// Reads the report that is open; the page begins with the head that stands out by the score that it begins with.
export function openReport(): void {
  experiment = data.report as ReportDocument;
  for (const table of experiment.tables) {
    table.columns.forEach((column, at) => { column.at = at; column.format = formatOf(numbersAt(table, at), 4); column.brief = formatOf(numbersAt(table, at), 3); });
  }
  byHead = experiment.tables.find((table) => table.by_head);
  scores = byHead ? byHead.columns.filter((column) => column.is_number && column.is_mapped) : [];
  headColumn = byHead?.columns.find((column) => column.name === "head")?.at ?? 0;
  rowsOfHeads = new Map(byHead ? byHead.rows.map((row) => [row[headColumn] as string, row]) : []);
  places = [...new Set([...rowsOfHeads.keys()].map((head) => placeAndNumber(head)[0]))].sort((a, b) => compareLists(layerOrder(a), layerOrder(b)));
  headNumbers = [...new Set([...rowsOfHeads.keys()].map((head) => placeAndNumber(head)[1]))].sort((a, b) => a - b);
  state.score = (scores.find((column) => column.name === experiment.first_mapped) ?? scores[0])?.name;
  openingScore = scores.find((column) => column.name === state.score)?.at ?? 0;
  const size = (row: ReportCell[]) => Math.abs(row[openingScore] as number);
  state.head = [...rowsOfHeads].reduce<[string, ReportCell[]] | undefined>((best, one) => (best && size(best[1]) >= size(one[1]) ? best : one), undefined)?.[0];
  document.addEventListener("keydown", pressed);
  document.addEventListener("click", (event) => {
    const head = (event.target as Element).closest<HTMLElement>("td[data-head]")?.dataset.head;
    if (head) chooseHead(head);
  });
}
function hasMap(): boolean { return byHead !== undefined && scores.length > 0; }

// A text with its numbers, in the chosen language.
function said(one: ReportText | undefined): Words | undefined {
  if (!one) return undefined;
  return one.key === undefined ? one.words : told(() => wordsOf(one.key as string, Object.fromEntries(Object.entries(one.values).map(([name, value]) => [name, filledIn(value)]))));
}
function filledIn(value: ReportValue): string {
  if (typeof value === "string") return value;
  if (value.key !== undefined) return wordsOf(value.key);
  const { share, number: plain } = value as { share?: number | null; number?: number | null };
  const amount = share === undefined ? plain : share === null ? null : 100 * share;
  const digits = amount === null || amount === undefined ? "–" : prose(amount, (value as { digits?: number }).digits ?? 3);
  return share === undefined ? digits : wordsOf("language.percent", { number: digits });
}

// As many decimals for all numbers of a column as the largest needs for so many digits.
function formatOf(numbers: number[], digits: number): (x: number) => string {
  const largest = Math.max(0, ...numbers.map(Math.abs));
  if (numbers.every(Number.isInteger) && largest < 1e7) return (x) => signed(String(Math.abs(x)), x);
  if (largest < 1e-4 || largest >= 1e7) return (x) => signed(Math.abs(x).toExponential(digits - 1), x);
  const decimalPlaces = Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(largest))));
  return (x) => decimals(Number(x.toFixed(decimalPlaces)), decimalPlaces);
}
export function numbersAt(table: ReportTable, at: number): number[] { return table.rows.map((row) => row[at]).filter((cell): cell is number => typeof cell === "number"); }

export function reportCell(cell: ReportCell, column: ReportColumn, format = column.format): Words {
  if (cell === null) return "–";
  if (typeof cell === "number") return number(cell, format);
  return typeof cell === "string" ? cell : text(cell.key);
}

function placeAndNumber(head: string): [string, number] {
  const dot = head.lastIndexOf(".");
  return [head.slice(0, dot), Number(head.slice(dot + 1))];
}
function layerOrder(place: string): number[] {
  const [side, layer, kind] = place.split(".");
  return [side === "encoder" ? 0 : 1, Number(layer) || 0, kind === "cross" ? 1 : 0];
}
function compareLists(a: number[], b: number[]): number { return a.map((one, i) => one - (b[i] as number)).find((one) => one !== 0) ?? 0; }

function headsCard(): Child {
  if (!hasMap()) return undefined;
  const made = element("section", { class: "card", id: "heads", tabindex: "-1" }, element("h2", {}, text("experiment.page.heads")), element("p", { class: "text" }, text("experiment.page.heads_text")));
  const map = element("div", { class: "ink-a", id: "map" });
  const detail = element("div", { id: "head", "aria-live": "polite" });
  made.append(element("div", { class: "picks", id: "scores" }), map, detail);
  return made;
}

function drawScores(): void {
  const holder = document.getElementById("scores");
  if (holder) fill(holder, element("span", {}, text("experiment.page.score")), choice(text("experiment.page.score"), scores.map((column) => ({ label: said(column.heading) as Words, title: said(column.meaning), value: column.name })), state.score, chooseScore));
}

function drawMap(): void {
  const holder = document.getElementById("map");
  if (!holder || !byHead) return;
  const column = scores.find((one) => one.name === state.score) as ReportColumn;
  const largest = Math.max(...numbersAt(byHead, column.at).map(Math.abs), Number.MIN_VALUE);
  const focused = state.head ?? [...rowsOfHeads.keys()][0];
  const cell = (place: string, head: number) => {
    const name = `${place}.${head}`;
    const row = rowsOfHeads.get(name);
    if (!row) return element("td", { class: "none", "aria-hidden": "true" });
    const value = row[column.at] as number | null;
    return element("td", { "data-head": name, role: "gridcell", tabindex: name === focused ? "0" : "-1", "aria-selected": String(name === state.head), "aria-label": told(() => `${name}: ${reportCell(value, column)}`),
      class: `${(value ?? 0) < 0 ? "minus" : ""} ${name === state.head ? "chosen" : ""}`, style: { "--s": String(value === null ? 0 : Math.abs(value) / largest) } }, reportCell(value, column, column.brief));
  };
  const meaning = said(column.meaning);
  fill(holder, meaning && element("p", { class: "note" }, meaning), element("div", { class: "scroll" }, element("table", { class: "matrix heads-map", role: "grid", "aria-label": said(column.heading) },
    element("thead", {}, element("tr", {}, element("th", {}), headNumbers.map((head) => element("th", { scope: "col" }, String(head))))),
    element("tbody", {}, places.map((place) => element("tr", {}, element("th", { scope: "row", title: place }, place), headNumbers.map((head) => cell(place, head))))))));
}

function chooseScore(name: string | undefined): void {
  state.score = name;
  drawScores();
  drawMap();
  remember();
  document.querySelector<HTMLElement>("#scores [aria-pressed='true']")?.focus({ preventScroll: true });
}
function chooseHead(name: string): void {
  state.head = name;
  drawMap();
  drawHead();
  remember();
}

function drawHead(): void {
  const holder = document.getElementById("head");
  if (!holder) return;
  const row = rowsOfHeads.get(state.head ?? "");
  if (!row || !byHead) return;
  fill(holder, element("h3", {}, state.head),
    element("dl", { class: "scores" }, byHead.columns.filter((column) => column.at !== headColumn).map((column) => [element("dt", { title: said(column.meaning) }, said(column.heading)), element("dd", {}, reportCell(row[column.at] as ReportCell, column))])),
    experiment.sentences.length > 0 && sentencesOf(state.head ?? ""));
}

function sentencesOf(head: string): Child {
  const options = experiment.sentences.map((sentence, i) => ({ label: String(i + 1), title: sentence.tokens.join(" "), value: i }));
  const sentence = experiment.sentences[state.sentence] as ReportSentence;
  const seen = sentence.heads.find((one) => one.head === head);
  return [options.length > 1 && element("div", { class: "picks" }, element("span", {}, text("experiment.page.sentence")), choice(text("experiment.page.sentence"), options, state.sentence, chooseSentence)),
    seen ? attentionMap(sentence, seen) : element("p", { class: "note" }, text("experiment.page.unseen"))];
}
function chooseSentence(i: number): void {
  state.sentence = i;
  drawHead();
  remember();
  document.querySelector<HTMLElement>("#head .picks [aria-pressed='true']")?.focus({ preventScroll: true });
}

// Each row a token that looks; the row under the pointer or with the focus says its numbers.
function attentionMap(sentence: ReportSentence, seen: LookedAt): HTMLElement {
  const from = seen.rows_are_source ? sentence.source_tokens : sentence.tokens;
  const to = seen.columns_are_source ? sentence.source_tokens : sentence.tokens;
  const values = (seen.values ??= [...floatsOf(seen.weights)]);
  const weight = (i: number, j: number) => values[i * to.length + j] as number;
  const [step, size] = [20, 12] as const;
  const room = (labels: string[]) => Math.max(...labels.map((label) => clipped(label, 14).length)) * size * 0.62 + 10;
  const [left, top] = [room(from), room(to)];
  const [width, height] = [left + step * to.length + 4, top + step * from.length + 4];
  const readout = element("p", { class: "readout", role: "status" });
  const tell = (i: number) => fill(readout, told(() => `${from[i]} → ${to.map((token, j): [string, number] => [token, weight(i, j)]).filter(([, share]) => share >= 0.005).sort((a, b) => b[1] - a[1]).slice(0, 8)
    .map(([token, share]) => `${token} ${percent(share)}`).join(", ")}`));
  const made = drawing("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": text("experiment.page.looks", { head: seen.head }) });
  to.forEach((token, j) => made.append(drawing("text", { x: left + step * (j + 0.5) + 4, y: top - 6, transform: `rotate(-90 ${left + step * (j + 0.5) + 4} ${top - 6})` }, clipped(token, 14))));
  from.forEach((token, i) => {
    const y = top + step * i;
    const line = drawing("g", { tabindex: "0", class: "looks", pointerenter: () => tell(i), focus: () => tell(i) },
      drawing("text", { x: left - 6, y: y + step / 2 + 4, "text-anchor": "end" }, clipped(token, 14)),
      to.map((_, j) => drawing("rect", { x: left + step * j, y, width: step - 1, height: step - 1, "fill-opacity": (0.03 + 0.97 * Math.min(1, weight(i, j))).toFixed(3) })));
    made.append(line);
  });
  return element("div", { class: "attention" }, element("p", { class: "note" }, text("heads.text")), element("div", { class: "scroll" }, made), readout);
}

// Drawn by the engine, once for each language.
function pictureCard(): Child {
  if (experiment.pictures.length === 0) return undefined;
  return element("section", { class: "card", id: "pictures", tabindex: "-1" }, element("h2", {}, text("experiment.page.pictures")), experiment.pictures.map((picture) => {
    const made = element("div", { class: "scroll picture" });
    made.retell = () => made.replaceChildren(document.importNode(new DOMParser().parseFromString(picture[state.lang] ?? "", "image/svg+xml").documentElement, true));
    made.retell();
    return made;
  }));
}

function tableCard(table: ReportTable, i: number): HTMLElement {
  const made = element("section", { class: "card", id: `table-${i}`, tabindex: "-1" });
  let sorted: { at: number | undefined; down: boolean } = { at: undefined, down: true };
  const draw = () => {
    const rows = [...table.rows];
    const weight = (cell: ReportCell | undefined) => (cell === null || cell === undefined ? undefined : typeof cell === "object" ? cell.name : cell);
    const order = (a: string | number | undefined, b: string | number | undefined) => (a === undefined ? 1 : b === undefined ? -1 : (typeof a === "number" ? a - Number(b) : String(a).localeCompare(String(b), undefined, { numeric: true })) * (sorted.down ? -1 : 1));
    const { at } = sorted;
    if (at !== undefined) rows.sort((a, b) => order(weight(a[at]), weight(b[at])));
    fill(made, element("h2", {}, said(table.title)), element("div", { class: "scroll" }, element("table", { class: "listed" },
      element("thead", {}, element("tr", {}, table.columns.map((column) => element("th", { scope: "col", class: column.is_number ? "number" : "", "aria-sort": sorted.at === column.at ? (sorted.down ? "descending" : "ascending") : "none" },
        button([said(column.heading), sorted.at === column.at ? (sorted.down ? " ↓" : " ↑") : ""], { title: said(column.meaning), "data-column": column.name, click: () => {
          sorted = { at: column.at, down: sorted.at === column.at ? !sorted.down : true };
          draw();
          made.querySelector<HTMLElement>(`[data-column="${CSS.escape(column.name)}"]`)?.focus({ preventScroll: true });
        } }))))),
      element("tbody", {}, rows.slice(0, mostRows).map((row) => element("tr", {}, row.map((cell, column) => element("td", { class: typeof cell === "number" || cell === null ? "number" : "" }, reportCell(cell, table.columns[column] as ReportColumn)))))))),
    rows.length > mostRows && element("p", { class: "note" }, text("experiment.more_rows", { shown: String(mostRows), all: String(rows.length) })));
  };
  draw();
  return made;
}

function resultCard(): HTMLElement {
  return element("section", { class: "card hero", id: "result", tabindex: "-1" }, element("h1", {}, said(experiment.title)), element("p", { class: "text" }, said(experiment.summary)),
    experiment.notes.map((note) => element("p", { class: "note" }, said(note))),
    experiment.next.length > 0 && [element("p", { class: "note" }, text("command.next")), element("dl", { class: "next" }, experiment.next.map((one) => [element("dt", {}, element("code", {}, one.command)), element("dd", {}, said(one.what))]))]);
}

// Arrows lead from head to head in the map; brackets choose the next one.
function moveInMap(event: KeyboardEvent): boolean {
  const at = (event.target as Element).closest<HTMLElement>("td[data-head]");
  const steps: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const step = steps[event.key];
  if (!at || !step) return false;
  const [place, head] = placeAndNumber(at.dataset.head as string);
  let [row, column] = [places.indexOf(place), headNumbers.indexOf(head)];
  for (;;) {
    row += step[0];
    column += step[1];
    if (row < 0 || column < 0 || row >= places.length || column >= headNumbers.length) return true;
    const next = document.querySelector<HTMLElement>(`#map td[data-head="${CSS.escape(`${places[row]}.${headNumbers[column]}`)}"]`);
    if (!next) continue;
    at.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    return true;
  }
}
function moveHead(step: 1 | -1): void {
  const names = places.flatMap((place) => headNumbers.map((head) => `${place}.${head}`)).filter((name) => rowsOfHeads.has(name));
  if (names.length === 0) return;
  const at = names.indexOf(state.head ?? "");
  chooseHead(names[at < 0 ? 0 : (at + step + names.length) % names.length] as string);
}

function pressed(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || (document.getElementById("help") as HTMLDialogElement).open) return;
  const head = (event.target as Element).closest?.<HTMLElement>("td[data-head]")?.dataset.head;
  if (head && (event.key === "Enter" || event.key === " ")) {
    chooseHead(head);
    document.querySelector<HTMLElement>("#map td.chosen")?.focus({ preventScroll: true });
  } else if (!moveInMap(event)) return;
  event.preventDefault();
}

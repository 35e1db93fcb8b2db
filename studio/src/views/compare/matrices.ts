// A tensor of both sides, and their difference: the same part of each, with one scale.
import { pooled } from "../../api/document";
import { source } from "../../api/source";
import type { Tensor } from "../../api/types";
import { button, element, told, type Child, type Words } from "../../draw/element";
import { csvOf, keep, pngOf, svgOf, type KeptMatrix } from "../../draw/files";
import { tiles } from "../../draw/tiles";
import { long, number, short } from "../../texts/numbers";
import { text } from "../../texts/words";
import { headIndex, headNumber } from "../../trace/heads";
import { endOf, mostCells, placeOf } from "../../trace/run";
import { inkOf } from "../../trace/views";
import type { Comparison, Side } from "./sides";

const mostNumbers = 2 ** 18;  // of a matrix that is shown whole
const windowSide = 256;       // of the part around the largest difference, where it is larger

export interface Part { rows: [number, number]; columns: [number, number] }
export interface Numbers { rows: number; columns: number; values: Float32Array | Float64Array }
export interface Shown { name: string; tensor: Tensor; head?: number; part: Part; isWhole: boolean; at?: [number, number]; a: Numbers; b?: Numbers; rowLabels: string[]; columnLabels: string[]; otherLabels: [string[], string[]] }

// Where a difference is largest: "encoder.0.self.head.2.scores[3,5]".
export function placeIn(at: string | undefined): { head?: number; index: number[] } {
  const [, whole = "", places = ""] = /^(.*)\[([\d,]*)\]$/.exec(at ?? "") ?? [];
  const head = /\.head\.(\d+)\./.exec(whole)?.[1];
  return { head: head === undefined ? undefined : Number(head), index: places.split(",").filter(Boolean).map(Number) };
}
export function hasHeads(tensor: Tensor): boolean { return tensor.axes.indexOf("head") > 0; }
export function headsOf(tensor: Tensor): number[] { return hasHeads(tensor) ? Array.from({ length: tensor.shape[tensor.axes.indexOf("head")] as number }, (_, i) => headNumber(tensor, i)) : []; }

// The axes of the matrix: without the batch and the head.
function free(tensor: Tensor): number[] { return tensor.axes.map((_, i) => i).filter((i) => tensor.axes[i] !== "batch" && !(tensor.axes[i] === "head" && i > 0)); }
function sizes(tensor: Tensor): [number, number] {
  const [first, second] = free(tensor).slice(-2).map((axis) => tensor.shape[axis] as number);
  return second === undefined ? [1, first ?? 1] : [first as number, second];
}
function partAround(size: number, at: number): [number, number] {
  const begin = Math.max(0, Math.min(size - windowSide, at - windowSide / 2));
  return [begin, Math.min(size, begin + windowSide)];
}

export async function shownOf({ a, b }: Comparison, name: string, head: number | undefined, at: string | undefined): Promise<Shown> {
  const tensor = a.run?.find(name) as Tensor;
  const other = b.run?.find(name);
  const farthest = placeIn(at);
  const number = hasHeads(tensor) ? head ?? farthest.head ?? headNumber(tensor, 0) : undefined;
  const [rows, columns] = sizes(tensor);
  const [row = 0, column = 0] = farthest.index.length > 1 ? farthest.index.slice(-2) : [0, farthest.index[0]];
  const isWhole = rows * columns <= mostNumbers;
  const part: Part = isWhole ? { rows: [0, rows], columns: [0, columns] } : { rows: partAround(rows, row), columns: partAround(columns, column) };
  const [own, others] = await Promise.all([numbersOf(a, tensor, number, part, isWhole), b.file || other ? numbersOf(b, other ?? tensor, number, part, isWhole) : undefined]);
  const labels = (side: Side, of: Tensor, back: number) => { const axis = free(of)[free(of).length - back]; return axis === undefined ? [] : side.run?.labels(of.axes[axis], of) ?? []; };
  const isHere = at !== undefined && (number === undefined || number === farthest.head);
  return { name, tensor, head: number, part, isWhole, at: isHere ? [row - part.rows[0], column - part.columns[0]] : undefined, a: own, b: others,
    rowLabels: free(tensor).length > 1 ? labels(a, tensor, 2).slice(...part.rows) : [], columnLabels: labels(a, tensor, 1).slice(...part.columns),
    otherLabels: other && b.run ? [free(other).length > 1 ? labels(b, other, 2).slice(...part.rows) : [], labels(b, other, 1).slice(...part.columns)] : [[], []] };
}

async function numbersOf(side: Side, tensor: Tensor, head: number | undefined, part: Part, isWhole: boolean): Promise<Numbers> {
  if (side.file) return partOfFile(side.file, tensor, head, part);
  const full = head === undefined ? tensor.name : `${placeOf(tensor.name)}.head.${head}.${endOf(tensor.name)}`;
  const isMatrix = free(tensor).length > 1;
  const found = await source.numbers(side.id, side.at, full, isWhole || !isMatrix ? undefined : part.rows, isWhole ? undefined : part.columns);
  const columns = found.shape[found.shape.length - 1] ?? 1;
  return { rows: isMatrix ? found.values.length / columns : 1, columns: isMatrix ? columns : found.values.length, values: found.values };
}
// A dump has the whole tensor, with or without the batch.
function partOfFile(file: Map<string, { shape: number[]; values: Float32Array | Float64Array }>, tensor: Tensor, head: number | undefined, part: Part): Numbers {
  const [rows, columns] = sizes(tensor);
  const found = file.get(tensor.name);
  if (!found) throw new Error(`${tensor.name} is not in the file`);
  if (found.values.length !== tensor.shape.reduce((product, size) => product * size, 1)) {  // of another shape: its first matrix, as it is
    const [height = 1, width = 1] = found.shape.length > 1 ? found.shape.slice(-2) : [1, ...found.shape];
    return { rows: height, columns: width, values: found.values.subarray(0, height * width) };
  }
  const begin = head === undefined ? 0 : headIndex(tensor, head) * rows * columns;
  const [height, width] = [part.rows[1] - part.rows[0], part.columns[1] - part.columns[0]];
  return { rows: height, columns: width, values: Float64Array.from({ length: height * width }, (_, i) => found.values[begin + (part.rows[0] + Math.floor(i / width)) * columns + part.columns[0] + (i % width)] ?? NaN) };
}

export function differenceOf(a: Numbers, b: Numbers): Numbers | undefined {
  if (a.rows !== b.rows || a.columns !== b.columns) return undefined;
  // What is hidden on both sides is no difference.
  return { rows: a.rows, columns: a.columns, values: Float64Array.from(a.values, (value, i) => (value === b.values[i] ? 0 : value - (b.values[i] as number))) };
}
function largestOf(...all: (Numbers | undefined)[]): number {
  let largest = 0;
  for (const one of all) for (const value of one?.values ?? []) if (Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
  return largest || 1;
}

export function matrices(shown: Shown, titles: [Words, Words]): Child {
  const { a, b } = shown;
  const ink = inkOf(shown.tensor);
  const largest = shown.tensor.attention ? 1 : largestOf(a, b);
  const own: [string[], string[]] = [shown.rowLabels, shown.columnLabels];
  const difference = b && differenceOf(a, b);
  return [
    !shown.isWhole && element("p", { class: "note" }, text("studio.compare.part", { rows: shown.part.rows.join("–"), columns: shown.part.columns.join("–") })),
    element("div", { class: "both" },
      figure("a", ["A: ", titles[0]], a, own, ink, largest, shown.at),
      b && figure("b", ["B: ", titles[1]], b, shown.otherLabels[1].length > 0 ? shown.otherLabels : own, ink, largest, shown.at),
      difference ? figure("difference", ["A − B"], difference, own, "p", largestOf(difference), shown.at) : b && element("p", { class: "note" }, text("studio.compare.no_difference"))),
    keepButtons(shown, difference),
  ];
}
function figure(side: string, title: Words[], numbers: Numbers, [rowLabels, columnLabels]: [string[], string[]], ink: string, largest: number, at: [number, number] | undefined): HTMLElement {
  const label = told(() => title.join(""));
  const isSmall = numbers.rows <= mostCells && numbers.columns <= mostCells;
  return element("figure", { class: `figure ink-${ink}`, "data-side": side }, element("figcaption", {}, element("span", { class: "name" }, title), element("code", {}, ` ${numbers.rows} × ${numbers.columns}`)),
    isSmall ? element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, table(numbers, rowLabels, columnLabels, largest, at))
      : tiles({ rows: numbers.rows, columns: numbers.columns, rowLabels, columnLabels, label, ink, largest, tile: async (rows, columns, most) => pooled((r, c) => numbers.values[r * numbers.columns + c] as number, rows, columns, most) }));
}
function table(numbers: Numbers, rowLabels: string[], columnLabels: string[], largest: number, at: [number, number] | undefined): HTMLElement {
  const cell = (r: number, c: number) => {
    const value = numbers.values[r * numbers.columns + c] as number;
    const kind = !Number.isFinite(value) ? "none" : value < 0 ? "minus" : "";
    return element("td", { class: `${kind}${at?.[0] === r && at[1] === c ? " farthest" : ""}`, title: number(value, long), style: { "--s": (Number.isFinite(value) ? Math.min(1, Math.abs(value) / largest) : 0).toFixed(3) } }, number(value, short));
  };
  return element("table", { class: "matrix" }, columnLabels.length > 0 && element("thead", {}, element("tr", {}, element("td"), Array.from({ length: numbers.columns }, (_, c) => element("th", { scope: "col" }, columnLabels[c] ?? String(c))))),
    element("tbody", {}, Array.from({ length: numbers.rows }, (_, r) => element("tr", {}, element("th", { scope: "row" }, rowLabels[r] ?? (numbers.rows > 1 ? String(r) : "")), Array.from({ length: numbers.columns }, (_, c) => cell(r, c))))));
}

function keepButtons(shown: Shown, difference: Numbers | undefined): Child {
  const head = shown.head === undefined ? "" : `.head.${shown.head}`;
  const kept = (side: string, numbers: Numbers): KeptMatrix => ({ name: `${shown.name}${head}.${side}`, rowLabels: shown.rowLabels, columnLabels: shown.columnLabels, rows: numbers.rows, columns: numbers.columns, values: numbers.values, ink: side === "difference" ? "p" : inkOf(shown.tensor), largest: largestOf(numbers) });
  const save = async (form: "csv" | "svg" | "png", matrix: KeptMatrix) => {
    const content = form === "csv" ? new Blob([csvOf(matrix)], { type: "text/csv" }) : form === "svg" ? new Blob([svgOf(matrix)], { type: "image/svg+xml" }) : await pngOf(matrix);
    if (content) keep(`${matrix.name}.${form}`, content);
  };
  const row = (side: string, label: string, numbers: Numbers | undefined) => numbers && [` ${label} `, (["csv", "svg", "png"] as const).map((form) => button(form.toUpperCase(), { "data-keep": `${side}.${form}`, click: () => void save(form, kept(side, numbers)) }))];
  return element("p", { class: "keep" }, element("span", {}, text("studio.export"), ": "), row("a", "A", shown.a), row("b", "B", shown.b), row("difference", "A − B", difference));
}

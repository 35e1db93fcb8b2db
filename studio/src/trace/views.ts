// How tensors are cut into matrices, and what their cells are called.
import type { Tensor } from "../api/types";
import { state, type Cell } from "../state/state";
import { run } from "./document";
import { headAt, headIndex, headNumber, rowAt } from "./heads";
import { endOf, mostCells, placeOf } from "./run";

export const mostWords = 40;  // columns of a table whose columns are words

// A matrix of a tensor: what stands where, and the words beside it.
export interface MatrixView {
  tensor: Tensor;
  rows: number;
  columns: number;
  isTable: boolean;       // small enough for digits
  rowLabels: string[];
  columnLabels?: string[];
  words?: number[];       // ids, where only some words are columns
  query?: number;         // where one query of many is shown
  index(r: number, c: number): number[];
  side?: number;          // pixels of a cell on a canvas
  cursor?: [number, number];
  paint?(): void;
  tell?(r: number, c: number): void;
}

// The rows in which tensors of one attention stand; a gradient stands where its tensor does.
const rows = { scores: 3, weights: 4, values: 5 };
function rowOf(tensor: Tensor): number { return run().find(tensor.name.replace(/^gradient\./, ""))?.row ?? 0; }

// Q, K and V and what is made of them keep their colours.
export function inkOf(tensor: Tensor): string {
  const name = tensor.name.replace(/^gradient\./, "");
  if (/query|q_proj|W_q/.test(name)) return "q";
  if (/(\.|_)key|k_proj|W_k/.test(name)) return "k";
  if (/value|v_proj|W_v/.test(name) || rowOf(tensor) === rows.values) return "v";
  if (rowOf(tensor) === rows.scores || rowOf(tensor) === rows.weights) return "a";
  if (/^(logits|probabilities|prediction)/.test(name)) return "p";
  return "x";
}

// A tensor as a matrix: all of it, or what is chosen of it (a head, a query, words).
export function matrixOf(tensor: Tensor, { head }: { head?: number } = {}): MatrixView {
  const place = placeOf(tensor.name.replace(/^gradient\./, "").replace(/^variant\.\w+\.\w+\./, ""));
  const sizeOf = (axis: number | undefined) => (axis === undefined ? 1 : (tensor.shape[axis] as number));
  const fixed: (number | undefined)[] = tensor.shape.map(() => undefined);
  const free: number[] = [];
  tensor.axes.forEach((axis, i) => {
    if (axis === "batch") fixed[i] = 0;
    else if (axis === "head" && tensor.shape.length > 1) fixed[i] = Math.min(head ?? headAt(place), sizeOf(i) - 1);
    else free.push(i);
  });
  if (free.length === 3) {
    const queries = free.shift() as number;
    fixed[queries] = Math.min(rowAt(place), sizeOf(queries) - 1);
  }
  const [row, column] = free.length === 2 ? free : tensor.operation === "parameter" ? [undefined, free[0]] : [free[0], undefined];
  const axisOf = (axis: number | undefined) => (axis === undefined ? undefined : tensor.axes[axis]);
  const words = axisOf(column) === "vocabulary" && sizeOf(column) > mostWords ? run().wordsShown() : undefined;
  const columnLabels = column === undefined ? undefined : run().labels(axisOf(column));
  return {
    tensor, words, rows: sizeOf(row), columns: words?.length ?? sizeOf(column), query: free.length === 2 && tensor.axes.length === 5 ? fixed[2] : undefined,
    isTable: sizeOf(row) <= mostCells && (words?.length ?? sizeOf(column)) <= (axisOf(column) === "vocabulary" ? mostWords : mostCells),
    rowLabels: row === undefined ? [] : run().labels(axisOf(row)),
    columnLabels: words ? words.map((id) => columnLabels?.[id] ?? String(id)) : columnLabels,
    index(r, c) {
      const index = fixed.slice() as number[];
      if (row !== undefined) index[row] = r;
      if (column !== undefined) index[column] = words ? (words[c] as number) : c;
      return index;
    },
  };
}

// "encoder.0.self.head.2.scores[3,5]", as the command line writes it.
export function cellText(cell: Cell): string {
  const tensor = run().find(cell.name) as Tensor;
  const head = tensor.axes.indexOf("head");
  const rest = cell.index.filter((_, axis) => !isOneSequence(tensor, axis) && (axis !== head || tensor.axes.length === 1));
  const name = head > 0 ? `${placeOf(cell.name)}.head.${headNumber(tensor, cell.index[head] as number)}.${endOf(cell.name)}` : cell.name;
  return `${name}[${rest.join(",")}]`;
}
// The axis of a batch of one is not written.
function isOneSequence(tensor: Tensor, axis: number): boolean { return tensor.axes[axis] === "batch" && tensor.shape[axis] === 1; }
export function cellOf(written: string): Cell | undefined {
  const match = /^(.*)\[([\d,]*)\]$/.exec(written);
  if (!match) return undefined;
  const [, whole = "", places = ""] = match;
  const numbers = places.split(",").filter(Boolean).map(Number);
  const headed = /^(.*)\.head\.(\d+)\.(\w+)$/.exec(whole);
  const name = headed ? `${headed[1]}.${headed[3]}` : whole;
  const tensor = run().find(name);
  if (!tensor) return undefined;
  const index = tensor.axes.map((axis, i) =>
    isOneSequence(tensor, i) ? 0 : headed && axis === "head" && i > 0 ? headIndex(tensor, Number(headed[2])) : (numbers.shift() as number));
  return index.every((at, i) => at >= 0 && at < (tensor.shape[i] as number)) ? { name, index } : undefined;
}
// The words that a cell's row and column stand for.
export function cellLabels(cell: Cell): string[] {
  const tensor = run().find(cell.name) as Tensor;
  return tensor.axes.map((axis, i) => run().labels(axis, tensor)[cell.index[i] as number]).filter((label) => label !== undefined);
}
export function shortName(cell: Cell): string {
  const written = cellText(cell);
  const from = written.lastIndexOf(".", written.indexOf("["));
  return run().find(cell.name)?.operation === "parameter" ? nearName({ name: written, operation: "parameter" }) : written.slice(from + 1);
}
// Enough of a name to know it beside its own kind.
export function nearName(tensor: { name: string; operation: string }): string {
  const isCommon = tensor.operation === "parameter" || /\.(input|output)$/.test(tensor.name);
  return tensor.name.split(".").slice(isCommon ? -2 : -1).join(".");
}

// The head and the query of a cell become the chosen ones, so that it can be seen. True: others were chosen before.
export function chooseHeadOf(cell: Cell): boolean {
  const tensor = run().find(cell.name) as Tensor;
  const place = placeOf(cell.name);
  const head = tensor.axes.indexOf("head");
  if (head < 0 || tensor.axes.length === 1) return false;
  const hasQuery = tensor.axes.length >= 3 && !/\.(key|value)$/.test(cell.name);
  const changed = headAt(place) !== cell.index[head] || (hasQuery && rowAt(place) !== cell.index[2]);
  if (hasQuery) state.rows[place] = cell.index[2] as number;
  state.heads[place] = cell.index[head] as number;
  return changed;
}

// Matrices: small ones as tables whose digits can be selected, larger ones on a canvas. Every cell can be asked why.
import type { Tensor } from "../api/types";
import { long, number, short } from "../texts/numbers";
import { text } from "../texts/words";
import { canLoad, load, mostLoaded } from "../trace/loading";
import { data, run } from "../trace/document";
import { elementsOf, offsetOf } from "../trace/run";
import { cellLabels, inkOf, matrixOf, type MatrixView } from "../trace/views";
import { askAt } from "../views/why";
import { alphaOf, colour } from "./colour";
import { element, fill, lastOf, told, type Child } from "./element";
import { tileMap } from "./tiles";
import { titleOf } from "./figure";
import { waitingFor } from "./waiting";

export const shownMatrices = new WeakMap<Element, MatrixView>();  // the matrix of each table and canvas

// A cell where it is drawn.
export interface DrawnCell { made: HTMLElement; view: MatrixView; r: number; c: number }

function largestOf(tensor: Tensor): number {
  if (tensor.attention || tensor.name === "probabilities") return 1;
  if (tensor.largest === undefined) {
    if (!tensor.values) return 1;
    tensor.largest = 0;
    for (const value of tensor.values as Iterable<number>) if (Number.isFinite(value)) tensor.largest = Math.max(tensor.largest, Math.abs(value));
  }
  return tensor.largest || 1;
}

export function matrix(tensor: Tensor, wasAsked = false): Child {
  const view = matrixOf(tensor);
  if (run().valueOf(tensor, view.index(0, 0)) === undefined) return canLoad() && !wasAsked ? fetched(tensor, view) : leftOut(tensor);
  return [element("div", { class: "scroll" }, view.isTable ? table(view) : canvas(view)),
    view.words && element("p", { class: "note" }, text("page.words_shown", { shown: view.columns, all: lastOf(tensor.shape) }))];
}

// Numbers that are still at the server: drawn when they are here, or from tiles where they are too many.
function fetched(tensor: Tensor, view: MatrixView): Child {
  const head = tensor.axes.indexOf("head");
  if (tensor.axes.length > 4 && elementsOf(tensor) > mostLoaded) return leftOut(tensor);  // one query of it is no part that can be asked for
  if (!view.isTable && (view.rows * view.columns > mostLoaded || view.words)) return tileMap(tensor, head > 0 ? (view.index(0, 0)[head] as number) : undefined);
  return waitingFor(() => load(tensor, elementsOf(tensor) > mostLoaded ? (view.index(0, 0)[head] as number) : undefined), () => matrix(tensor, true), view.rows);
}

export function leftOut(tensor: Tensor): HTMLElement {
  return element("p", { class: "left-out" }, text("page.left_out"), element("br"), element("code", {}, `${data.command} --only ${tensor.name}`));
}

export function table(view: MatrixView): HTMLTableElement {
  const { tensor, columnLabels } = view;
  // What shows one query keeps its width when another is chosen.
  const made = element("table", { class: `matrix ink-${inkOf(tensor)}${view.query === undefined ? "" : " steady"}`, role: "grid", "data-name": tensor.name, "aria-label": titleOf(tensor) });
  if (columnLabels) {
    made.append(element("thead", {}, element("tr", {}, element("th"),
      Array.from({ length: view.columns }, (_, c) => element("th", { scope: "col" }, columnLabels[c] ?? String(c))))));
  }
  const most = largestOf(tensor);
  const body = element("tbody", {});
  for (let r = 0; r < view.rows; ++r) {
    const row = element("tr", {}, element("th", { scope: "row", title: view.rowLabels[r] }, view.rowLabels[r] ?? (view.rows > 1 ? String(r) : "")));
    for (let c = 0; c < view.columns; ++c) row.append(tableCell(view, r, c, most));
    body.append(row);
  }
  made.append(body);
  shownMatrices.set(made, view);
  // Only the decimal sign follows the language.
  let sign = short(0.5);
  made.retell = () => {
    made.setAttribute("aria-label", String(titleOf(tensor)));
    if (short(0.5) === sign) return;
    sign = short(0.5);
    for (const cell of body.querySelectorAll<HTMLElement>("td[data-r]")) (cell.firstChild as Text).data = short(run().valueOf(tensor, view.index(Number(cell.dataset.r), Number(cell.dataset.c))));
  };
  return made;
}

function tableCell(view: MatrixView, r: number, c: number, most: number): HTMLElement {
  const index = view.index(r, c);
  const value = run().valueOf(view.tensor, index);
  const isNumber = value !== undefined && Number.isFinite(value);
  const kind = !isNumber ? "none" : value < 0 ? "minus" : undefined;
  return element("td", { class: kind, role: "gridcell", tabindex: r + c === 0 ? "0" : "-1", "data-r": r, "data-c": c,
    "data-o": offsetOf(view.tensor, index), style: { "--s": (isNumber ? Math.min(1, Math.abs(value) / most) : 0).toFixed(3) } }, short(value));
}

// One small rectangle per cell, the words of rows and columns beside it, and below it the number under the pointer or the cursor.
export function canvas(view: MatrixView, room = 900): Child[] {
  const width = Math.max(120, Math.min(room, (document.querySelector("main")?.clientWidth || room) - 150));
  const side = Math.max(1, Math.min(14, Math.floor(width / view.columns), Math.floor(560 / view.rows)));
  const made = element("canvas", { class: "matrix", tabindex: "0", role: "img", "data-name": view.tensor.name, width: view.columns, height: view.rows,
    "aria-label": told(() => `${titleOf(view.tensor)}, ${view.rows} × ${view.columns}`), style: { width: `${view.columns * side}px`, height: `${view.rows * side}px` } });
  const readout = element("p", { class: "readout", "aria-live": "polite" }, `${view.rows} × ${view.columns}`);
  view.side = side;
  view.cursor = [0, 0];
  view.paint = () => paint(made, view);
  view.tell = (r, c) => {
    const cell = { name: view.tensor.name, index: view.index(r, c) };
    fill(readout, [`[${r},${c}]`, ...cellLabels(cell)].join("  "), "  ", number(run().value(cell)));
  };
  made.addEventListener("pointermove", (event) => view.tell?.(...pointed(view, event)));
  shownMatrices.set(made, view);
  view.paint();
  return [element("div", { class: "labelled" }, element("span"), axisLabels("columns", view.columnLabels ?? [], view.columns, side),
    axisLabels("rows", view.rowLabels, view.rows, side), made), readout];
}

// As many as have room; positions without words have numbers.
export function axisLabels(kind: string, labels: string[], count: number, side: number): HTMLElement {
  if (count === 1) return element("span");
  const every = Math.max(1, Math.ceil(11 / side));
  const made = Array.from({ length: Math.ceil(count / every) }, (_, i) => element("span", {}, clipped(labels[i * every] ?? String(i * every))));
  return element("div", { class: `${kind}-labels`, "aria-hidden": "true", style: { "--step": `${every * side}px` } }, made);
}
export function clipped(label: string, most = 12): string { return [...label].length > most ? `${[...label].slice(0, most - 1).join("")}…` : label; }

function pointed(view: MatrixView, event: MouseEvent): [number, number] {
  const side = view.side ?? 1;
  return [Math.min(view.rows - 1, Math.max(0, Math.floor(event.offsetY / side))), Math.min(view.columns - 1, Math.max(0, Math.floor(event.offsetX / side)))];
}

function paint(made: HTMLCanvasElement, view: MatrixView): void {
  const most = largestOf(view.tensor);
  const [ink, minus] = [colour(inkOf(view.tensor)), colour("minus")];
  const image = new ImageData(view.columns, view.rows);
  for (let r = 0, at = 0; r < view.rows; ++r) {
    for (let c = 0; c < view.columns; ++c, at += 4) {
      const value = run().valueOf(view.tensor, view.index(r, c));
      if (value === undefined || !Number.isFinite(value)) continue;
      image.data.set(value < 0 ? minus : ink, at);
      image.data[at + 3] = alphaOf(Math.abs(value) / most);
    }
  }
  made.getContext("2d")?.putImageData(image, 0, 0);
}
// In the colours of the theme.
export function repaint(): void { for (const made of document.querySelectorAll("canvas.matrix")) shownMatrices.get(made)?.paint?.(); }

// The matrix that has the focus, or in which this stands, with the cell there.
export function cellAt(target: Element | null | undefined): DrawnCell | undefined {
  const made = target?.closest<HTMLElement>("table.matrix, canvas.matrix");
  const view = made && shownMatrices.get(made);
  if (!view) return undefined;
  if (made.tagName === "CANVAS") return { made, view, r: view.cursor?.[0] ?? 0, c: view.cursor?.[1] ?? 0 };
  const cell = target?.closest<HTMLElement>("td[data-r]") ?? made.querySelector<HTMLElement>("td[tabindex='0']");
  return cell ? { made, view, r: Number(cell.dataset.r), c: Number(cell.dataset.c) } : undefined;
}
export function tableCellAt(made: Element, r: number, c: number): HTMLElement { return made.querySelector(`td[data-r="${r}"][data-c="${c}"]`) as HTMLElement; }
// Where a cell is on the screen.
export function boxOf({ made, view, r, c }: DrawnCell): DOMRect {
  if (made.tagName === "TABLE") return tableCellAt(made, r, c).getBoundingClientRect();
  const box = made.getBoundingClientRect();
  const side = view.side ?? 1;
  return new DOMRect(box.x + c * side, box.y + r * side, side, side);
}
export function focusCell({ made, view, r, c }: DrawnCell): void {
  if (made.tagName === "CANVAS") {
    view.cursor = [r, c];
    view.tell?.(r, c);
    return made.focus({ preventScroll: true });
  }
  for (const cell of made.querySelectorAll<HTMLElement>("td[tabindex='0']")) cell.tabIndex = -1;
  const cell = tableCellAt(made, r, c);
  cell.tabIndex = 0;
  cell.focus({ preventScroll: true });
  cell.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
}

// Arrows move from cell to cell; Enter asks why.
const arrows: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
export function moveInMatrix(event: KeyboardEvent): boolean {
  const at = cellAt(event.target as Element);
  if (!at) return false;
  if (event.key === "Enter" || event.key === " ") {
    askAt(at);
    return true;
  }
  const step = arrows[event.key];
  if (!step) return false;
  focusCell({ ...at, r: Math.min(at.view.rows - 1, Math.max(0, at.r + step[0])), c: Math.min(at.view.columns - 1, Math.max(0, at.c + step[1])) });
  return true;
}
export function clickInMatrix(event: MouseEvent): void {
  const target = event.target as Element;
  const at = cellAt(target);
  if (!at || String(window.getSelection())) return;
  if (at.made.tagName === "TABLE" && !target.closest("td[data-r]")) return;
  if (at.made.tagName === "CANVAS") at.view.cursor = [at.r, at.c] = pointed(at.view, event);
  askAt(at);
}
// All digits of a cell under the pointer.
export function tellDigits(event: Event): void {
  const target = event.target as HTMLElement;
  const at = target.closest?.("table.matrix td[data-r]:not(.blank)") && cellAt(target);
  if (at) target.title = long(run().valueOf(at.view.tensor, at.view.index(at.r, at.c)));
}

// A heat map of any size on a canvas: the part that is seen is drawn from tiles, as coarse as pixels allow; never one element per number.
import { source, type Tile } from "../api/source";
import type { Tensor } from "../api/types";
import { decimals, number, short } from "../texts/numbers";
import { text } from "../texts/words";
import { run } from "../trace/document";
import { headNumber } from "../trace/heads";
import { inkOf, matrixOf } from "../trace/views";
import { askWhy } from "../views/why";
import { alphaOf, colour } from "./colour";
import { button, element, fill, setAttribute, type Words } from "./element";
import { titleOf } from "./figure";
import { clipped } from "./matrix";

// Where many tokens share the weight, one part in a hundred is still seen in powers of ten.
export function usualShading(tokens: number): Shading { return tokens > 64 ? "logarithmic" : "linear"; }
export function shadingOf(written: string | null): Shading | undefined { return (["linear", "logarithmic", "without_first"] as const).find((one) => one === written); }
export type Shading = "linear" | "logarithmic" | "without_first";
type Span = [begin: number, end: number];

export interface TileOptions {
  rows: number;
  columns: number;
  rowLabels: string[];
  columnLabels: string[];
  label: Words;
  ink: string;
  largest?: number;           // of all numbers, where it is known
  shading?: Shading;
  selection?: Set<number>;    // rows that stay marked
  tile(rows: Span, columns: Span, most: number): Promise<Tile>;
  pick?(row: number, column: number): void;  // a click, or Enter
}

const tileCells = 256;
const mostHeight = 600;
const mostScale = 46;    // pixels of a cell
const digitsScale = 38;  // from which on a cell has its digits
const arrows: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export function tiles(options: TileOptions): HTMLElement { return new TileMap(options).element; }

// One matrix of a tensor, of the head with this index.
export function tileMap(tensor: Tensor, head?: number): HTMLElement {
  const view = matrixOf(tensor, { head });
  const columns = view.words ? (tensor.shape[tensor.shape.length - 1] as number) : view.columns;
  const labels = run().labels(tensor.axes[tensor.axes.length - 1], tensor);
  const indexOf = (r: number, c: number) => { const index = view.index(r, 0); index[index.length - 1] = c; return index; };
  return tiles({
    rows: view.rows, columns, rowLabels: view.rowLabels, columnLabels: view.words ? labels : view.columnLabels ?? [], label: titleOf(tensor), ink: inkOf(tensor), largest: tensor.attention ? 1 : undefined, shading: tensor.attention ? usualShading(columns) : undefined,
    tile: (rows, cols, most) => source.tile({ name: tensor.same_as ?? tensor.name, head: head === undefined ? undefined : headNumber(tensor, head), rows, columns: cols, most }),
    pick: (r, c) => askWhy({ name: tensor.name, index: indexOf(r, c) }, { from: document.activeElement }),
  });
}

let readers = 0;
// Room for words beside a map, in pixels.
function roomFor(labels: string[], most: number): number { return 12 + 6.4 * Math.min(most, labels.reduce((longest, label) => Math.max(longest, [...label].length), 4)); }
// Two decimals have room; next to nothing is a dot.
function digitsOf(value: number): string { return Math.abs(value) < 0.005 ? "·" : decimals(value, 2); }
function inked(name: string, share = 1): string { return `rgb(${colour(name).join(" ")} / ${share})`; }
function clamped(x: number, least: number, most: number): number { return Math.max(least, Math.min(most, x)); }

interface KeptTile { tile: Tile; image?: HTMLCanvasElement }

class TileMap {
  readonly element: HTMLElement;
  private readonly canvas = element("canvas", { class: "tiles", "aria-hidden": "true" });
  private readonly reader = element("div", { class: "reader", role: "gridcell", id: `reader-${++readers}` });  // says the cell at the cursor
  private readonly grid: HTMLElement;
  private readonly readout = element("p", { class: "readout", "aria-live": "polite" });
  private readonly kept = new Map<string, KeptTile | "coming">();
  private readonly left: number;
  private readonly top: number;
  private readonly first: number;          // column that is shown
  private readonly frame = { width: 0, height: 0, ratio: 1 };
  private readonly seen = { row: 0, column: 0, scale: 1 };  // the cell in the corner, pixels of a cell
  private readonly cursor = { row: 0, column: 0 };
  private largest: number;
  private isDue = false;
  private toldCell?: [number, number];
  private drag?: { x: number; y: number; row: number; column: number; moved: boolean };

  constructor(private readonly options: TileOptions) {
    this.left = roomFor(options.rowLabels, 13);
    this.top = roomFor(options.columnLabels, 11);
    this.first = options.shading === "without_first" ? 1 : 0;
    this.largest = options.largest ?? 0;
    this.grid = element("div", { class: "tile-grid", role: "grid", tabindex: "0", "aria-label": options.label, "aria-rowcount": options.rows, "aria-colcount": options.columns, "aria-activedescendant": this.reader.id },
      this.canvas, element("div", { role: "row" }, this.reader));
    const tool = (sign: string, key: string, act: () => void) => button(sign, { class: "round", "aria-label": text(key), title: text(key), click: act });
    this.element = element("div", { class: "tile-map" },
      element("div", { class: "tile-tools" }, tool("−", "studio.zoom_out", () => this.zoom(1 / 1.6)), tool("+", "studio.zoom_in", () => this.zoom(1.6)), tool("⤢", "studio.zoom_all", () => this.fit())),
      this.grid, this.readout);
    this.listen();
    new ResizeObserver(() => requestAnimationFrame(() => this.resize())).observe(this.element);  // its own height changes by that
    new MutationObserver(() => { for (const one of this.kept.values()) if (one !== "coming") one.image = undefined; this.draw(); }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  private listen(): void {
    this.canvas.addEventListener("pointerdown", (event) => {
      this.drag = { x: event.clientX, y: event.clientY, row: this.seen.row, column: this.seen.column, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => this.moved(event));
    this.canvas.addEventListener("pointerup", (event) => this.released(event));
    this.canvas.addEventListener("pointercancel", () => { this.drag = undefined; });
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = this.canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 200), { x: event.clientX - box.left - this.left, y: event.clientY - box.top - this.top });
    }, { passive: false });
    this.grid.addEventListener("keydown", (event) => this.pressed(event));
    for (const kind of ["focus", "blur"]) this.grid.addEventListener(kind, () => this.draw());
  }

  // Sizes and the part that is seen.
  private fitScale(): number { return Math.min(mostScale, (this.frame.width - this.left - 2) / this.options.columns, (mostHeight - this.top - 2) / this.options.rows); }
  private fit(): void {
    Object.assign(this.seen, { row: 0, column: 0, scale: this.fitScale() });
    this.draw();
  }
  private resize(): void {
    const { frame } = this;
    const width = clamped(this.element.clientWidth, 220, 980);
    if (width === frame.width) return;
    const isNew = frame.width === 0;
    frame.width = width;
    frame.ratio = devicePixelRatio || 1;
    if (isNew) this.fit();
    frame.height = Math.min(mostHeight, Math.ceil(this.top + this.options.rows * this.fitScale()) + 2);
    [this.canvas.width, this.canvas.height] = [frame.width * frame.ratio, frame.height * frame.ratio];
    [this.canvas.style.width, this.canvas.style.height] = [`${frame.width}px`, `${frame.height}px`];
    this.draw();
  }
  private rowsSeen(): number { return (this.frame.height - this.top) / this.seen.scale; }
  private columnsSeen(): number { return (this.frame.width - this.left) / this.seen.scale; }
  private zoom(factor: number, at = { x: (this.frame.width - this.left) / 2, y: (this.frame.height - this.top) / 2 }): void {
    const { seen } = this;
    const [column, row] = [seen.column + at.x / seen.scale, seen.row + at.y / seen.scale];
    seen.scale = clamped(seen.scale * factor, this.fitScale(), mostScale);
    [seen.column, seen.row] = [column - at.x / seen.scale, row - at.y / seen.scale];
    this.draw();
  }
  private x(column: number): number { return this.left + (column - this.seen.column) * this.seen.scale; }
  private y(row: number): number { return this.top + (row - this.seen.row) * this.seen.scale; }

  // Tiles, each of so many cells of the matrix in one of its own: as coarse as one pixel.
  private step(): number { return 2 ** Math.max(0, Math.ceil(Math.log2(1 / this.seen.scale))); }
  private tileAt(step: number, y: number, x: number): KeptTile | undefined {
    const key = `${step} ${y} ${x}`;
    const known = this.kept.get(key);
    if (known) return known === "coming" ? undefined : known;
    const size = tileCells * step;
    const rows: Span = [y * size, Math.min(this.options.rows, (y + 1) * size)];
    const columns: Span = [this.first + x * size, Math.min(this.options.columns, this.first + (x + 1) * size)];
    if (rows[0] >= rows[1] || columns[0] >= columns[1]) return undefined;
    this.kept.set(key, "coming");
    this.options.tile(rows, columns, tileCells).then((tile) => {
      this.kept.set(key, { tile });
      if (this.options.largest === undefined) this.noteLargest(tile);
      if (this.toldCell) this.tell(...this.toldCell);
      this.draw();
    }, (error) => { this.kept.delete(key); fill(this.readout, String(error.message)); });
    return undefined;
  }
  // The strongest ink is for the largest number: one that is larger paints all anew.
  private noteLargest(tile: Tile): void {
    const largest = tile.max.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), this.largest);
    if (largest === this.largest) return;
    this.largest = largest;
    for (const one of this.kept.values()) if (one !== "coming") one.image = undefined;
  }
  private imageOf(one: KeptTile): HTMLCanvasElement {
    if (one.image) return one.image;
    const { width, height, max } = one.tile;
    const image = element("canvas", { width, height });
    const pixels = new ImageData(width, height);
    const [ink, minus] = [colour(this.options.ink), colour("minus")];
    max.forEach((value, i) => {
      if (!Number.isFinite(value)) return;
      pixels.data.set(value < 0 ? minus : ink, 4 * i);
      pixels.data[4 * i + 3] = alphaOf(this.strengthOf(value));
    });
    image.getContext("2d")?.putImageData(pixels, 0, 0);
    return (one.image = image);
  }
  // In the logarithmic shading four powers of ten can be told apart.
  private strengthOf(value: number): number {
    const share = Math.abs(value) / (this.largest || 1);
    return this.options.shading === "logarithmic" ? Math.max(0, 1 + Math.log10(Math.max(share, 1e-9)) / 4) : share;
  }
  private valueAt(row: number, column: number): { value: number; exact: boolean } | undefined {
    for (let step = this.step(); step <= this.options.rows + this.options.columns; step *= 2) {
      const size = tileCells * step;
      const found = this.kept.get(`${step} ${Math.floor(row / size)} ${Math.floor((column - this.first) / size)}`);
      if (!found || found === "coming") continue;
      const { tile } = found;
      const at = Math.floor((row - tile.rows[0]) / tile.rowStep) * tile.width + Math.floor((column - tile.columns[0]) / tile.columnStep);
      return { value: tile.max[at] as number, exact: tile.rowStep === 1 && tile.columnStep === 1 };
    }
    return undefined;
  }

  // Drawing, once for each frame.
  private draw(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => { this.isDue = false; this.paint(); });
  }
  private paint(): void {
    const context = this.canvas.getContext("2d");
    const { frame, seen, options } = this;
    if (!context || frame.width === 0) return;
    seen.row = Math.max(0, Math.min(options.rows - this.rowsSeen(), seen.row));
    seen.column = Math.max(0, Math.min(options.columns - this.columnsSeen(), seen.column));
    context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
    context.clearRect(0, 0, frame.width, frame.height);
    context.imageSmoothingEnabled = false;
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, frame.width - this.left, frame.height - this.top);
    context.clip();
    // The whole map, coarsely, until the part that is seen is there.
    const coarsest = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(options.rows, options.columns) / tileCells)));
    if (coarsest > this.step()) this.paintTiles(context, coarsest);
    this.paintTiles(context, this.step());
    if (seen.scale >= digitsScale) this.paintDigits(context);
    this.paintMarks(context);
    context.restore();
    this.paintWords(context);
  }
  private paintTiles(context: CanvasRenderingContext2D, step: number): void {
    const size = tileCells * step;
    const { seen, options } = this;
    for (let y = Math.floor(seen.row / size); y * size < Math.min(options.rows, seen.row + this.rowsSeen()); ++y) {
      for (let x = Math.max(0, Math.floor((seen.column - this.first) / size)); this.first + x * size < Math.min(options.columns, seen.column + this.columnsSeen()); ++x) {
        const one = this.tileAt(step, y, x);
        if (!one) continue;
        const { rows, columns, width, height, rowStep, columnStep } = one.tile;
        context.clearRect(this.x(columns[0]), this.y(rows[0]), (columns[1] - columns[0]) * seen.scale, (rows[1] - rows[0]) * seen.scale);
        context.drawImage(this.imageOf(one), this.x(columns[0]), this.y(rows[0]), width * columnStep * seen.scale, height * rowStep * seen.scale);
      }
    }
  }
  private paintDigits(context: CanvasRenderingContext2D): void {
    const { seen, options } = this;
    context.font = "11px ui-monospace, monospace";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let r = Math.floor(seen.row); r < Math.min(options.rows, seen.row + this.rowsSeen()); ++r) {
      for (let c = Math.max(this.first, Math.floor(seen.column)); c < Math.min(options.columns, seen.column + this.columnsSeen()); ++c) {
        const known = this.valueAt(r, c);
        if (!known?.exact || !Number.isFinite(known.value)) continue;
        context.fillStyle = inked(this.strengthOf(known.value) > 0.6 ? "card" : "text");
        context.fillText(digitsOf(known.value), this.x(c + 0.5), this.y(r + 0.5));
      }
    }
  }
  private paintMarks(context: CanvasRenderingContext2D): void {
    const { cursor, seen } = this;
    const side = Math.max(4, seen.scale);
    context.fillStyle = inked("beam", 0.18);
    for (const row of this.options.selection ?? []) context.fillRect(this.left, this.y(row), this.x(this.options.columns) - this.left, Math.max(2, seen.scale));
    if (document.activeElement !== this.grid) return;
    context.strokeStyle = inked("text");
    context.lineWidth = 1.5;
    context.strokeRect(this.x(cursor.column) + 0.5, this.y(cursor.row) + 0.5, side - 1, side - 1);
  }
  private paintWords(context: CanvasRenderingContext2D): void {
    const { seen, options, frame } = this;
    const every = Math.max(1, Math.ceil(11 / seen.scale));
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = inked("soft");
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (let r = Math.ceil(seen.row / every) * every; r < options.rows && this.y(r + 0.5) <= frame.height; r += every) {
      context.fillText(clipped(options.rowLabels[r] ?? String(r), 13), this.left - 5, this.y(r + 0.5));
    }
    context.textAlign = "left";
    for (let c = Math.ceil(seen.column / every) * every; c < options.columns && this.x(c + 0.5) <= frame.width; c += every) {
      context.save();
      context.translate(this.x(c + 0.5), this.top - 5);
      context.rotate(-Math.PI / 2);
      context.fillText(clipped(options.columnLabels[c] ?? String(c), 11), 0, 0);
      context.restore();
    }
  }

  // Pointer and keys.
  private tell(row: number, column: number): void {
    this.toldCell = [row, column];  // again when it is known exactly
    const { rowLabels, columnLabels } = this.options;
    const known = this.valueAt(row, column);
    const words = `[${row},${column}]  ${[rowLabels[row], columnLabels[column]].filter((one) => one !== undefined).join(" → ")}  `;
    fill(this.readout, words, known && (known.exact ? number(known.value) : ["≤ ", number(known.value, short)]));
    fill(this.reader, words, known && number(known.value));
    setAttribute(this.reader, "aria-rowindex", row + 1);
    setAttribute(this.reader, "aria-colindex", column + 1);
  }
  private cellUnder(event: MouseEvent): [number, number] | undefined {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor(this.seen.column + (event.clientX - box.left - this.left) / this.seen.scale);
    const row = Math.floor(this.seen.row + (event.clientY - box.top - this.top) / this.seen.scale);
    return row >= 0 && column >= 0 && row < this.options.rows && column < this.options.columns ? [row, column] : undefined;
  }
  private moved(event: PointerEvent): void {
    const { drag } = this;
    if (drag && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4) drag.moved = true;
    if (drag?.moved) {
      this.seen.column = drag.column - (event.clientX - drag.x) / this.seen.scale;
      this.seen.row = drag.row - (event.clientY - drag.y) / this.seen.scale;
      return this.draw();
    }
    const at = this.cellUnder(event);
    if (at) this.tell(...at);
  }
  private released(event: PointerEvent): void {
    const at = this.drag?.moved ? undefined : this.cellUnder(event);
    this.drag = undefined;
    if (!at) return;
    [this.cursor.row, this.cursor.column] = at;
    this.options.pick?.(...at);
    this.draw();
  }
  private pressed(event: KeyboardEvent): void {
    const step = arrows[event.key];
    if (step) this.moveCursor(step);
    else if (event.key === "+" || event.key === "=") this.zoom(1.6);
    else if (event.key === "-") this.zoom(1 / 1.6);
    else if (event.key === "0") this.fit();
    else if (event.key === "Enter" || event.key === " ") this.options.pick?.(this.cursor.row, this.cursor.column);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  private moveCursor([down, right]: [number, number]): void {
    const { cursor, seen, options } = this;
    cursor.row = clamped(cursor.row + down, 0, options.rows - 1);
    cursor.column = clamped(cursor.column + right, 0, options.columns - 1);
    seen.row = Math.min(cursor.row, Math.max(seen.row, cursor.row + 1 - this.rowsSeen()));
    seen.column = Math.min(cursor.column, Math.max(seen.column, cursor.column + 1 - this.columnsSeen()));
    this.tell(cursor.row, cursor.column);
    this.draw();
  }
}

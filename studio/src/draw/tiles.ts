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

export type Shading = "linear" | "logarithmic" | "without_first";

export interface TileOptions {
  rows: number;
  columns: number;
  rowLabels: string[];
  columnLabels: string[];
  label: Words;
  ink: string;
  largest?: number;                // of all numbers, where it is known
  shading?: Shading;
  tile(rows: [number, number], columns: [number, number], most: number): Promise<Tile>;
  pick?(row: number, column: number): void;   // a click, or Enter
  point?(row: number, column: number): void;  // the pointer, or arrows
}

export interface TileMap { element: HTMLElement; setShading(shading: Shading): void; setSelection(rows: Set<number>): void }

const tileCells = 256;
const mostHeight = 600;
const mostScale = 46;    // pixels of a cell
const digitsScale = 38;  // from which on a cell has its digits

// Room for words beside a map, in pixels.
function roomFor(labels: string[], most: number): number { return 12 + 6.4 * Math.min(most, labels.reduce((longest, label) => Math.max(longest, [...label].length), 4)); }

export function tiles(options: TileOptions): TileMap {
  const canvas = element("canvas", { class: "tiles", "aria-hidden": "true" });
  const reader = element("div", { class: "reader", role: "gridcell", id: `reader-${++readers}` });
  const grid = element("div", { class: "tile-grid", role: "grid", tabindex: "0", "aria-label": options.label, "aria-rowcount": options.rows, "aria-colcount": options.columns,
    "aria-activedescendant": reader.id }, canvas, element("div", { role: "row" }, reader));
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const [left, top] = [roomFor(options.rowLabels, 13), roomFor(options.columnLabels, 11)];
  const cache = new Map<string, { tile: Tile; image?: HTMLCanvasElement } | "coming">();
  const frame = { width: 0, height: 0, ratio: 1 };
  const seen = { row: 0, column: 0, scale: 1 };  // the cell in the corner, pixels of a cell
  const cursor = { row: 0, column: 0 };
  let shading: Shading = options.shading ?? "linear";
  let selection = new Set<number>();
  let largest = options.largest ?? 0;
  let waiting = false;

  const firstColumn = () => (shading === "without_first" ? 1 : 0);
  const fitScale = () => Math.min(mostScale, (frame.width - left - 2) / options.columns, (mostHeight - top - 2) / options.rows);
  const fit = () => { seen.scale = fitScale(); seen.row = seen.column = 0; };
  const resize = () => {
    const width = Math.max(220, Math.min(grid.parentElement?.clientWidth ?? 720, 980));
    if (width === frame.width) return;
    const isNew = frame.width === 0;
    frame.width = width;
    frame.ratio = devicePixelRatio || 1;
    if (isNew) fit();
    frame.height = Math.min(mostHeight, Math.ceil(top + options.rows * fitScale()) + 2);
    [canvas.width, canvas.height] = [frame.width * frame.ratio, frame.height * frame.ratio];
    [canvas.style.width, canvas.style.height] = [`${frame.width}px`, `${frame.height}px`];
    draw();
  };
  const draw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; paint(); });
  };
  const clamp = () => {
    const [wide, high] = [(frame.width - left) / seen.scale, (frame.height - top) / seen.scale];
    seen.row = Math.max(0, Math.min(options.rows - high, seen.row));
    seen.column = Math.max(0, Math.min(options.columns - wide, seen.column));
  };

  // As coarse as one pixel.
  const stepNow = () => 2 ** Math.max(0, Math.ceil(Math.log2(1 / seen.scale)));
  const keyOf = (step: number, y: number, x: number) => `${firstColumn()} ${step} ${y} ${x}`;
  const want = (step: number, y: number, x: number): { tile: Tile; image?: HTMLCanvasElement } | undefined => {
    const key = keyOf(step, y, x);
    const known = cache.get(key);
    if (known) return known === "coming" ? undefined : known;
    const size = tileCells * step;
    const from = firstColumn();
    const rows: [number, number] = [y * size, Math.min(options.rows, (y + 1) * size)];
    const columns: [number, number] = [from + x * size, Math.min(options.columns, from + (x + 1) * size)];
    if (rows[0] >= rows[1] || columns[0] >= columns[1]) return undefined;
    cache.set(key, "coming");
    options.tile(rows, columns, tileCells).then((tile) => {
      cache.set(key, { tile });
      if (options.largest === undefined) for (const value of tile.max) if (Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
      draw();
    }, (error) => { cache.delete(key); fill(readout, String(error.message)); });
    return undefined;
  };
  const imageOf = (one: { tile: Tile; image?: HTMLCanvasElement }) => {
    if (one.image) return one.image;
    const { tile } = one;
    const image = element("canvas", { width: tile.width, height: tile.height });
    const pixels = new ImageData(tile.width, tile.height);
    const [ink, minus] = [colour(options.ink), colour("minus")];
    tile.max.forEach((value, i) => {
      if (!Number.isFinite(value)) return;
      pixels.data.set(value < 0 ? minus : ink, 4 * i);
      pixels.data[4 * i + 3] = alphaOf(strengthOf(value));
    });
    image.getContext("2d")?.putImageData(pixels, 0, 0);
    return (one.image = image);
  };
  // In the logarithmic one four powers of ten can be told apart.
  const strengthOf = (value: number) => {
    const share = Math.abs(value) / (largest || 1);
    return shading === "logarithmic" ? Math.max(0, 1 + Math.log10(Math.max(share, 1e-9)) / 4) : share;
  };

  const paint = () => {
    const context = canvas.getContext("2d");
    if (!context || frame.width === 0) return;
    clamp();
    context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
    context.clearRect(0, 0, frame.width, frame.height);
    context.imageSmoothingEnabled = false;
    context.save();
    context.beginPath();
    context.rect(left, top, frame.width - left, frame.height - top);
    context.clip();
    const step = stepNow();
    const coarsest = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(options.rows, options.columns) / tileCells)));
    for (let level = Math.max(coarsest, step); level >= step; level /= 2) if (level === step || level === coarsest) drawLevel(context, level);
    if (seen.scale >= digitsScale) drawDigits(context);
    drawMarks(context);
    context.restore();
    drawWords(context);
  };
  const drawLevel = (context: CanvasRenderingContext2D, step: number) => {
    const size = tileCells * step;
    const from = firstColumn();
    for (let y = Math.floor(seen.row / size); y * size < Math.min(options.rows, seen.row + (frame.height - top) / seen.scale); ++y) {
      for (let x = Math.max(0, Math.floor((seen.column - from) / size)); from + x * size < Math.min(options.columns, seen.column + (frame.width - left) / seen.scale); ++x) {
        const one = want(step, y, x);
        if (!one) continue;
        const { tile } = one;
        const [px, py] = [left + (tile.columns[0] - seen.column) * seen.scale, top + (tile.rows[0] - seen.row) * seen.scale];
        context.clearRect(px, py, (tile.columns[1] - tile.columns[0]) * seen.scale, (tile.rows[1] - tile.rows[0]) * seen.scale);
        context.drawImage(imageOf(one), px, py, tile.width * tile.columnStep * seen.scale, tile.height * tile.rowStep * seen.scale);
      }
    }
  };
  const drawDigits = (context: CanvasRenderingContext2D) => {
    context.font = "11px ui-monospace, monospace";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = `rgb(${colour("text").join(" ")})`;
    for (let r = Math.floor(seen.row); r < Math.min(options.rows, seen.row + (frame.height - top) / seen.scale); ++r) {
      for (let c = Math.max(firstColumn(), Math.floor(seen.column)); c < Math.min(options.columns, seen.column + (frame.width - left) / seen.scale); ++c) {
        const known = valueAt(r, c);
        if (known?.exact && Number.isFinite(known.value)) context.fillText(digitsOf(known.value), left + (c - seen.column + 0.5) * seen.scale, top + (r - seen.row + 0.5) * seen.scale);
      }
    }
  };
  const drawMarks = (context: CanvasRenderingContext2D) => {
    const [x, y] = [left + (cursor.column - seen.column) * seen.scale, top + (cursor.row - seen.row) * seen.scale];
    context.strokeStyle = `rgb(${colour("text").join(" ")})`;
    context.lineWidth = 1.5;
    if (document.activeElement === grid || selection.size > 0) context.strokeRect(x - 1, y - 1, Math.max(4, seen.scale) + 1, Math.max(4, seen.scale) + 1);
    context.fillStyle = `rgb(${colour("beam").join(" ")} / .18)`;
    for (const row of selection) context.fillRect(left, top + (row - seen.row) * seen.scale, frame.width, Math.max(2, seen.scale));
  };
  const drawWords = (context: CanvasRenderingContext2D) => {
    const every = Math.max(1, Math.ceil(11 / seen.scale));
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = `rgb(${colour("soft").join(" ")})`;
    context.textBaseline = "middle";
    for (let r = Math.ceil(seen.row / every) * every; r < options.rows; r += every) {
      const y = top + (r - seen.row + 0.5) * seen.scale;
      if (y > frame.height) break;
      context.textAlign = "right";
      context.fillText(clipped(options.rowLabels[r] ?? String(r), 13), left - 5, y);
    }
    for (let c = Math.ceil(seen.column / every) * every; c < options.columns; c += every) {
      const x = left + (c - seen.column + 0.5) * seen.scale;
      if (x > frame.width) break;
      context.save();
      context.translate(x, top - 5);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(clipped(options.columnLabels[c] ?? String(c), 11), 0, 0);
      context.restore();
    }
  };

  const valueAt = (row: number, column: number): { value: number; exact: boolean } | undefined => {
    for (let step = stepNow(); step <= options.rows + options.columns; step *= 2) {
      const size = tileCells * step;
      const found = cache.get(keyOf(step, Math.floor(row / size), Math.floor((column - firstColumn()) / size)));
      if (!found || found === "coming") continue;
      const { tile } = found;
      const at = Math.floor((row - tile.rows[0]) / tile.rowStep) * tile.width + Math.floor((column - tile.columns[0]) / tile.columnStep);
      return { value: tile.max[at] as number, exact: tile.rowStep === 1 && tile.columnStep === 1 };
    }
    return undefined;
  };
  const tell = (row: number, column: number) => {
    const known = valueAt(row, column);
    const words = [`[${row},${column}]`, [options.rowLabels[row], options.columnLabels[column]].filter((one) => one !== undefined).join(" → ")].join("  ");
    fill(readout, words, "  ", known && (known.exact ? number(known.value) : ["≤ ", number(known.value, short)]));
    fill(reader, words, "  ", known && number(known.value));
    setAttribute(reader, "aria-rowindex", row + 1);
    setAttribute(reader, "aria-colindex", column + 1);
    options.point?.(row, column);
  };
  const cellUnder = (event: MouseEvent): [number, number] | undefined => {
    const box = canvas.getBoundingClientRect();
    const [column, row] = [Math.floor(seen.column + (event.clientX - box.left - left) / seen.scale), Math.floor(seen.row + (event.clientY - box.top - top) / seen.scale)];
    return row >= 0 && column >= 0 && row < options.rows && column < options.columns ? [row, column] : undefined;
  };
  const zoom = (factor: number, at?: { x: number; y: number }) => {
    const middle = at ?? { x: (frame.width - left) / 2, y: (frame.height - top) / 2 };
    const [column, row] = [seen.column + middle.x / seen.scale, seen.row + middle.y / seen.scale];
    seen.scale = Math.max(fitScale(), Math.min(mostScale, seen.scale * factor));
    [seen.column, seen.row] = [column - middle.x / seen.scale, row - middle.y / seen.scale];
    draw();
  };

  let drag: { x: number; y: number; row: number; column: number; moved: boolean } | undefined;
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, row: seen.row, column: seen.column, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4) drag.moved = true;
    if (drag?.moved) {
      [seen.column, seen.row] = [drag.column - (event.clientX - drag.x) / seen.scale, drag.row - (event.clientY - drag.y) / seen.scale];
      draw();
      return;
    }
    const at = cellUnder(event);
    if (at) tell(...at);
  });
  canvas.addEventListener("pointerup", (event) => {
    const at = !drag?.moved && cellUnder(event);
    drag = undefined;
    if (!at) return;
    [cursor.row, cursor.column] = at;
    options.pick?.(...at);
    draw();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 200), { x: event.clientX - box.left - left, y: event.clientY - box.top - top });
  }, { passive: false });
  grid.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step) {
      cursor.row = Math.max(0, Math.min(options.rows - 1, cursor.row + (step[0] as number)));
      cursor.column = Math.max(0, Math.min(options.columns - 1, cursor.column + (step[1] as number)));
      const [wide, high] = [(frame.width - left) / seen.scale, (frame.height - top) / seen.scale];
      seen.row = Math.min(cursor.row, Math.max(seen.row, cursor.row + 1 - high));
      seen.column = Math.min(cursor.column, Math.max(seen.column, cursor.column + 1 - wide));
      tell(cursor.row, cursor.column);
      draw();
    } else if (event.key === "+" || event.key === "=") zoom(1.6);
    else if (event.key === "-") zoom(1 / 1.6);
    else if (event.key === "0") { fit(); draw(); }
    else if (event.key === "Enter" || event.key === " ") options.pick?.(cursor.row, cursor.column);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  grid.addEventListener("focus", draw);
  grid.addEventListener("blur", draw);

  const made = element("div", { class: "tile-map" },
    element("div", { class: "tile-tools" }, button("−", { class: "round", "aria-label": text("studio.zoom_out"), title: text("studio.zoom_out"), click: () => zoom(1 / 1.6) }),
      button("+", { class: "round", "aria-label": text("studio.zoom_in"), title: text("studio.zoom_in"), click: () => zoom(1.6) }),
      button("⤢", { class: "round", "aria-label": text("studio.zoom_all"), title: text("studio.zoom_all"), click: () => { fit(); draw(); } })),
    grid, readout);
  new ResizeObserver(resize).observe(made);
  new MutationObserver(() => { for (const one of cache.values()) if (one !== "coming") one.image = undefined; draw(); }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return {
    element: made,
    setShading(chosen) { shading = chosen; for (const one of cache.values()) if (one !== "coming") one.image = undefined; draw(); },
    setSelection(rows) { selection = rows; draw(); },
  };
}
let readers = 0;
// Two decimals have room; a weight of nothing is a dot.
function digitsOf(value: number): string { return Math.abs(value) < 0.005 ? "·" : decimals(value, 2); }

// One matrix of a tensor, of the head with this index.
export function tileMap(tensor: Tensor, head?: number): HTMLElement {
  const view = matrixOf(tensor, { head });
  const column = tensor.axes[tensor.axes.length - 1];
  const columns = view.words ? (tensor.shape[tensor.shape.length - 1] as number) : view.columns;
  const labels = run().labels(column, tensor);
  const indexOf = (r: number, c: number) => { const index = view.index(r, 0); index[index.length - 1] = c; return index; };
  return tiles({
    rows: view.rows, columns, rowLabels: view.rowLabels, columnLabels: view.words ? labels : view.columnLabels ?? [], label: titleOf(tensor), ink: inkOf(tensor), largest: tensor.attention ? 1 : undefined,
    tile: (rows, cols, most) => source.tile({ name: tensor.same_as ?? tensor.name, head: head === undefined ? undefined : headNumber(tensor, head), rows, columns: cols, most }),
    pick: (r, c) => askWhy({ name: tensor.name, index: indexOf(r, c) }, { from: document.activeElement }),
  }).element;
}

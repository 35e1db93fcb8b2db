// Two measures against each other: a point for each head.
import { number, prose } from "../texts/numbers";
import { drawing, told, type Child, type Words } from "./element";
import { kindOfHead } from "./head_grid";

export interface ScatterPoint { head: string; x: number; y: number }
export interface Scatter {
  points: ScatterPoint[];
  x: Words;
  y: Words;
  isLogarithmic: boolean;
  chosen: string;
  choose(head: string): void;
  preview(head: string | undefined): void;
}

// From numbers to places: what a logarithm cannot have lies in a strip of its own at the beginning.
export interface Axis { at(value: number): number; ticks: { at: number; label: Words }[]; strip: number }
const decade = (value: number) => Math.floor(Math.log10(value) + 1e-9);
export function axisOf(values: number[], isLogarithmic: boolean, from: number, to: number): Axis {
  const finite = values.filter(Number.isFinite);
  const positive = finite.filter((value) => value > 0);
  const side = Math.sign(to - from);
  if (isLogarithmic && positive.length > 0) {
    const hasRest = positive.length < finite.length;
    const begin = from + (hasRest ? 26 * side : 0);
    const [low, high] = [Math.log10(Math.min(...positive)), Math.log10(Math.max(...positive))];
    const [first, last] = [low - 0.08 * (high - low || 1), high + 0.08 * (high - low || 1)];
    const place = (logarithm: number) => begin + ((to - begin) * (logarithm - first)) / (last - first);
    const [least, most] = [Math.ceil(first), Math.floor(last)];
    const step = Math.max(1, Math.ceil((most - least + 1) / 6));
    // Where there are few powers of ten, their doubles and halves too.
    const parts = last - first < 2.2 ? [1, 2, 5] : [1];
    const ticks = Array.from({ length: Math.max(0, Math.floor((most - least) / step) + 2) }, (_, i) => least + (i - 1) * step).flatMap((power) => parts.map((part) => part * 10 ** power))
      .filter((value) => Math.log10(value) >= first && Math.log10(value) <= last).map((value) => ({ at: place(Math.log10(value)), label: number(value, (x) => prose(x, 1)) }));
    return { at: (value) => (value > 0 ? place(Math.log10(value)) : from + 12 * side), ticks: hasRest ? [{ at: from + 12 * side, label: "≤ 0" }, ...ticks] : ticks, strip: begin };
  }
  const [low, high] = [Math.min(0, ...finite), Math.max(0, ...finite)];
  const room = 0.05 * (high - low || 1);
  const place = (value: number) => from + ((to - from) * (value - low + room)) / (high - low + 2 * room);
  const unit = 10 ** decade(high - low || 1);
  const step = [0.1, 0.2, 0.5, 1, 2].map((part) => part * unit).find((one) => (high - low) / one <= 5) ?? unit;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) ticks.push({ at: place(i * step), label: number(i * step, (x) => prose(x, 2)) });
  return { at: place, ticks, strip: from };
}

const [width, height, left, right, top, bottom] = [520, 380, 74, 14, 14, 46];

export function scatterDrawing(scatter: Scatter): SVGSVGElement {
  const { points, isLogarithmic } = scatter;
  const x = axisOf(points.map((one) => one.x), isLogarithmic, left, width - right);
  const y = axisOf(points.map((one) => one.y), isLogarithmic, height - bottom, top);
  const name = drawing("text", { class: "point-name", "aria-hidden": "true" });
  const places = new Map(points.map((one) => [one.head, [x.at(one.x), y.at(one.y)] as const]));
  const tell = (head: string | undefined) => {
    const at = places.get(head ?? scatter.chosen);
    name.textContent = at ? (head ?? scatter.chosen) : "";
    if (at) for (const [key, value] of [["x", at[0] + (at[0] > width / 2 ? -9 : 9)], ["y", Math.max(top + 10, at[1] - 8)], ["text-anchor", at[0] > width / 2 ? "end" : "start"]] as const) name.setAttribute(key, String(value));
    scatter.preview(head);
  };
  const focused = places.has(scatter.chosen) ? scatter.chosen : points[0]?.head;
  const made = drawing("svg", { class: "scatter", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": told(() => `${scatter.x} × ${scatter.y}`), pointerleave: () => tell(undefined) },
    isLogarithmic && x.strip !== left && drawing("rect", { class: "at-most-zero", x: left, y: top, width: x.strip - left, height: height - bottom - top }),
    isLogarithmic && y.strip !== height - bottom && drawing("rect", { class: "at-most-zero", x: left, y: y.strip, width: width - right - left, height: height - bottom - y.strip }),
    axes(x, y, scatter),
    points.map((one) => point(one, places.get(one.head) as readonly [number, number], scatter, one.head === focused, tell)), name);
  made.addEventListener("keydown", (event) => pressed(made, scatter, event));
  tell(undefined);
  return made;
}
function axes(x: Axis, y: Axis, scatter: Scatter): Child {
  return drawing("g", { class: "axes", "aria-hidden": "true" },
    x.ticks.map(({ at, label }) => [drawing("line", { x1: at, x2: at, y1: top, y2: height - bottom }), drawing("text", { x: at, y: height - bottom + 15, "text-anchor": "middle" }, label)]),
    y.ticks.map(({ at, label }) => [drawing("line", { x1: left, x2: width - right, y1: at, y2: at }), drawing("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, label)]),
    drawing("text", { class: "axis-name", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, scatter.x),
    drawing("text", { class: "axis-name", x: 0, y: 0, transform: `translate(13 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, scatter.y));
}
// Kinds of attention differ in colour and in shape.
function point(one: ScatterPoint, [x, y]: readonly [number, number], scatter: Scatter, isFocused: boolean, tell: (head: string | undefined) => void): SVGElement {
  const kind = kindOfHead(one.head);
  const shapes: Record<string, string> = { encoder: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0", decoder: "M-4.6-4.6h9.2v9.2h-9.2z", cross: "M0-6.4L6.4 0L0 6.4L-6.4 0z" };
  return drawing("path", { class: `head-point kind-${kind}`, d: shapes[kind] ?? (shapes.decoder as string), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, role: "button", "data-head": one.head, "aria-pressed": String(one.head === scatter.chosen), tabindex: isFocused ? "0" : "-1",
    "aria-label": told(() => `${one.head}: ${scatter.x} ${prose(one.x, 3)}, ${scatter.y} ${prose(one.y, 3)}`),
    click: () => scatter.choose(one.head), pointerenter: () => tell(one.head), focus: () => tell(one.head), blur: () => tell(undefined) });
}
// Arrows lead to the next point to the side, or above and below.
function pressed(made: SVGElement, scatter: Scatter, event: KeyboardEvent): void {
  const at = (event.target as SVGElement).dataset.head ?? "";
  const along = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowDown: ["y", -1], ArrowUp: ["y", 1] }[event.key] as ["x" | "y", 1 | -1] | undefined;
  if (event.key === "Enter" || event.key === " ") scatter.choose(at);
  else if (along) {
    const order = [...scatter.points].sort((a, b) => a[along[0]] - b[along[0]]).map((one) => one.head);
    const next = made.querySelector<SVGElement>(`[data-head="${CSS.escape(order[order.indexOf(at) + along[1]] ?? "")}"]`);
    if (next) {
      for (const one of made.querySelectorAll("[data-head]")) one.setAttribute("tabindex", one === next ? "0" : "-1");
      next.focus();
    }
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

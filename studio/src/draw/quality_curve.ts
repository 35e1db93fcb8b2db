// Quality by how many heads are left: a line for each order of removal, and a band of random ones.
import type { CurveResult } from "../api/head_jobs";
import { drawing, told, type Words } from "./element";
import { number, prose } from "../texts/numbers";
import { axisOf } from "./scatter";

export type Curve = CurveResult["curves"][number];
export interface QualityCurve { curves: Curve[]; heads: number; kept: number; x: Words; y: Words; names: Record<string, Words>; choose(kept: number): void }

const [width, height, left, right, top, bottom] = [620, 300, 64, 16, 12, 44];

export function qualityDrawing({ curves, heads, kept, x: nameOfX, y: nameOfY, names, choose }: QualityCurve): { element: SVGSVGElement; mark(kept: number): void } {
  const values = curves.flatMap((curve) => curve.points.flatMap((point) => [point.quality, point.low ?? point.quality, point.high ?? point.quality]));
  const y = axisOf(values, false, height - bottom, top);
  const x = (left_: number) => left + ((width - left - right) * left_) / heads;
  const place = (curve: Curve, value: (point: Curve["points"][number]) => number) => curve.points.map((point) => `${x(heads - point.heads).toFixed(1)} ${y.at(value(point)).toFixed(1)}`);
  const band = curves.find((curve) => curve.method === "random");
  const marker = drawing("line", { class: "kept", y1: top, y2: height - bottom });
  const mark = (now: number) => { for (const name of ["x1", "x2"]) marker.setAttribute(name, x(now).toFixed(1)); };
  mark(kept);
  const step = Math.max(1, Math.ceil(heads / 8));
  const ticks = Array.from({ length: Math.floor(heads / step) + 1 }, (_, i) => heads - i * step).filter((one) => one >= 0);
  const made: SVGSVGElement = drawing("svg", { class: "quality", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told(() => `${nameOfY}, ${nameOfX}: ${Object.values(names).join(", ")}`),
    click: (event: MouseEvent) => {
      const box = made.getBoundingClientRect();
      choose(Math.max(1, Math.min(heads, Math.round((heads * (((event.clientX - box.left) / box.width) * width - left)) / (width - left - right)))));
    } },
    drawing("g", { class: "axes" }, ticks.map((one) => [drawing("line", { x1: x(one), x2: x(one), y1: top, y2: height - bottom }), drawing("text", { x: x(one), y: height - bottom + 15, "text-anchor": "middle" }, number(one, prose))]),
      y.ticks.map(({ at, label }) => [drawing("line", { x1: left, x2: width - right, y1: at, y2: at }), drawing("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, label)]),
      drawing("text", { class: "axis-name", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, nameOfX), drawing("text", { class: "axis-name", transform: `translate(13 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, nameOfY)),
    band && drawing("path", { class: "band", d: `M${[...place(band, (point) => point.high ?? point.quality), ...place(band, (point) => point.low ?? point.quality).reverse()].join("L")}Z` }),
    curves.map((curve) => drawing("path", { class: `line method-${curve.method}`, d: `M${place(curve, (point) => point.quality).join("L")}` })),
    curves.filter((curve) => curve.method !== "random").map((curve) => curve.points.map((point) => drawing("circle", { class: `dot-of method-${curve.method}`, cx: x(heads - point.heads).toFixed(1), cy: y.at(point.quality).toFixed(1), r: 3 },
      drawing("title", {}, told(() => `${names[curve.method]}, ${heads - point.heads}: ${prose(point.quality, 3)}`))))),
    marker);
  return { element: made, mark };
}

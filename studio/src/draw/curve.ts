// A curve of numbers by step, such as the loss while a model learns.
import { number, short } from "../texts/numbers";
import { text } from "../texts/words";
import { drawing, lastOf, type Words } from "./element";

export interface Curve { values: number[]; label: Words; marks?: { at: number; label: Words }[] }

export function curveDrawing({ values, label, marks = [] }: Curve): SVGSVGElement {
  const [width, height, left, bottom] = [560, 150, 44, 18];
  const most = Math.max(...values);
  const x = (i: number) => left + ((width - left - 6) * i) / Math.max(1, values.length - 1);
  const y = (value: number) => 8 + (height - bottom - 8) * (1 - value / most);
  const path = values.map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  return drawing("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    drawing("line", { x1: left, x2: width - 6, y1: y(0), y2: y(0) }), drawing("path", { d: path }),
    marks.map((mark) => [drawing("line", { class: "mark", x1: x(mark.at), x2: x(mark.at), y1: 8, y2: y(0) }), drawing("text", { x: x(mark.at) + 4, y: 16 }, mark.label)]),
    drawing("text", { x: left - 6, y: 14, "text-anchor": "end" }, number(most, short)), drawing("text", { x: left - 6, y: y(0), "text-anchor": "end" }, "0"),
    drawing("text", { x: width - 6, y: height - 3, "text-anchor": "end" }, text("term.training"), `: ${values.length - 1}`),
    drawing("text", { x: width - 6, y: y(lastOf(values)) - 6, "text-anchor": "end" }, label, " ", number(lastOf(values), short)));
}

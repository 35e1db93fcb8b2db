// Attention as lines from the tokens that look, on the left, to those they look at.
import { number, percent, short } from "../texts/numbers";
import { drawing, type Words } from "./element";
import { clipped } from "./matrix";

export interface LineDrawing {
  from: string[];
  to: string[];
  edges: [i: number, j: number, share: number][];
  label: Words;
  weight?(i: number, j: number): number;  // of any pair, for the numbers of the row under the pointer; absent: those of the edges
  chosen?: Set<number>;                   // rows that stay lit
  choose?(row: number): void;
}

export function lineDrawing({ from, to, edges, label, weight, chosen, choose }: LineDrawing): SVGSVGElement {
  const [left, right, width, line] = [92, 178, 292, 21];
  const height = Math.max(from.length, to.length) * line + 6;
  const y = (i: number) => i * line + 15;
  const made = drawing("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: choose ? "group" : "img", "aria-label": label });
  const shares = to.map((_, j) => drawing("text", { class: "share", x: width - 2, y: y(j), "text-anchor": "end" }));
  for (const [i, j, share] of edges) {
    made.append(drawing("path", { "data-i": i, d: `M${left} ${y(i) - 4} C${left + 36} ${y(i) - 4} ${right - 36} ${y(j) - 4} ${right} ${y(j) - 4}`,
      "stroke-width": (0.6 + 4.4 * share).toFixed(2), "stroke-opacity": (0.08 + 0.8 * share).toFixed(3) }, drawing("title", {}, `${from[i]} → ${to[j]}: `, number(share, short))));
  }
  const weightOf = weight ?? ((i: number, j: number) => edges.find((edge) => edge[0] === i && edge[1] === j)?.[2] ?? 0);
  const show = (rows: Set<number>) => {
    made.classList.toggle("on", rows.size > 0);
    for (const path of made.querySelectorAll<SVGElement>("path, text.from")) path.classList.toggle("on", rows.has(Number(path.dataset.i)));
    shares.forEach((share, j) => {
      const sum = [...rows].reduce((all, i) => all + weightOf(i, j), 0) / Math.max(1, rows.size);
      share.textContent = rows.size > 0 && sum >= 0.005 ? String(percent(sum)) : "";
    });
  };
  const rest = () => show(chosen ?? new Set());
  from.forEach((word, i) => made.append(drawing("text", { class: "from", "data-i": i, x: left - 6, y: y(i), "text-anchor": "end", tabindex: "0", ...(choose && { role: "button", "aria-pressed": String(chosen?.has(i) ?? false) }),
    pointerenter: () => show(new Set([i])), pointerleave: rest, focus: () => show(new Set([i])), blur: rest, click: () => choose?.(i),
    keydown: (event: KeyboardEvent) => { if (choose && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); choose(i); } } }, clipped(word))));
  to.forEach((word, j) => made.append(drawing("text", { x: right + 6, y: y(j) }, clipped(word))));
  made.append(...shares);
  if (chosen && chosen.size > 0) rest();
  return made;
}

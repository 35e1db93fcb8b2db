// Two lines of words, and beams of light from each word to where it looks.
import { drawing, element } from "./element";

export function beams(from: HTMLElement[], to: HTMLElement[], weight: (row: number, column: number) => number): HTMLElement {
  const svg = drawing("svg", { "aria-hidden": "true" });
  const made = element("div", { class: "beams" }, svg, element("div", { class: "words" }, from), element("div", { class: "words" }, to));
  new ResizeObserver(() => drawBeams(made, svg, weight, from, to)).observe(made);
  return made;
}

function drawBeams(made: HTMLElement, svg: SVGSVGElement, weight: (row: number, column: number) => number, from: HTMLElement[], to: HTMLElement[]): void {
  const box = made.getBoundingClientRect();
  const middle = (one: HTMLElement, edge: "top" | "bottom"): [number, number] => { const b = one.getBoundingClientRect(); return [b.left + b.width / 2 - box.left, b[edge] - box.top]; };
  svg.replaceChildren();
  to.forEach((word, row) => from.forEach((source, column) => {
    const share = weight(row, column);
    if (share < 0.02) return;
    const [x1, y1] = middle(source, "bottom");
    const [x2, y2] = middle(word, "top");
    const bend = (y2 - y1) / 2;
    svg.append(drawing("path", { class: word.getAttribute("aria-pressed") === "true" ? "on" : "", d: `M${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`,
      "stroke-width": (0.8 + 7 * share).toFixed(2), "stroke-opacity": (0.12 + 0.75 * share).toFixed(2) }));
  }));
}

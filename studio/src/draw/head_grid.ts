// A number for every head, by layer and head: what is larger is inked more deeply; one head is chosen.
import { number } from "../texts/numbers";
import { text } from "../texts/words";
import { element, told, type Words } from "./element";

export interface HeadGrid {
  values: Map<string, number | null>;          // by the head's public name; null: there is no such number
  label: Words;
  ink: string;
  strength(value: number): number;             // 0 to 1
  write(value: number): string;
  chosen: string;
  choose(head: string): void;
  preview?(head: string | undefined): void;
}

export function splitHead(head: string): [place: string, number: number] {
  const dot = head.lastIndexOf(".");
  return [head.slice(0, dot), Number(head.slice(dot + 1))];
}
// "encoder", "decoder", or "cross".
export function kindOfHead(head: string): string { return /\.cross\./.test(head) ? "cross" : head.slice(0, head.indexOf(".")); }
function layerOf(place: string): number { return Number(/\.(\d+)\./.exec(place)?.[1] ?? 0); }

export function headGrids(grid: HeadGrid): HTMLElement {
  const heads = [...grid.values.keys()];
  const kinds = [...new Set(heads.map(kindOfHead))];
  const focused = grid.values.has(grid.chosen) ? grid.chosen : heads[0];
  const made = element("div", { class: `head-grids ink-${grid.ink}`, pointerleave: () => grid.preview?.(undefined) }, kinds.map((kind) => {
    const own = heads.filter((head) => kindOfHead(head) === kind);
    const places = [...new Set(own.map((head) => splitHead(head)[0]))].sort((a, b) => layerOf(a) - layerOf(b));
    const numbers = [...new Set(own.map((head) => splitHead(head)[1]))].sort((a, b) => a - b);
    return element("figure", { class: "head-grid" }, kinds.length > 1 && element("figcaption", {}, text(`studio.heads.kind.${kind}`)),
      element("div", { class: "scroll" }, element("div", { role: "grid", class: "head-cells", "aria-label": told(() => `${grid.label}${kinds.length > 1 ? `, ${text(`studio.heads.kind.${kind}`)}` : ""}`), style: { "--columns": String(numbers.length) } },
        places.map((place) => element("div", { role: "row", class: "head-row" }, element("span", { role: "rowheader", class: "map-label", title: place }, text("place.layer", { layer: layerOf(place) })),
          numbers.map((one) => cell(grid, `${place}.${one}`, focused)))))));
  }));
  made.addEventListener("keydown", (event) => pressed(made, grid, event));
  return made;
}
function cell(grid: HeadGrid, head: string, focused: string | undefined): HTMLElement {
  const value = grid.values.get(head);
  if (value === undefined) return element("span", { role: "gridcell", class: "head-cell gone" }, "");
  const isNumber = value !== null && Number.isFinite(value);
  return element("span", { role: "gridcell", class: `head-cell${isNumber && value < 0 ? " minus" : ""}`, "data-head": head, "data-value": isNumber ? value : undefined, title: head, tabindex: head === focused ? "0" : "-1", "aria-selected": String(head === grid.chosen),
    "aria-label": told(() => `${head}: ${isNumber ? grid.write(value) : "–"}`), style: { "--s": (isNumber ? Math.min(1, Math.max(0, grid.strength(value))) : 0).toFixed(3) },
    click: () => grid.choose(head), pointerenter: () => grid.preview?.(head), focus: () => grid.preview?.(head) }, isNumber ? number(value, grid.write) : "–");
}

const arrows: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
// Arrows lead from head to head; only one is a stop of the Tab key.
function pressed(made: HTMLElement, grid: HeadGrid, event: KeyboardEvent): void {
  const at = event.target as HTMLElement;
  const step = arrows[event.key];
  if (event.key === "Enter" || event.key === " ") grid.choose(at.dataset.head ?? "");
  else if (step) {
    const rows = [...made.querySelectorAll(".head-row")].map((row) => [...row.querySelectorAll<HTMLElement>(".head-cell")]);
    let r = rows.findIndex((row) => row.includes(at));
    let c = rows[r]?.indexOf(at) ?? 0;
    let next: HTMLElement | undefined;
    do {
      [r, c] = [r + step[0], c + step[1]];
      next = rows[r]?.[c];
    } while (next && next.dataset.head === undefined);
    if (next) {
      for (const one of made.querySelectorAll<HTMLElement>(".head-cell[data-head]")) one.tabIndex = one === next ? 0 : -1;
      next.focus();
    }
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
// Another head was chosen: cells and points that are drawn say so.
export function markHead(within: ParentNode, head: string): void {
  for (const one of within.querySelectorAll<HTMLElement | SVGElement>("[data-head]")) {
    const isChosen = one.dataset.head === head;
    const told = one.hasAttribute("aria-pressed") ? "aria-pressed" : "aria-selected";
    if (one.hasAttribute(told)) one.setAttribute(told, String(isChosen));
    one.setAttribute("tabindex", isChosen ? "0" : "-1");
  }
}

// All heads as switches: one that is off gives nothing.
import { button, element, type Child } from "../../draw/element";
import { text } from "../../texts/words";
import { run } from "../../trace/document";
import { placeOf } from "../../trace/run";
import { placeTitle } from "../head_parts";
import { chosen, headNames } from "./writing";

const arrows: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export function headSwitches(changed: () => void): Child {
  const places = run().attentions().map((tensor) => placeOf(tensor.name));
  const made = element("div", { class: "head-switches", role: "group", "aria-label": text("studio.next_word.heads") },
    places.map((place) => element("div", { class: "switch-row" }, element("span", { class: "map-label", title: place }, placeTitle(place)),
      element("span", { class: "switches" }, headNames(place).map((name) => headSwitch(name, place, () => { show(); changed(); }))))));
  const all = button(text("studio.next_word.all_on"), { class: "plain", click: () => { chosen.off = []; show(); changed(); } });
  const show = () => {
    for (const one of made.querySelectorAll<HTMLElement>("[role=switch]")) one.setAttribute("aria-checked", String(!chosen.off.includes(one.dataset.head ?? "")));
    all.disabled = chosen.off.length === 0;
  };
  made.addEventListener("keydown", (event) => moveIn(made, event));
  const first = made.querySelector<HTMLElement>("[role=switch]");
  if (first) first.tabIndex = 0;
  show();
  return [made, all];
}

function headSwitch(name: string, place: string, changed: () => void): HTMLElement {
  return button(name.slice(place.length + 1), { class: "head-switch", role: "switch", "data-head": name, title: name, "aria-label": name, tabindex: "-1", click: () => {
    chosen.off = chosen.off.includes(name) ? chosen.off.filter((one) => one !== name) : [...chosen.off, name];
    changed();
  } });
}
// Arrows lead from head to head; only one is a stop of the Tab key.
function moveIn(made: HTMLElement, event: KeyboardEvent): void {
  const step = arrows[event.key];
  if (!step) return;
  const rows = [...made.querySelectorAll(".switch-row")].map((row) => [...row.querySelectorAll<HTMLElement>("[role=switch]")]);
  const r = rows.findIndex((row) => row.includes(event.target as HTMLElement));
  const row = rows[Math.max(0, Math.min(rows.length - 1, r + step[0]))];
  const next = row?.[Math.max(0, Math.min(row.length - 1, (rows[r]?.indexOf(event.target as HTMLElement) ?? 0) + step[1]))];
  if (!next) return;
  for (const one of rows.flat()) one.tabIndex = one === next ? 0 : -1;
  next.focus();
  event.preventDefault();
  event.stopPropagation();
}

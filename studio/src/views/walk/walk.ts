// The walk: from the sentence to the prediction and back to a weight, step by step, as cards.
import { source } from "../../api/source";
import { element, fill, type Child } from "../../draw/element";
import { cellAt, focusCell, leftOut, shownMatrices } from "../../draw/matrix";
import { moveCard, type SideEntry } from "../../page/side";
import { has, text } from "../../texts/words";
import { data, run } from "../../trace/document";
import { load, mostLoaded } from "../../trace/loading";
import { shownFirst } from "../../trace/heads";
import { elementsOf, placeOf } from "../../trace/run";
import type { Tensor } from "../../api/types";
import { drawnAsLines, firstShownText, headFigure, linesOrMaps, placeTitle, withoutLayer } from "../head_parts";
import type { View } from "../view";
import { askAt, drawer, firstCellSeen, goTo } from "../why";
import { card } from "./cards";
import { opening } from "./opening";

export const walkView: View = {
  name: "walk",
  needs: "run",
  show(holder) {
    const draw = () => fill(holder, opening(), data.steps.map(({ number, heads }) => [card(number), heads && headsCard()]),
      element("footer", {}, text(source.isServer ? "studio.made_by" : "page.made_by"), " ", element("code", {}, data.version)));
    draw();
    if (source.isServer) fetchOpening(holder);
  },
  headChanged: redrawPlace,
  moveStep: moveCard,
  moveLayer,
};

export function walkEntries(): SideEntry[] {
  return data.steps.flatMap(({ name, number, heads }): SideEntry[] => [[`step-${number}`, String(number), text(`step.${name}.title`)], ...(heads ? [["heads", "·", text("heads.title")] as SideEntry] : [])]);
}

// Of a large run, what the first picture shows.
function fetchOpening(holder: HTMLElement): void {
  const shown = run();
  const first = shownFirst()?.place;
  const tensor = first === undefined ? undefined : shown.attentionAt(first);
  if (!tensor || tensor.values || elementsOf(tensor) > mostLoaded) return;
  load(tensor).then(() => { if (run() === shown) holder.querySelector("#opening")?.fill?.(); }, () => undefined);
}

function headsCard(): Child {
  const attentions = run().attentions();
  if (attentions.length === 0) return undefined;
  const made = element("section", { class: "card", id: "heads", tabindex: "-1" });
  const redrawHeads = () => fill(made,
    element("h2", {}, text("heads.title")), element("p", { class: "text" }, text(attentions.some(drawnAsLines) ? "heads.lines" : "heads.text")), firstShownText(),
    element("dl", { class: "rules" }, ["share", "entropy", "distance"].map((key) => [element("dt", {}, text(`label.${key}`)), element("dd", {}, text(`heads.${key}`))])),
    element("div", { class: "picks" }, linesOrMaps(redrawHeads)),
    attentions.map((tensor) => element("div", { class: "place", "data-heads": placeOf(tensor.name) }, headsOf(tensor))));
  redrawHeads();
  return made;
}
function headsOf(tensor: Tensor): Child {
  const place = placeOf(tensor.name);
  const heads = Array.from({ length: tensor.shape[1] as number }, (_, head) => head);
  return [element("h3", {}, placeTitle(place)), has(`place.${withoutLayer(place)}.text`) && element("p", { class: "note" }, text(`place.${withoutLayer(place)}.text`)),
    tensor.values || source.isServer ? element("div", { class: "heads" }, heads.map((head) => headFigure(tensor, place, head))) : leftOut(tensor)];
}

// What shows one attention, when another head or query of it is chosen. A choice that has the focus keeps it.
function redrawPlace(place: string): void {
  const choice = document.activeElement?.closest(".choice")?.getAttribute("aria-label");
  const holder = choice ? document.activeElement?.closest("details, section") : undefined;
  const name = CSS.escape(place);
  for (const group of document.querySelectorAll(`details[data-place="${name}"], [data-variants="${name}"], details[data-place="gradients"]`)) group.fill?.();
  const heads = document.querySelector(`[data-heads="${name}"]`);
  const tensor = run().attentionAt(place);
  if (heads && tensor) fill(heads, headsOf(tensor));
  if (shownFirst()?.place === place) document.getElementById("opening")?.fill?.();
  if (choice) holder?.querySelector<HTMLElement>(`.choice[aria-label="${CSS.escape(choice)}"] [aria-pressed="true"]`)?.focus({ preventScroll: true });
}

// The same tensor of the layer before or after: of the matrix that has the focus, or of the first that is seen.
function moveLayer(step: 1 | -1): void {
  const at = cellAt(document.activeElement) ?? firstCellSeen();
  if (!at) return;
  const { name } = at.view.tensor;
  const other = name.replace(/^(\w+)\.(\d+)\./, (_, side, layer) => `${side}.${Number(layer) + step}.`);
  if (other === name || !run().find(other)) return;
  const found = goTo(other, "instant");
  const view = found && shownMatrices.get(found);
  if (!view) return;
  const cell = { made: found, view, r: Math.min(at.r, view.rows - 1), c: Math.min(at.c, view.columns - 1) };
  focusCell(cell);
  if (!drawer.hidden) askAt(cell);
}

// The map of all heads: a thumbnail of what each looks at, by layer and head; one is looked at closely.
import { source, type HeadsAnswer, type MappedHead, type Place } from "../api/source";
import { alphaOf, colour } from "../draw/colour";
import { button, choice, element, fill, type Child } from "../draw/element";
import { shadingOf, tiles, usualShading, type Shading } from "../draw/tiles";
import { waitingFor } from "../draw/waiting";
import { choosePanel, remember } from "../page/page";
import { markHere } from "../page/side";
import { state } from "../state/state";
import { number, percent, prose } from "../texts/numbers";
import { text } from "../texts/words";
import { data, run } from "../trace/document";
import { chosenHead, setHead } from "../trace/heads";
import { floatsOf } from "../trace/run";
import { measures, placeTitle, roleBadge } from "./head_parts";
import type { View } from "./view";

let map: { of: string; told: HeadsAnswer } | undefined;
let chosenShading: Shading | undefined;  // absent: by the number of tokens
let shading: Shading = "linear";
let kind = "all";
let isMeasured = false;     // also what takes longer: induction, duplicates, importance
let mostImportance = 1;

export const headsMap: View = {
  name: "heads",
  needs: "run",
  show(holder) {
    fill(holder, element("section", { class: "card", id: "heads-map" }, element("h1", { class: "panel-title" }, text("studio.panel.heads")), element("p", { class: "text" }, text("studio.heads.text")), body()));
    markHere();
  },
  headChanged() { choose(chosenHead(), false); },
  moveHead: (step) => move(0, step),
  moveLayer: (step) => move(step, 0),
  remember(chosen) { if (chosenShading) chosen.set("shading", chosenShading); if (kind !== "all") chosen.set("kind", kind); if (isMeasured) chosen.set("measured", "1"); },
  recall(chosen) {
    chosenShading = shadingOf(chosen.get("shading"));
    kind = chosen.get("kind") ?? "all";
    isMeasured = chosen.get("measured") === "1";
  },
};

function keyOfRun(): string { return `${data.id ?? ""} ${state.run} ${data.source} ${isMeasured}`; }
function body(): Child {
  if (map?.of === keyOfRun()) return drawn(map.told);
  const of = keyOfRun();
  const canMeasure = isMeasured && run().targets.some((id) => id >= 0);
  return waitingFor(async () => {
    const told = await source.heads({ size: 24, behaviour: isMeasured, importance: canMeasure });
    mostImportance = Math.max(1e-12, ...told.heads.map((one) => one.importance ?? 0));
    map = { of, told };
  }, () => (map ? drawn(map.told) : undefined), 20);
}

function drawn(told: HeadsAnswer): Child {
  const kinds = [...new Set(told.places.map((place) => kindOf(place)))];
  if (!kinds.includes(kind)) kind = "all";
  shading = chosenShading ?? usualShading(Math.max(0, ...told.places.map((place) => place.keys)));
  const redraw = () => headsMap.show(document.getElementById("walk") as HTMLElement);
  return [
    element("div", { class: "picks" },
      kinds.length > 1 && choice(text("studio.heads.which"), ["all", ...kinds].map((value) => ({ label: text(`studio.heads.kind.${value}`), value })), kind, (value) => { kind = value; redraw(); remember(); }),
      choice(text("studio.heads.shading"), (["linear", "logarithmic", "without_first"] as const).map((value) => ({ label: text(`studio.heads.shading.${value}`), value })), shading, (value) => { chosenShading = value; redraw(); remember(); }),
      source.isServer && !isMeasured && button(text("studio.heads.measure"), { class: "plain", click: () => { isMeasured = true; redraw(); remember(); } })),
    sinkNote(told),
    element("div", { class: "map-and-head" },
      element("div", { class: "maps" }, mapsOf(told).map(([name, places]) => mapGrid(told, name, places))),
      element("aside", { class: "map-head", id: "map-head", "aria-live": "polite" }, headDetail(told.heads.find((one) => one.name === chosenHead()) ?? told.heads[0]))),
  ];
}

// "encoder", "decoder", or "cross".
function kindOf(place: Place): string { return place.kind === "cross" ? "cross" : place.stack; }
function mapsOf(told: HeadsAnswer): [string, Place[]][] {
  const kinds = [...new Set(told.places.map(kindOf))].filter((one) => kind === "all" || one === kind);
  return kinds.map((one) => [one, told.places.filter((place) => kindOf(place) === one)]);
}

// Why so many heads look at the first token.
function sinkNote(told: HeadsAnswer): Child {
  if (told.sink.heads === 0) return undefined;
  return element("details", { class: "sink" }, element("summary", {}, text("studio.heads.sink", { heads: told.sink.heads, share: percent(told.sink.share) })), element("p", { class: "note" }, text("studio.heads.sink_text")));
}

function mapGrid(told: HeadsAnswer, name: string, places: Place[]): HTMLElement {
  const columns = Math.max(...places.map((place) => place.heads));
  const chosen = chosenHead();
  return element("div", { class: "map-block" }, element("h3", {}, text(`studio.heads.kind.${name}`)),
    element("div", { class: "map-grid", role: "grid", "aria-label": text(`studio.heads.kind.${name}`), style: { "--columns": String(columns) } },
      places.map((place) => element("div", { role: "row", class: "map-row" }, element("span", { class: "map-label", role: "rowheader", title: place.name }, text("place.layer", { layer: place.layer })),
        told.heads.filter((one) => one.place === place.name).map((one) => thumbnail(one, one.name === chosen))))));
}

function thumbnail(head: MappedHead, isChosen: boolean): HTMLElement {
  const { rows, cols } = head.thumbnail;
  const canvas = element("canvas", { width: cols, height: rows, "aria-hidden": "true" });
  paintThumbnail(canvas, head);
  return element("div", { class: `thumb role-${head.role}`, role: "gridcell", tabindex: isChosen ? "0" : "-1", "data-head": head.name, "aria-selected": String(isChosen),
    "aria-label": text("studio.heads.one", { head: head.name, role: text(`role.${head.role}`), share: percent(head.measure) }), title: head.name,
    click: () => choose(head.name, true), pointerenter: () => preview(head), pointerleave: () => preview(undefined), focus: () => preview(head), blur: () => preview(undefined),
    keydown: (event: KeyboardEvent) => pressed(event, head) },
  canvas, element("span", { class: "thumb-foot" }, element("i", { class: "dot" }), String(head.head),
    element("i", { class: "gauge", title: text("label.entropy"), style: { "--s": String(Math.min(1, head.relative_entropy ?? head.entropy / Math.log(Math.max(2, head.thumbnail.cols * head.thumbnail.col_step)))) } }),
    head.importance !== null && element("i", { class: "gauge importance", title: text("studio.heads.importance"), style: { "--s": String(head.importance / mostImportance) } })));
}
function valuesOf(head: MappedHead): Float32Array {
  const { thumbnail } = head;
  if (typeof thumbnail.values === "string") thumbnail.values = floatsOf(thumbnail.values);
  return thumbnail.values;
}
function paintThumbnail(canvas: HTMLCanvasElement, head: MappedHead): void {
  const { rows, cols, col_step } = head.thumbnail;
  const values = valuesOf(head);
  const ink = colour("a");
  const pixels = new ImageData(cols, rows);
  // Without the first key the rest is seen; of pooled columns the first one goes.
  const isLeftOut = (i: number) => shading === "without_first" && i % cols === 0 && col_step >= 1;
  const largest = shading === "without_first" ? values.reduce((most, value, i) => (isLeftOut(i) ? most : Math.max(most, value)), 1e-9) : 1;
  values.forEach((value, i) => {
    if (!Number.isFinite(value) || isLeftOut(i)) return;
    pixels.data.set(ink, 4 * i);
    pixels.data[4 * i + 3] = alphaOf(shading === "logarithmic" ? Math.max(0, 1 + Math.log10(Math.max(value, 1e-9)) / 4) : value / largest);
  });
  canvas.getContext("2d")?.putImageData(pixels, 0, 0);
}

function preview(head: MappedHead | undefined): void {
  const holder = document.getElementById("map-head");
  const shown = head ?? map?.told.heads.find((one) => one.name === chosenHead());
  if (holder && shown && holder.dataset.head !== shown.name) fill(holder, headDetail(shown));
}
function choose(name: string, focus: boolean): void {
  if (!setHead(name)) return;
  for (const one of document.querySelectorAll<HTMLElement>(".thumb")) {
    const isChosen = one.dataset.head === name;
    one.setAttribute("aria-selected", String(isChosen));
    one.tabIndex = isChosen ? 0 : -1;
    if (isChosen && focus) one.focus({ preventScroll: true });
  }
  preview(undefined);
  markHere();
  remember();
}
function pressed(event: KeyboardEvent, head: MappedHead): void {
  const steps: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const step = steps[event.key];
  if (step) moveFocus(head, step[0], step[1]);
  else if (event.key === "Enter" || event.key === " ") choose(head.name, true);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
function rowsOfThumbs(): HTMLElement[][] { return [...document.querySelectorAll(".map-row")].map((row) => [...row.querySelectorAll<HTMLElement>(".thumb")]); }
function neighbour(name: string, down: number, right: number): HTMLElement | undefined {
  const rows = rowsOfThumbs();
  const r = rows.findIndex((row) => row.some((one) => one.dataset.head === name));
  const c = rows[r]?.findIndex((one) => one.dataset.head === name) ?? -1;
  const row = rows[Math.max(0, Math.min(rows.length - 1, r + down))];
  return row?.[Math.max(0, Math.min(row.length - 1, c + right))];
}
function moveFocus(head: MappedHead, down: number, right: number): void {
  const next = neighbour(head.name, down, right);
  if (!next) return;
  for (const one of document.querySelectorAll<HTMLElement>(".thumb")) one.tabIndex = one === next ? 0 : -1;
  next.focus();
}
function move(down: number, right: number): void {
  const name = neighbour(chosenHead(), down, right)?.dataset.head;
  if (name) choose(name, document.activeElement?.classList.contains("thumb") ?? false);
}

function headDetail(head: MappedHead | undefined): Child {
  if (!head) return undefined;
  const holder = document.getElementById("map-head");
  if (holder) holder.dataset.head = head.name;
  const tensor = run().attentionAt(head.place);
  if (!tensor) return undefined;
  const [, , rows = 1, columns = 1] = tensor.shape;
  const large = tiles({ rows, columns, rowLabels: run().labels(tensor.axes[2]), columnLabels: run().labels(tensor.axes[3]), label: head.name, ink: "a", largest: 1, shading,
    tile: (r, c, most) => source.tile({ name: tensor.name, head: head.head, rows: r, columns: c, most }),
    pick: (row) => { setHead(head.name); state.rows[head.place] = row; choosePanel("microscope"); } });
  return [
    element("h3", {}, element("code", {}, head.name)), element("p", { class: "where" }, placeTitle(head.place), " · ", text("place.head", { head: head.head })),
    element("p", { class: "badges" }, roleBadge(head), measures(head)),
    element("p", { class: "note" }, text(`role.${head.role}.text`)),
    element("dl", { class: "ingredients" }, element("dt", {}, text("studio.heads.first_share")), element("dd", {}, percent(head.first_share)),
      head.importance !== null && [element("dt", {}, text("studio.heads.importance")), element("dd", {}, number(head.importance, (x) => prose(x, 3)))]),
    large,
    button(text("studio.heads.open"), { class: "plain", click: () => { setHead(head.name); choosePanel("microscope"); } }),
  ];
}

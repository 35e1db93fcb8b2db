// What several panels show of heads: choices, badges, a head as lines or as a heat map.
import type { Head, Tensor } from "../api/types";
import { button, choice, element, type Child } from "../draw/element";
import { lineDrawing } from "../draw/lines";
import { canvas, clipped, leftOut } from "../draw/matrix";
import { tileMap } from "../draw/tiles";
import { titleOf } from "../draw/figure";
import { waitingFor } from "../draw/waiting";
import { chooseHead, headChanged, remember } from "../page/page";
import { state } from "../state/state";
import { number, percent, prose } from "../texts/numbers";
import { has, text, textByEnd } from "../texts/words";
import { canLoad, load, mostLoaded } from "../trace/loading";
import { run } from "../trace/document";
import { headAt, headNumber, measuredHead, rowAt, shownFirst } from "../trace/heads";
import { elementsOf, mostCells } from "../trace/run";
import { matrixOf } from "../trace/views";

const mostLineTokens = 32;

export function withoutLayer(place: string): string { return place.replace(/\.\d+/, ""); }
export function placeTitle(place: string): Child {
  const parts = place.split(".");
  if (place === "prediction") return text("step.prediction.title");
  return parts.flatMap((part, i): Child[] => [i > 0 && " · ", /^\d+$/.test(part) ? text("place.layer", { layer: part })
    : /^norm(_\d)?$/.test(part) ? text("place.norm") : has(`place.${part}`) ? text(`place.${part}`) : textByEnd("tensor.", part)]);
}

// The rule by which a head comes first.
export function firstShownText(): Child {
  const first = shownFirst();
  return first && element("p", { class: "note" }, text("heads.first_shown", { head: first.name, measure: number(first.selectivity, (x) => prose(x, 3)) }));
}

export function headPicks(place: string, attention: Tensor): HTMLElement {
  const heads = Array.from({ length: attention.shape[1] as number }, (_, head) => ({ label: text("place.head", { head: headNumber(attention, head) }), value: head }));
  return choice(text("term.head"), heads, headAt(place), (head) => chooseHead(place, head));
}
export function queryPicks(place: string, attention: Tensor): Child {
  const tokens = run().labels(attention.axes[2]);
  if (tokens.length === 0 || tokens.length > mostCells) return undefined;
  return element("span", {}, text("term.query"), " ", choice(text("term.query"), tokens.map((token, i) => ({ label: token, value: i })), rowAt(place),
    (row) => { state.rows[place] = row; headChanged(place); remember(); }));
}

export function drawnAsLines(tensor: Tensor): boolean { return state.lines && (tensor.shape[2] as number) <= mostLineTokens && (tensor.shape[3] as number) <= mostLineTokens; }
export function linesOrMaps(redraw: () => void): HTMLElement {
  return choice(text("heads.title"), [{ label: text("page.lines"), value: true }, { label: text("term.heat_map"), value: false }], state.lines, (lines) => { state.lines = lines; redraw(); });
}

export function headFigure(tensor: Tensor, place: string, head: number): HTMLElement {
  const name = headNumber(tensor, head);
  const measured = measuredHead(place, name);
  return element("div", { class: headAt(place) === head ? "head chosen" : "head", "data-head": name },
    element("div", { class: "top" }, button(text("place.head", { head: name }), { click: () => chooseHead(place, head), title: `${place}.${name}` }), measured && roleBadge(measured), measured && measures(measured)),
    headDrawing(tensor, head));
}
export function measures(measured: Head): HTMLElement {
  return element("span", { class: "measure", title: text("heads.difference", { difference: number(measured.output_difference, prose) }) },
    text("label.entropy"), " ", number(measured.entropy, (x) => prose(x, 3)), " · ", text("label.distance"), " ", number(measured.mean_distance, (x) => prose(x, 3)),
    " · |A·V−O| ", number(measured.output_difference, (x) => prose(x, 1)));
}

function headDrawing(tensor: Tensor, head: number, wasAsked = false): Child {
  if (run().valueOf(tensor, [0, head, 0, 0]) !== undefined) return drawnAsLines(tensor) ? lines(tensor, head) : canvas(matrixOf(tensor, { head }), 240);
  if (!canLoad() || wasAsked) return leftOut(tensor);
  if ((tensor.shape[2] as number) * (tensor.shape[3] as number) > mostLoaded) return tileMap(tensor, head);
  return waitingFor(() => load(tensor, elementsOf(tensor) > mostLoaded ? head : undefined), () => headDrawing(tensor, head, true), 8);
}

function lines(tensor: Tensor, head: number): SVGSVGElement {
  const weight = (i: number, j: number) => run().valueOf(tensor, [0, head, i, j]) ?? 0;
  const [from, to] = [run().labels(tensor.axes[2]), run().labels(tensor.axes[3])];
  const edges = from.flatMap((_, i) => to.map((_, j): [number, number, number] => [i, j, weight(i, j)])).filter((edge) => edge[2] >= 0.01);
  return lineDrawing({ from, to, edges, label: titleOf(tensor), weight });
}

// "one token: thrones 97%".
export function roleBadge(measured: Head): HTMLElement {
  const token = measured.key === null ? undefined : run().labels(run().attentionAt(measured.place)?.axes[3])[measured.key];
  return element("span", { class: "badge", title: text(`role.${measured.role}.text`) }, text(`role.${measured.role}`), token !== undefined && [": ", element("b", {}, clipped(token, 20))],
    " ", percent(measured.measure));
}

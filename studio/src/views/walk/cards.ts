// The steps of the walk as cards.
import type { StepDocument, Tensor, Variant } from "../../api/types";
import { button, element, fill, present, type Child } from "../../draw/element";
import { figure } from "../../draw/figure";
import { formulaOf, operationOf } from "../../draw/formula";
import { decimals, number, prose } from "../../texts/numbers";
import { has, text } from "../../texts/words";
import { data, run, stepNumbers, vocabularyLabels, wordOfId } from "../../trace/document";
import { mostCells, placeOf } from "../../trace/run";
import { headPicks, placeTitle, queryPicks, withoutLayer } from "../head_parts";
import { answer, askWhy } from "../why";
import { film } from "./film";
import { learning } from "./learning";

const mostOpen = 160;  // tensors of a run whose parts are all open; of a larger one those of its first layer are

export function card(number: number): HTMLElement {
  const step = data.steps.find((one) => one.number === number) as StepDocument;
  const content = present([contents[step.name]?.(step) ?? groups(step)]);
  const absent = content.length === 0;
  const withNote = !absent && !(step.name === "data_set" && data.sentences.length === 0);
  return element("section", { class: "card", id: `step-${number}`, tabindex: "-1", "data-step": number },
    element("h2", {}, element("span", { class: "number" }, String(number)), text(`step.${step.name}.title`)),
    element("p", { class: "text" }, text(`${stepKey(step)}.text`)), withNote && element("p", { class: "note" }, text(`${stepKey(step)}.note`, stepNumbers)),
    absent ? element("p", { class: "absent" }, text("message.absent"))
      : [step.slips?.map(slip), content, variantsOf(step), step.closing !== undefined && element("p", { class: "text" }, text(step.closing))]);
}

// An encoder alone predicts and learns otherwise than a decoder.
export function isEncoder(): boolean { return !run().find("decoder.output"); }
function stepKey({ name }: StepDocument): string { return isEncoder() && has(`step.${name}.encoder.text`) ? `step.${name}.encoder` : `step.${name}`; }

export function slip(name: string): HTMLElement {
  return element("p", { class: "slip" }, element("b", {}, text("slip.label")), " ", element("q", {}, text(`slip.${name}.said`)), element("br"), text(`slip.${name}.right`));
}

const contents: Record<string, (step: StepDocument) => Child> = {
  data_set: () => element("ul", { class: "sentences" }, data.sentences.length > 0 ? data.sentences.map((pair) =>
    element("li", { class: pair.source === data.source ? "chosen" : undefined }, pair.source, element("span", { class: "arrow" }, "→"), pair.target))
    : element("li", { class: "chosen" }, data.source)),
  vocabulary,
  prediction: (step) => [predictions(), ...groups(step)],
  learning,
};

function vocabulary(): Child {
  const used = new Set([...run().tokens, ...run().source_tokens]);
  const most = 200;
  const words = vocabularyLabels;
  return words.length === 0 ? [] : [element("p", { class: "note" }, `V = ${data.vocabulary_size}`), element("div", { class: "chips" },
    words.slice(0, most).map((word, id) => element("span", { class: used.has(word) ? "chip used" : "chip" }, word, element("sub", {}, String(id)))),
    data.vocabulary_size > most && element("span", { class: "chip" }, "…"))];
}

// Tensors of a step by the part of the model that makes them.
function groups(step: StepDocument): HTMLElement[] {
  const found = new Map<string, Tensor[]>();
  for (const tensor of run().ofStep(step.number)) {
    const place = /^(encoder|decoder)\.\d+\.\w+\./.test(tensor.name) || /norm\.\w+$/.test(tensor.name) ? placeOf(tensor.name)
      : step.name === "prediction" ? "prediction" : (tensor.name.split(".")[0] as string);
    found.set(place, [...(found.get(place) ?? []), tensor]);
  }
  return [...found].map(([place, tensors]) => group(step, place, tensors));
}

function group(step: StepDocument, place: string, tensors: Tensor[]): HTMLDetailsElement {
  const made = element("details", { class: "group", "data-place": place });
  made.fill = () => fill(made, element("summary", {}, element("h3", {}, placeTitle(place)), place.includes(".") && element("code", {}, place)),
    made.open && groupContent(step, place, tensors));
  made.holds = new Set([...tensors.map((tensor) => tensor.name), ...parametersOf(tensors).map((tensor) => tensor.name)]);
  made.open = opened.get(`${step.name} ${place}`) ?? ((step.name !== "decoder" || /cross$/.test(place)) && (run().tensors.length < mostOpen || !/\.[1-9]/.test(place)));
  made.fill();
  made.addEventListener("toggle", () => {
    opened.set(`${step.name} ${place}`, made.open);
    if (made.children.length < 2) { made.fill?.(); answer(); }
  });
  return made;
}
const opened = new Map<string, boolean>();

function parametersOf(tensors: Tensor[]): Tensor[] {
  const names = new Set(tensors.flatMap((tensor) => tensor.operands.map((operand) => operand.name)));
  return [...names].map((name) => run().find(name)).filter((tensor): tensor is Tensor => tensor?.operation === "parameter");
}

function groupContent(step: StepDocument, place: string, tensors: Tensor[]): Child {
  const attention = run().attentionAt(place);
  const parameters = step.name === "mask" ? [] : parametersOf(tensors);
  const told = `place.${withoutLayer(place)}.text`;
  return [
    has(told) && element("p", { class: "text" }, text(told)),
    attention && element("div", { class: "picks" }, headPicks(place, attention), step.name !== "mask" && queryPicks(place, attention)),
    stagesOf(tensors).map(stageContent),
    attention && step.name === "attention" && film(place),
    parameters.length > 0 && element("details", { class: "parameters", open: opened.get(`${place} parameters`), toggle: (event: Event) => opened.set(`${place} parameters`, (event.target as HTMLDetailsElement).open) },
      element("summary", {}, text("tensor.parameter")), element("div", { class: "flow" }, parameters.map((tensor) => figure(tensor, { explained: false })))),
  ];
}

// What belongs side by side: Q, K and V; scores and what becomes of them; weights; what they mix.
function stagesOf(tensors: Tensor[]): Tensor[][] {
  const places = [...new Set(tensors.map((tensor) => tensor.row ?? 0))].sort((a, b) => a - b);
  return places.map((place) => tensors.filter((tensor) => (tensor.row ?? 0) === place));
}

// What is true of all of them is said once.
function stageContent(stage: Tensor[]): Child {
  const formula = stage[0]?.formula ?? "";
  const once = stage.length > 1 && stage.every((tensor) => tensor.formula === formula);
  return [once && element("p", { class: "stage" }, formulaOf(formula), element("span", { class: "does" }, operationOf(formula))),
    element("div", { class: "flow" }, stage.map((tensor) => figure(tensor, { explained: !once })))];
}

// The likeliest words after each token.
function predictions(): Child {
  const first = Math.max(0, run().likeliest.length - mostCells);
  return run().likeliest.length > 0 && element("div", { class: "rows" }, run().likeliest.slice(first).map((_, i) => predictionAt(first + i)));
}
export function predictionAt(row: number): HTMLElement {
  const right = run().targets[row];
  return element("div", { class: "row", "data-row": row }, element("h4", {}, element("span", {}, "… "), run().tokens[row] ?? String(row), element("span", {}, " →")),
    run().likeliest[row]?.map(([id, share]) => button([element("span", { class: "label" }, wordOfId(id)),
      element("span", { class: "track" }, element("i", { style: { width: `${(100 * share).toFixed(1)}%` } })),
      element("span", { class: "share" }, number(share, (x) => decimals(x, 4)))],
    { class: id === right ? "bar right" : "bar", title: id === right ? text("page.right") : undefined,
      click: (event: MouseEvent) => askWhy({ name: "probabilities", index: [0, row, id] }, { from: event.currentTarget as Element }) })));
}

// Where texts disagree: the same step in each way, and how far it is from this model's.
function variantsOf(step: StepDocument): Child {
  const found = run().variants.filter((variant) => variant.step === step.number);
  const families = [...new Set(found.map((variant) => `${variant.key.split(".")[0]} ${variant.place}`))];
  return families.map((family) => {
    const [name = "", place = ""] = family.split(" ");
    const members = found.filter((variant) => variant.place === place && variant.key.startsWith(`${name}.`));
    const shown = element("div", { class: "flow", "data-variants": place });
    const show = (variants: Variant[]) => {
      shown.fill = () => fill(shown, variants.flatMap((variant) => variant.tensors.map((one) => figure(run().find(one) as Tensor))));
      shown.fill();
    };
    show(members.filter((variant) => !variant.own && data.asked.includes(variant.key)));
    return element("div", { class: "variants group" }, element("p", { class: "text" }, text(`variant.${name}`)),
      element("table", {}, members.map((variant) => element("tr", { class: variant.own ? "own" : undefined },
        element("td", {}, button(text(`variant.${variant.key}`), { class: "name-button", click: () => show([variant]) })),
        element("td", {}, formulaOf(variant.formula)),
        element("td", { class: "measure" }, variant.own ? text("variant.own") : text("variant.difference", { difference: number(variant.largest_difference, (x) => prose(x, 3)) }))))), shown);
  });
}

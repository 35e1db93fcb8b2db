// Importance of each head by method, the chosen head closely, and gradient against ablation.
import type { AblateResult, AttributeResult, GatesResult, ScoreResult } from "../../api/head_jobs";
import { source } from "../../api/source";
import { button, choice, element, fill, type Child, type Words } from "../../draw/element";
import { keep } from "../../draw/files";
import { headGrids, splitHead } from "../../draw/head_grid";
import { scatterDrawing } from "../../draw/scatter";
import { choosePanel } from "../../page/page";
import { modelInfo, refreshModels } from "../../page/session";
import { state } from "../../state/state";
import { number, percent } from "../../texts/numbers";
import { text } from "../../texts/words";
import { placeTitle } from "../head_parts";
import { fields, readsIds, withCommas } from "./examples";
import { isRunning, resultOf, start, type Purpose } from "./experiments";
import { atWork, digits, field, head, numberInput, textInput, inCell, three, two } from "./parts";

export const methods = ["gradient", "zero", "mean", "resample", "gates", "attribute"] as const;
export type Method = (typeof methods)[number];
export const chosen = { method: "gradient" as Method, isLinear: false, penalty: 0.05, word: "", against: "" };

// The number of each head; undefined: it was not measured.
export function valuesOf(method: Method): Map<string, number | null> | undefined {
  if (method === "gradient") return listed(resultOf<ScoreResult>(method)?.heads, (one) => one.gradient);
  if (method === "gates") return listed(resultOf<GatesResult>(method)?.heads, (one) => one.probability);
  if (method === "attribute") {
    const parts = resultOf<AttributeResult>(method)?.parts;
    return parts && new Map(headNames().map((name) => [name, parts.find((one) => one.part === name)?.value ?? null]));
  }
  return listed(resultOf<AblateResult>(method)?.heads, (one) => one.change);
}
function listed<T extends { head: string }>(heads: T[] | undefined, value: (one: T) => number): Map<string, number | null> | undefined { return heads && new Map(heads.map((one) => [one.head, value(one)])); }
export function headNames(): string[] { return (modelInfo()?.attentions ?? []).flatMap((place) => (place.left ?? Array.from({ length: place.heads }, (_, i) => i)).map((one) => `${place.name}.${one}`)); }
function isAblation(method: Method): boolean { return ["zero", "mean", "resample"].includes(method); }

// Begins what a method needs.
export async function measure(method: Method): Promise<void> {
  if (method === "gradient") await start(method, fields());
  else if (method === "gates") { await start(method, { ...fields(), penalty: chosen.penalty, steps: 100, name: `${state.model}-gates`.replace(/[^\w-]/g, "-").slice(0, 90) }); await refreshModels(); }
  else if (method === "attribute") await start(method, { ...sentence(), word: chosen.word || (chosen.word = await likeliestWord()), ...(chosen.against !== "" && { against: chosen.against }) });
  else await start(method, { ...fields(), by: method });
}
function sentence(): Record<string, string> { return modelInfo()?.can?.translates ? { source: state.text } : { prompt: readsIds() ? withCommas(state.text) : state.text }; }
async function likeliestWord(): Promise<string> {
  const read = readsIds() ? { ids: withCommas(state.text).split(",").map(Number) } : sentence();
  const told = await source.ask<{ tokens: { id: number; text: string; token: string }[] }>("POST", "/api/predict", { model: state.model, ...read }).catch(() => undefined);
  if (readsIds()) return String(told?.tokens[0]?.id ?? "");
  return told?.tokens[0]?.text || told?.tokens[0]?.token || "";
}

// 1 for the most important head; undefined where there is no number.
function rankOf(values: Map<string, number | null> | undefined, name: string): number | undefined {
  const own = values?.get(name);
  return own === null || own === undefined ? undefined : 1 + [...(values as Map<string, number | null>).values()].filter((one) => one !== null && one > own).length;
}
// Spearman's: how much two orders agree, from −1 to 1.
export function rankCorrelation(a: number[], b: number[]): number {
  const ranks = (values: number[]) => {
    const sorted = values.map((value, i) => [value, i] as const).sort((x, y) => x[0] - y[0]);
    const made = new Array<number>(values.length);
    for (let i = 0, end; i < sorted.length; i = end) {
      for (end = i; end < sorted.length && sorted[end]?.[0] === sorted[i]?.[0];) end += 1;
      for (let j = i; j < end; ++j) made[sorted[j]?.[1] as number] = (i + end - 1) / 2;
    }
    return made;
  };
  const centred = (values: number[]) => { const mean = values.reduce((sum, one) => sum + one, 0) / values.length; return values.map((one) => one - mean); };
  const dot = (x: number[], y: number[]) => x.reduce((sum, one, i) => sum + one * (y[i] as number), 0);
  const [x, y] = [centred(ranks(a)), centred(ranks(b))];
  return dot(x, y) / Math.sqrt(dot(x, x) * dot(y, y));
}

// The card of the map.
export function importanceBody(act: { method(method: Method): void; scale(isLinear: boolean): void; head(name: string): void; again(): void }): Child {
  const { method } = chosen;
  const values = valuesOf(method);
  return [
    element("div", { class: "picks" }, choice(text("studio.lab.method"), methods.map((value) => ({ label: text(`studio.lab.method.${value}`), value })), method, act.method), scaleChoice(act.scale)),
    element("p", { class: "note", id: "lab-meaning" }, meaningOf(method)),
    method === "gates" && element("form", { class: "lab-form", submit: (event: Event) => { event.preventDefault(); act.again(); } }, field("gates", "penalty", text("studio.lab.penalty"), numberInput(chosen.penalty, 0, (value) => { chosen.penalty = value; }, "any"), "short"), submit("studio.lab.measure", isRunning("gates"))),
    method === "attribute" && element("form", { class: "lab-form", submit: (event: Event) => { event.preventDefault(); act.again(); } }, wordFields("attribute", chosen), submit("studio.lab.measure", isRunning("attribute"))),
    atWork([method]),
    element("p", { class: "said problem-said", id: "importance-said", role: "alert" }),
    values && [summaryOf(method),
      element("div", { class: "map-and-head" }, headGrids({ values, label: text(`studio.lab.method.${method}`), ink: "a", strength: strengthIn(values), write: inCell, chosen: head(), choose: act.head, preview: previewHead }),
        element("aside", { class: "map-head", id: "lab-head", "aria-live": "polite" }, headDetail(head()))),
      element("p", { class: "keep" }, element("span", {}, text("studio.export"), ": "), button("CSV", { "data-keep": "heads", click: () => keep(`${state.model}-heads.csv`, new Blob([headsCsv()], { type: "text/csv" })) }))],
  ];
}
export function wordFields(form: string, values: { word: string; against: string }): Child {
  return [field(form, "word", text("studio.lab.word"), textInput(values.word, (value) => { values.word = value; }), "short"), field(form, "against", text("studio.lab.against"), textInput(values.against, (value) => { values.against = value; }), "short")];
}
export function submit(key: string, isBusy: boolean): HTMLButtonElement {
  const made = button(text(key), { class: "go", disabled: isBusy });
  made.type = "submit";
  return made;
}
export function scaleChoice(choose: (isLinear: boolean) => void): Child {
  return choice(text("studio.lab.scale"), [{ label: text("studio.heads.shading.logarithmic"), value: false }, { label: text("studio.heads.shading.linear"), value: true }], chosen.isLinear, choose);
}
function meaningOf(method: Method): Child {
  if (method === "gradient") return [text("studio.lab.meaning.gradient")];
  if (isAblation(method)) return [text("studio.lab.meaning.ablation"), " ", text(`experiment.ablate.by_${method}`)];
  return text(`studio.lab.meaning.${method}`);
}
export function strengthIn(values: Map<string, number | null>, isLinear = chosen.isLinear): (value: number) => number {
  const sizes = [...values.values()].map((one) => Math.abs(one ?? 0)).filter((one) => one > 0);
  const largest = Math.max(1e-30, ...sizes);
  const decades = Math.min(4, Math.max(0.5, Math.log10(largest / Math.min(largest, ...sizes))));
  return (value) => (isLinear ? Math.abs(value) / largest : value === 0 ? 0 : 0.1 + 0.9 * (1 + Math.log10(Math.abs(value) / largest) / decades));
}
function extreme(values: Map<string, number | null>, sign: 1 | -1): [string, number] {
  return [...values].filter((one): one is [string, number] => one[1] !== null).reduce((best, one) => (sign * one[1] > sign * best[1] ? one : best), ["", -sign * Infinity] as [string, number]);
}
function summaryOf(method: Method): Child {
  const values = valuesOf(method) as Map<string, number | null>;
  const [most, largest] = extreme(values, 1);
  const write = (x: number | undefined) => number(x, three);
  if (method === "gradient") {
    const [least, smallest] = extreme(values, -1);
    const told = resultOf<ScoreResult>(method) as ScoreResult;
    return element("p", { class: "text lab-summary" }, text("experiment.score.summary", { heads: values.size, examples: told.examples, loss: write(told.loss), most, largest: write(largest), least, smallest: write(smallest) }));
  }
  if (isAblation(method)) {
    const told = resultOf<AblateResult>(method) as AblateResult;
    return element("p", { class: "text lab-summary" }, text("experiment.ablate.summary", { examples: told.examples, loss: write(told.loss), most, change: write(largest), harmless: told.heads.filter((one) => one.change <= 0).length, all: told.heads.length }));
  }
  if (method === "gates") {
    const told = resultOf<GatesResult>(method) as GatesResult;
    return element("p", { class: "text lab-summary" }, text("studio.lab.gates_summary", { open: told.open, heads: told.heads.length, before: write(told.before.loss), after: write(told.binary.loss) }));
  }
  const told = resultOf<AttributeResult>(method) as AttributeResult;
  return element("p", { class: "text lab-summary" }, text("studio.lab.attribute_summary", { word: `“${told.word.token}”${told.against ? ` − “${told.against.token}”` : ""}`, measured: write(told.measured), most, largest: write(largest) }));
}

function previewHead(name: string | undefined): void {
  const holder = document.getElementById("lab-head");
  const shown = name ?? head();
  if (holder && holder.dataset.head !== shown) fill(holder, headDetail(shown));
}
// All that was measured of one head, and what it means.
export function headDetail(name: string): Child {
  const holder = document.getElementById("lab-head");
  if (holder) holder.dataset.head = name;
  const measured = methods.map((method) => [method, valuesOf(method)] as const).filter((one): one is [Method, Map<string, number | null>] => one[1]?.has(name) ?? false);
  if (measured.length === 0) return undefined;
  const scored = resultOf<ScoreResult>("gradient")?.heads.find((one) => one.head === name);
  const without = (["zero", "mean", "resample"] as const).map((by) => resultOf<AblateResult>(by)?.heads.find((one) => one.head === name)).find((one) => one?.exact_match !== undefined);
  const [place, number_] = splitHead(name);
  return [
    element("h3", {}, element("code", {}, name)), element("p", { class: "where" }, placeTitle(place), " · ", text("place.head", { head: number_ })),
    scored && scored.role !== "none" && element("p", { class: "badges" }, element("span", { class: "badge", title: text(`role.${scored.role}.text`) }, text(`role.${scored.role}`))),
    element("table", { class: "head-measures" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, text("studio.lab.method")), element("th", { scope: "col" }, text("studio.lab.value")), element("th", { scope: "col" }, text("experiment.column.rank")))),
      element("tbody", {}, measured.map(([method, values]) => element("tr", { "data-method": method }, element("th", { scope: "row" }, text(`studio.lab.method.${method}`)), element("td", {}, digits(values.get(name))), element("td", {}, rankWords(values, name)))))),
    without?.exact_match !== undefined && element("p", { class: "note" }, text("studio.lab.right_without", { share: percent(without.exact_match) })),
    verdict(name),
    button(text("studio.heads.open"), { class: "plain", click: () => choosePanel("microscope") }),
  ];
}
function rankWords(values: Map<string, number | null>, name: string): Words {
  const rank = rankOf(values, name);
  return rank === undefined ? "–" : `${rank} / ${[...values.values()].filter((one) => one !== null).length}`;
}
// Whether the two ways of asking agree about this head.
function verdict(name: string): Child {
  const [gradient, ablation] = [valuesOf("gradient"), ablated()?.[1]];
  if (!gradient || !ablation) return undefined;
  const [a, b] = [(rankOf(gradient, name) ?? 0) / gradient.size, (rankOf(ablation, name) ?? 0) / ablation.size];
  const kind = a <= 1 / 3 && b <= 1 / 3 ? "both" : a > 2 / 3 && b > 2 / 3 ? "neither" : a <= 1 / 3 && b > 2 / 3 ? "gradient" : b <= 1 / 3 && a > 2 / 3 ? "ablation" : "between";
  return element("p", { class: "note lab-verdict", "data-verdict": kind }, text(`studio.lab.verdict.${kind}`));
}
function headsCsv(): string {
  const columns = methods.map((method) => [method, valuesOf(method)] as const).filter((one): one is [Method, Map<string, number | null>] => one[1] !== undefined);
  const names = [...new Set(columns.flatMap(([, values]) => [...values.keys()]))];
  return `${[["head", ...columns.map(([method]) => method)].join(","), ...names.map((name) => [name, ...columns.map(([, values]) => values.get(name) ?? "")].join(","))].join("\n")}\n`;
}

// The ablation that is drawn against the gradient: the chosen one, or the one that there is.
export function ablated(): [Purpose, Map<string, number | null>] | undefined {
  const order: Method[] = isAblation(chosen.method) ? [chosen.method, "zero", "mean", "resample"] : ["zero", "mean", "resample"];
  for (const by of order) { const values = valuesOf(by); if (values) return [by, values]; }
  return undefined;
}
export function scatterBody(act: { scale(isLinear: boolean): void; head(name: string): void; both(): void }): Child {
  const [gradient, ablation] = [valuesOf("gradient"), ablated()];
  if (!gradient || !ablation) {
    return [element("p", { class: "note" }, text("studio.lab.both_needed")), atWork(["gradient", "zero"]), !isRunning("zero") && !isRunning("gradient") && element("p", {}, button(text("studio.lab.measure_both"), { class: "plain", click: act.both }))];
  }
  const points = [...gradient].flatMap(([name, x]) => { const y = ablation[1].get(name); return x !== null && y !== null && y !== undefined ? [{ head: name, x, y }] : []; });
  const correlation = rankCorrelation(points.map((one) => one.x), points.map((one) => one.y));
  const label = text(`studio.lab.method.${ablation[0]}`);
  const readout = element("p", { class: "readout", id: "scatter-said", role: "status" });
  const kinds = [...new Set(points.map((one) => (/\.cross\./.test(one.head) ? "cross" : one.head.split(".")[0] as string)))];
  return [
    element("div", { class: "picks" }, scaleChoice(act.scale), kinds.length > 1 && element("span", { class: "kind-shapes" }, kinds.map((kind) => element("span", {}, element("i", { class: `kind-shape kind-${kind}` }), text(`studio.heads.kind.${kind}`))))),
    element("div", { class: "scatter-and-text" },
      scatterDrawing({ points, x: text("studio.lab.axis.gradient"), y: text("studio.lab.axis.ablation"), isLogarithmic: !chosen.isLinear, chosen: head(), choose: act.head, preview: (name) => {
        const one = points.find((point) => point.head === (name ?? head()));
        fill(readout, one && [element("code", {}, one.head), " ", text("studio.lab.method.gradient"), " ", number(one.x, three), " · ", label, " ", number(one.y, three)]);
      } }),
      element("div", {}, element("p", { class: "lab-correlation" }, text("studio.lab.correlation"), " ", element("b", {}, Number.isFinite(correlation) ? number(correlation, two) : "–")), element("p", { class: "note" }, text("studio.lab.correlation_text")),
        element("details", { class: "sink", open: true }, element("summary", {}, text("studio.lab.disagree")), ["steep", "shared", "saturated", "other"].map((why) => element("p", { class: "note" }, text(`studio.lab.disagree.${why}`)))))),
    readout,
  ];
}

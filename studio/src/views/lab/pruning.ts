// How many heads can go: quality by heads left, a slider over it, and the smaller model made real, with its speed.
import type { BenchResult, CurveResult, PruneResult } from "../../api/head_jobs";
import { button, choice, element, fill, type Child, type Words } from "../../draw/element";
import { qualityDrawing, type Curve } from "../../draw/quality_curve";
import { choosePanel, redraw, remember } from "../../page/page";
import { modelInfo, openTrace, refreshModels } from "../../page/session";
import { state } from "../../state/state";
import { number, percent, prose } from "../../texts/numbers";
import { has, text } from "../../texts/words";
import { chosen as comparison } from "../compare/sides";
import { slider } from "../next_word/parts";
import { fields } from "./examples";
import { experimentOf, isRunning, requestOf, resultOf, start } from "./experiments";
import { headNames } from "./importance";
import { atWork, field, numberInput, three, two } from "./parts";

export const chosen = { keep: 0, order: "gradient" as "gradient" | "ablation", finetune: 0 };  // keep: 0 is half of the heads

export function allHeads(): number { return headNames().length; }
export function keptHeads(): number { return Math.min(allHeads(), chosen.keep || Math.ceil(allHeads() / 2)); }

// Every number of heads of a small model, tenths of a large one.
export function curve(): Promise<unknown> {
  const heads = allHeads();
  const shares = heads <= 16 ? { shares: Array.from({ length: heads + 1 }, (_, i) => i / heads) } : {};
  return start("curve", { ...fields(), methods: ["gradient", "ablation", "random"], types: ["all"], finetune: 0, random_orders: 5, ...shares });
}

export function curveBody(act: { curve(): void; kept(kept: number): void; order(order: "gradient" | "ablation"): void; real(): void }): Child {
  const told = resultOf<CurveResult>("curve");
  if (!told) return [atWork(["curve"]), !isRunning("curve") && element("p", {}, button(text("studio.lab.curve_go"), { class: "go", id: "curve-go", click: act.curve }))];
  const curves = told.curves.filter((one) => one.type === "all" && !one.finetuned);
  const heads = Math.max(...curves.flatMap((one) => one.points.map((point) => point.heads)));
  const names = Object.fromEntries(curves.map((one) => [one.method, text(`experiment.method.${one.method}`)]));
  const orders = curves.find((one) => one.method === "random")?.orders ?? 0;
  const drawn = qualityDrawing({ curves, heads, kept: keptHeads(), x: text("studio.lab.heads_left"), y: metricName(told), names, choose: (kept) => { act.kept(kept); const made = input(); if (made) { made.value = String(kept); for (const event of ["input", "change"]) made.dispatchEvent(new Event(event)); } } });
  const readout = element("div", { id: "kept-said", "aria-live": "polite" });
  const show = (kept: number) => { drawn.mark(kept); fill(readout, keptTable(told, curves, heads, kept)); };
  const input = () => document.querySelector<HTMLInputElement>('input[name="keep"]');
  const keep = slider({ name: "keep", label: text("studio.lab.keep"), least: 1, most: heads, step: 1, value: keptHeads(), shown: (kept) => text("studio.lab.keep_of", { kept, heads }), moved: (kept) => { act.kept(kept); show(kept); }, released: () => remember() });
  show(keptHeads());
  const order = choice(text("experiment.column.method"), (["gradient", "ablation"] as const).map((value) => ({ label: text(`experiment.method.${value}`), value })), chosen.order, act.order);
  return [
    atWork(["curve"]),
    element("p", { class: "curve-legend" }, curves.filter((one) => one.method !== "random").map((one) => element("span", {}, element("i", { class: `method-${one.method}` }), names[one.method])),
      orders > 0 && element("span", {}, element("i", { class: "method-random" }), text("experiment.curve.random_mean", { orders })), orders > 0 && element("span", {}, element("i", { class: "band-of" }), text("experiment.curve.random_band", { orders }))),
    element("div", { class: "curve-and-table" }, element("div", {}, drawn.element, element("div", { class: "picks keep-heads" }, keep)), readout),
    element("form", { class: "lab-form", id: "prune-form", submit: (event: Event) => { event.preventDefault(); act.real(); } },
      element("span", { class: "lab-field" }, element("span", {}, text("experiment.column.method")), order), field("prune", "finetune", text("studio.lab.finetune"), numberInput(chosen.finetune, 0, (value) => { chosen.finetune = Math.max(0, Math.round(value)); }), "short"), realButton()),
  ];
}
function realButton(): HTMLButtonElement {
  const made = button(text("studio.lab.make_real"), { class: "go", id: "make-real", disabled: isRunning("prune") });
  made.type = "submit";
  return made;
}
function metricName(told: CurveResult): Words { return has(`experiment.column.${told.metric}`) ? text(`experiment.column.${told.metric}`) : told.metric; }
function quality(told: CurveResult, value: number): Words { return told.metric === "exact_match" ? percent(value) : number(value, three); }

// The curve at a number of heads; between two that were measured, what lies between.
export function qualityAt(curve: Curve, removed: number): { value: number; low?: number; high?: number; isMeasured: boolean } {
  const after = curve.points.find((point) => point.heads >= removed) ?? curve.points[curve.points.length - 1];
  const before = [...curve.points].reverse().find((point) => point.heads <= removed) ?? after;
  if (!after || !before) return { value: NaN, isMeasured: false };
  const share = after.heads === before.heads ? 0 : (removed - before.heads) / (after.heads - before.heads);
  const mix = (a: number | undefined, b: number | undefined) => (a === undefined || b === undefined ? undefined : a + (b - a) * share);
  return { value: mix(before.quality, after.quality) as number, low: mix(before.low, after.low), high: mix(before.high, after.high), isMeasured: after.heads === before.heads };
}
function keptTable(told: CurveResult, curves: Curve[], heads: number, kept: number): Child {
  const whole = curves[0]?.points.find((point) => point.heads === 0);
  return element("table", { class: "kept-table" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, text("experiment.column.method")), element("th", { scope: "col" }, metricName(told)))),
    element("tbody", {}, whole && element("tr", {}, element("th", { scope: "row" }, text("experiment.stage.before")), element("td", {}, quality(told, whole.quality))),
      curves.map((one) => {
        const at = qualityAt(one, heads - kept);
        return element("tr", { "data-method": one.method }, element("th", { scope: "row" }, text(`experiment.method.${one.method}`)),
          element("td", {}, !at.isMeasured && "≈ ", quality(told, at.value), at.low !== undefined && at.high !== undefined && [" (", quality(told, at.low), " – ", quality(told, at.high), ")"]));
      })));
}

// The smaller model, as a folder of the server.
export async function makeReal(): Promise<void> {
  const [kept, heads] = [keptHeads(), allHeads()];
  const name = `${state.model}-${kept}-of-${heads}`.replace(/[^\w-]/g, "-").slice(-90);
  const one = await start("prune", { ...fields(), keep: kept / heads, by: chosen.order, name, ...(chosen.finetune > 0 && { finetune: chosen.finetune }) });
  if (one.job?.written) await refreshModels();
}
// A few sizes, each for half a second.
export function bench(): Promise<unknown> { return start("bench", { pruned: experimentOf("prune")?.job?.written ?? "", batches: [1, 8], tokens: [16, 64, 256], seconds: 0.5 }); }

export function realBody(act: { bench(): void }): Child {
  const told = resultOf<PruneResult>("prune");
  if (!told) return atWork(["prune"]);
  const id = experimentOf("prune")?.job?.written ?? "";
  const isThere = modelInfo(id) !== undefined;
  const loss = (stage: { loss: number } | undefined) => number(stage?.loss ?? NaN, three);
  const by = text(`experiment.prune.by_${told.by ?? "name"}`);
  const key = told.finetuned ? "summary_finetuned" : told.before ? "summary_loss" : "summary";
  const before = told.before?.exact_match, after = (told.finetuned ?? told.pruned)?.exact_match;
  return [
    atWork(["prune"]),
    element("h3", {}, text("studio.lab.real"), " ", element("code", { id: "real-model" }, id)),
    element("p", { class: "text lab-summary" }, text(`experiment.prune.${key}`, { kept: told.kept, heads: told.heads, before: loss(told.before), pruned: loss(told.pruned), finetuned: loss(told.finetuned), how: by })),
    before !== undefined && after !== undefined && element("p", { class: "note" }, text("experiment.column.exact_match"), ": ", percent(before), " → ", percent(after)),
    element("p", { class: "note" }, text("experiment.prune.parameters", { after: number(told.parameters.after, prose7), before: number(told.parameters.before, prose7) })),
    isThere ? element("p", { class: "next-steps" }, button(text("studio.lab.open_real"), { class: "plain", id: "open-real", click: () => void openReal(id) }), button(text("studio.lab.compare_real"), { class: "plain", id: "compare-real", click: () => compareReal(id) }),
      button(text("studio.lab.bench_go"), { class: "plain", id: "bench-go", disabled: isRunning("bench"), click: act.bench })) : element("p", { class: "absent" }, text("studio.lab.real_gone")),
    benchBody(id),
  ];
}
const prose7 = (x: number) => prose(x, 9);
async function openReal(id: string): Promise<void> {
  state.model = id;
  if (!(await openTrace())) return redraw();
  state.panel = "heads";
  redraw();
  scrollTo({ top: 0, behavior: "instant" });
  remember(true);
}
function compareReal(id: string): void {
  Object.assign(comparison, { against: "model", model: id, tensor: undefined, head: undefined });
  void choosePanel("compare");
}

// What arithmetic promises, beside what the clock says.
function benchBody(id: string): Child {
  const told = resultOf<BenchResult>("bench");
  if (!told || requestOf("bench")?.pruned !== id) return atWork(["bench"]);
  const most = Math.max(...told.rows.flatMap((row) => [row.bound, row.high, 1]));
  const across = (value: number) => `${((100 * value) / most).toFixed(2)}%`;
  const range = (values: number[]): Words => number(NaN, () => `${two(Math.min(...values))}–${two(Math.max(...values))}×`);
  return element("div", { class: "group", id: "lab-bench" }, atWork(["bench"]), element("h3", {}, text("studio.lab.bench")),
    element("p", { class: "note" }, text("studio.lab.bench_text", { measured: range(told.rows.map((row) => row.measured)), bound: range(told.rows.map((row) => row.bound)) })),
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": text("studio.lab.bench") }, element("table", { class: "bench-table" }, element("thead", {}, element("tr", {}, ["batch", "tokens", "bound", "measured"].map((name) => element("th", { scope: "col", title: has(`experiment.column.${name}.text`) ? text(`experiment.column.${name}.text`) : undefined }, text(`experiment.column.${name}`))), element("td"), element("th", { scope: "col" }, text("experiment.column.reason")))),
      element("tbody", {}, told.rows.map((row) => element("tr", {}, element("td", {}, String(row.batch)), element("td", {}, String(row.tokens)), element("td", {}, number(row.bound, two), "×"), element("td", {}, number(row.measured, two), "×"),
        element("td", { class: "wide", "aria-hidden": "true" }, element("span", { class: "speed" }, element("i", { class: "one", style: { left: across(1) } }), element("i", { class: "measured", style: { width: across(row.measured) } }), element("i", { class: "spread", style: { left: across(row.low), width: across(row.high - row.low) } }), element("i", { class: "bound", style: { left: across(row.bound) } }))),
        element("td", {}, text(`experiment.reason.${row.reason}`))))))),
    element("p", { class: "curve-legend" }, element("span", {}, element("i", { class: "measured-of" }), text("experiment.column.measured")), element("span", {}, element("i", { class: "spread-of" }), text("experiment.bench.band")), element("span", {}, element("i", { class: "bound-of" }), text("experiment.column.bound"))));
}

// Patching: two sentences that differ in one thing; which heads carry the difference, and where.
import type { PatchResult } from "../../api/head_jobs";
import { choice, element, type Child } from "../../draw/element";
import { headGrids } from "../../draw/head_grid";
import { modelInfo } from "../../page/session";
import { state } from "../../state/state";
import { decimals, number } from "../../texts/numbers";
import { text } from "../../texts/words";
import { visible } from "../../trace/run";
import { samplePair, type Pair } from "./examples";
import { isRunning, requestOf, resultOf, start } from "./experiments";
import { submit, wordFields } from "./importance";
import { atWork, field, head, inCell, textInput, three } from "./parts";

type Direction = PatchResult["direction"];
export const chosen = { pair: { clean: "", corrupt: "", prompt: "", word: "", against: "" } as Pair, direction: "clean_into_corrupt" as Direction, isEstimated: false };
let of = "";

export async function begin(): Promise<void> {
  if (of === state.model) return;
  of = state.model;
  Object.assign(chosen, { pair: await samplePair(), direction: "clean_into_corrupt" });
}
// What was asked last.
export function recallRequest(): void {
  const request = requestOf("patch");
  if (!request) return;
  const { clean = "", corrupt = "", prompt = "", word = "", against = "", direction = "clean_into_corrupt" } = request;
  Object.assign(chosen, { pair: { clean, corrupt, prompt, word, against }, direction });
}
export function patch(): Promise<unknown> {
  const given = Object.fromEntries(Object.entries(chosen.pair).filter(([, value]) => value !== ""));
  return start("patch", { ...given, direction: chosen.direction });
}

export function patchForm(act: { patch(): void; direction(direction: Direction): void }): HTMLElement {
  const { pair } = chosen;
  const input = (name: "clean" | "corrupt" | "prompt") => textInput(pair[name], (value) => { pair[name] = value; });
  return element("form", { class: "lab-form", id: "patch-form", submit: (event: Event) => { event.preventDefault(); act.patch(); } },
    field("patch", "clean", text("studio.lab.clean"), input("clean"), "wide"), field("patch", "corrupt", text("studio.lab.corrupt"), input("corrupt"), "wide"),
    modelInfo()?.can?.translates && field("patch", "prompt", text("studio.lab.prompt"), input("prompt"), "short"), wordFields("patch", pair),
    choice(text("studio.lab.direction"), (["clean_into_corrupt", "corrupt_into_clean"] as const).map((value) => ({ label: text(`studio.lab.direction.${value}`), value })), chosen.direction, act.direction), submit("studio.lab.patch", isRunning("patch")));
}

export function patchBody(act: { head(name: string): void; estimated(isEstimated: boolean): void }): Child {
  const told = resultOf<PatchResult>("patch");
  if (!told) return atWork(["patch"]);
  const value = (one: { restored: number | null; estimated: number | null }) => (chosen.isEstimated ? one.estimated : one.restored);
  const values = new Map(told.whole_heads.map((one) => [one.head, value(one)]));
  // What is left where everything was there: the farther from 1, the more the head matters.
  const isLeft = told.direction === "corrupt_into_clean";
  const effect = (x: number) => (isLeft ? 1 - x : x);
  const best = told.whole_heads.reduce((most, one) => (Math.abs(effect(one.restored ?? Number(isLeft))) > Math.abs(effect(most.restored ?? Number(isLeft))) ? one : most));
  const most = Math.max(0.1, ...[...values.values()].map((one) => Math.abs(effect(one ?? Number(isLeft)))));
  return [
    atWork(["patch"]),
    element("p", { class: "text lab-summary" }, text(isLeft ? "experiment.patch.summary_left" : "experiment.patch.summary", { clean: number(told.clean, three), corrupt: number(told.corrupt, three), best: best.head, restored: number(best.restored ?? NaN, three), correlation: number(told.correlation ?? NaN, three) })),
    Math.abs(effect(best.restored ?? Number(isLeft))) < 0.5 && element("p", { class: "note" }, text("studio.lab.patch_shared")),
    element("div", { class: "picks" }, choice(text("studio.lab.numbers"), [{ label: text("experiment.column.restored"), value: false }, { label: text("experiment.column.estimated"), title: text("experiment.column.estimated.text"), value: true }], chosen.isEstimated, act.estimated),
      element("small", {}, text(chosen.isEstimated ? "experiment.column.estimated.text" : "experiment.column.restored.text"))),
    headGrids({ values, label: text("experiment.patch.table"), ink: "v", strength: (x) => Math.abs(effect(x)) / most, write: (x) => decimals(Number(x.toFixed(2)), 2), chosen: head(), choose: act.head }),
    positions(told, value, effect, most),
  ];
}
// The chosen head at each position alone.
function positions(told: PatchResult, value: (one: PatchResult["heads"][number]) => number | null, effect: (x: number) => number, most: number): Child {
  const name = head();
  const own = told.heads.filter((one) => one.head === name);
  if (own.length === 0) return undefined;
  const isSource = name.startsWith("encoder.");
  const [clean, corrupt] = isSource ? [told.clean_source_tokens ?? told.clean_tokens, told.corrupt_source_tokens ?? told.corrupt_tokens] : [told.clean_tokens, told.corrupt_tokens];
  return element("div", { class: "group", id: "patch-positions" }, element("h3", {}, text("studio.lab.positions"), " ", element("code", {}, name)),
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": text("studio.lab.positions") }, element("table", { class: "position-strip ink-v" },
      element("tbody", {}, element("tr", {}, element("th", { scope: "row" }, text("studio.lab.clean")), own.map((one) => element("td", {}, visible(clean[one.position] ?? "")))),
        element("tr", {}, element("th", { scope: "row" }, text("studio.lab.corrupt")), own.map((one) => element("td", { class: clean[one.position] === corrupt[one.position] ? "" : "other" }, visible(corrupt[one.position] ?? "")))),
        element("tr", {}, element("th", { scope: "row" }, text(chosen.isEstimated ? "experiment.column.estimated" : "experiment.column.restored")),
          own.map((one) => { const x = value(one); return element("td", { class: `digits${(x ?? 0) < 0 ? " minus" : ""}`, "data-position": one.position, style: { "--s": (x === null ? 0 : Math.min(1, Math.abs(effect(x)) / most)).toFixed(3) } }, x === null ? "–" : number(x, inCell)); }))))));
}

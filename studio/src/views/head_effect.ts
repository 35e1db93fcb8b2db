// Where a head pushes the next word: the likeliest words with it and without it.
import { asQuestion } from "../api/sentence";
import { source } from "../api/source";
import { element, type Child } from "../draw/element";
import { waitingFor } from "../draw/waiting";
import { modelInfo } from "../page/session";
import { state } from "../state/state";
import { decimals, number } from "../texts/numbers";
import { text } from "../texts/words";
import { data } from "../trace/document";

interface Word { id: number; token: string; logit: number; probability: number }
interface Prediction { tokens: { best: Word[]; with_all_heads: Word[] }[] }

export function headEffect(head: string): Child {
  const can = source.isServer ? modelInfo()?.can : undefined;
  if (!can || !(can.continues_prompt || can.translates)) return undefined;
  let told: Prediction;
  return element("div", { class: "group head-effect", "data-head": head }, element("h3", {}, text("studio.microscope.pushes")), element("p", { class: "note" }, text("studio.microscope.pushes_text")),
    waitingFor(async () => {
      told = await source.ask<Prediction>("POST", "/api/predict", { trace: data.id, run: state.run, ...asQuestion(modelInfo(), data.source), heads_off: [head], best: 6 });
    }, () => bars(told), 6));
}

// Longest push first, upwards or downwards, in the logit; the bar is the word's probability, its ghost the one without the head.
function bars(told: Prediction): Child {
  const [first] = told.tokens;
  if (!first) return undefined;
  const without = new Map(first.best.map((word) => [word.id, word]));
  const pushed = first.with_all_heads.map((word) => ({ ...word, less: without.get(word.id) })).filter((word) => word.less !== undefined)
    .map((word) => ({ ...word, push: word.logit - (word.less as Word).logit })).sort((a, b) => Math.abs(b.push) - Math.abs(a.push));
  return element("div", { class: "rows one" }, element("div", { class: "row" }, pushed.map((word) => element("div", { class: "bar pushed" }, element("span", { class: "label" }, word.token),
    element("span", { class: "track" }, element("i", { style: { width: `${(100 * word.probability).toFixed(1)}%` } }), element("i", { class: "ghost", style: { width: `${(100 * (word.less as Word).probability).toFixed(1)}%` } })),
    element("span", { class: "share" }, word.push > 0 ? "+" : "", number(word.push, (x) => decimals(x, 3)))))));
}

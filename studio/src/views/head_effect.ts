// Where a head pushes the next word: what its output adds to the logits directly, and the likeliest words with it and without it.
import { asQuestion } from "../api/sentence";
import { source, type PushedWord, type PushesAnswer } from "../api/source";
import { element, type Child } from "../draw/element";
import { waitingFor } from "../draw/waiting";
import { modelInfo } from "../page/session";
import { state } from "../state/state";
import { decimals, number } from "../texts/numbers";
import { text } from "../texts/words";
import { data, run } from "../trace/document";
import { visible } from "../trace/run";

interface Word { id: number; token: string; logit: number; probability: number }
interface Prediction { tokens: { best: Word[]; with_all_heads: Word[] }[] }

// `row`: the token that was chosen; else the one after which the model goes on.
export function headEffect(head: string, row?: number): Child {
  const can = source.isServer && data.id !== undefined ? modelInfo()?.can : undefined;
  const parts = can?.predicts ? [directly(head, row), (can.continues_prompt || can.translates) && without(head)].filter(Boolean) : [];
  return parts.length > 0 && element("div", { class: "group head-effect", "data-head": head }, element("h3", {}, text("studio.microscope.pushes")), parts as Child[]);
}

function isBelowDecoder(head: string): boolean { return head.startsWith("encoder.") && run().tokens.length > 0; }
function directly(head: string, row: number | undefined): Child {
  if (isBelowDecoder(head)) return undefined;
  const tokens = run().tokens.length > 0 ? run().tokens : run().source_tokens;
  const at = Math.min(row ?? (modelInfo()?.can?.translates ? 0 : tokens.length - 1 - run().written), tokens.length - 1);
  let told: PushesAnswer;
  return element("div", { class: "directly" }, element("h4", {}, text("studio.microscope.directly", { token: visible(tokens[at] ?? "") })), element("p", { class: "note" }, text("studio.microscope.directly_text")),
    waitingFor(async () => { told = await source.pushes({ head, at, best: 6 }); }, () => {
      const largest = Math.max(1e-12, ...[...told.up, ...told.down].map((word) => Math.abs(word.value)));
      const side = (words: PushedWord[], kind: string) => element("div", { class: "row" }, words.map((word) => element("div", { class: `bar push ${kind}` }, element("span", { class: "label" }, visible(word.token)),
        element("span", { class: "track" }, element("i", { style: { width: `${((100 * Math.abs(word.value)) / largest).toFixed(1)}%` } })), element("span", { class: "share" }, word.value > 0 ? "+" : "", number(word.value, (x) => decimals(x, 3))))));
      return element("div", { class: "rows" }, side(told.up, "up"), side(told.down, "down"));
    }, 6));
}

function without(head: string): Child {
  let told: Prediction;
  return element("div", { class: "without" }, element("h4", {}, text("studio.microscope.without")), element("p", { class: "note" }, text("studio.microscope.pushes_text")),
    waitingFor(async () => {
      told = await source.ask<Prediction>("POST", "/api/predict", { trace: data.id, run: state.run, ...asQuestion(modelInfo(), data.source), heads_off: [head], best: 6 });
    }, () => bars(told), 6));
}
// Longest push first, upwards or downwards, in the logit; the bar is the word's probability, its ghost the one without the head.
function bars(told: Prediction): Child {
  const [first] = told.tokens;
  if (!first) return undefined;
  const less = new Map(first.best.map((word) => [word.id, word]));
  const pushed = first.with_all_heads.map((word) => ({ ...word, less: less.get(word.id) })).filter((word) => word.less !== undefined)
    .map((word) => ({ ...word, push: word.logit - (word.less as Word).logit })).sort((a, b) => Math.abs(b.push) - Math.abs(a.push));
  return element("div", { class: "rows one" }, element("div", { class: "row" }, pushed.map((word) => element("div", { class: "bar pushed" }, element("span", { class: "label" }, visible(word.token)),
    element("span", { class: "track" }, element("i", { style: { width: `${(100 * word.probability).toFixed(1)}%` } }), element("i", { class: "ghost", style: { width: `${(100 * (word.less as Word).probability).toFixed(1)}%` } })),
    element("span", { class: "share" }, word.push > 0 ? "+" : "", number(word.push, (x) => decimals(x, 3)))))));
}

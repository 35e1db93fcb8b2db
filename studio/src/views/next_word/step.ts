// One step closely: from logits to the word, where the new token looks, and what each layer would have said.
import { pooled } from "../../api/document";
import type { LensWord, PredictedToken, PredictedWord, PredictStart, StagedWord } from "../../api/predict";
import { button, choice, element, type Child } from "../../draw/element";
import { tiles } from "../../draw/tiles";
import { number, prose, short } from "../../texts/numbers";
import { text } from "../../texts/words";
import { floatsOf, visible } from "../../trace/run";
import { share } from "./parts";
import { chosen, headNames, writingPlace, writingPlaces, type WrittenToken } from "./writing";

export interface StepEvents { instead(id: number): void; place(name: string): void; head(name: string): void }

// Each word: its logit, what temperature makes of it, whether it is left, the model's probability and that of the draw.
// With heads off, the bars of the whole model stay behind as outlines.
export function stages(token: PredictedToken, chosenId: number, events: StepEvents): HTMLElement {
  const staged = new Map((token.stages ?? []).map((one) => [one.id, one]));
  const ghosts = new Map((token.with_all_heads ?? []).map((one) => [one.id, one]));
  const extra = (token.with_all_heads ?? []).filter((one) => !token.best.some((other) => other.id === one.id));
  const isDrawn = staged.size > 0;
  const least = token.best.reduce((most, one) => Math.min(most, one.probability ?? 1), 1);
  const row = (word: PredictedWord, isKnown: boolean) => {
    const stage = staged.get(word.id);
    const ghost = ghosts.get(word.id);
    return element("tr", { "data-id": word.id, class: stage && !isLeft(stage) ? "cut" : undefined },
      element("th", { scope: "row" }, button(visible(word.token), { class: word.id === chosenId ? "candidate right" : "candidate", title: text("studio.next_word.instead"), click: () => events.instead(word.id) })),
      element("td", { class: "digits" }, isKnown ? number(word.logit ?? NaN, short) : "—"),
      isDrawn && element("td", { class: "digits sampling" }, stage ? number(stage.tempered ?? NaN, short) : "—"),
      isDrawn && element("td", { class: "sampling" }, stage ? leftText(stage) : "—"),
      element("td", { class: "wide" }, bar(isKnown ? word.probability : 0, ghost?.probability)),
      element("td", { class: "digits" }, isKnown ? share(word.probability) : ["< ", share(least)], ghost && element("s", { title: text("studio.next_word.with_all_heads") }, share(ghost.probability))),
      isDrawn && element("td", { class: "wide" }, bar(stage?.drawn_with ?? 0)), isDrawn && element("td", { class: "digits" }, share(stage?.drawn_with ?? 0)));
  };
  const heading = (key: string, span = 1, note?: Child) => element("th", { scope: "col", colspan: span, class: span > 1 ? "both-columns" : key === "tempered" || key === "left" ? "sampling" : undefined }, text(`studio.next_word.column.${key}`), note);
  const kept = token.kept;
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": text("studio.next_word.stages") }, element("table", { class: "stages" }, element("thead", {}, element("tr", {},
    heading("word"), heading("logit"), isDrawn && heading("tempered", 1, element("small", {}, ` T = `, number(chosen.temperature, prose))),
    isDrawn && heading("left", 1, kept && element("small", {}, ` ${kept.top_k} → ${kept.top_p}`)), heading("probability", 2), isDrawn && heading("drawn", 2))),
  element("tbody", {}, token.best.map((word) => row(word, true)), extra.map((word) => row(word, false)))));
}
function isLeft(stage: StagedWord): boolean { return stage.top_k && stage.top_p && stage.min_p; }
function leftText(stage: StagedWord): Child {
  return isLeft(stage) ? element("span", { class: "left", "aria-label": text("studio.next_word.left") }, "✓") : element("span", { class: "gone" }, text("studio.next_word.cut", { stage: !stage.top_k ? "top-k" : !stage.top_p ? "top-p" : "min-p" }));
}
function bar(probability: number | null, ghost?: number | null): HTMLElement {
  const width = (one: number | null | undefined) => ({ width: `${(100 * (one ?? 0)).toFixed(2)}%` });
  return element("span", { class: "track" }, ghost !== undefined && element("b", { class: "ghost", style: width(ghost) }), element("i", { style: width(probability) }));
}

// Where the heads of one attention look from the place that the word came from.
export function attention(tokens: WrittenToken[], at: number, shown: PredictedToken, start: PredictStart, head: string, events: StepEvents): Child {
  const place = writingPlace();
  if (place === undefined) return undefined;
  const select = element("select", { "aria-label": text("studio.microscope.place"), change: () => events.place(select.value) }, writingPlaces().map((one) => element("option", { value: one }, one)));
  select.value = place;
  const row = shown.attention?.find((one) => one.head === head);
  return element("div", { class: "group" }, element("h3", {}, text("studio.next_word.attention")),
    element("div", { class: "picks" }, select, choice(text("term.head"), headNames(place).map((value) => ({ label: value.slice(place.length + 1), value })), head, events.head)),
    row && lookedAt(labelsOf(place, row.keys, tokens, at, start), floatsOf(row.weights)),
    overTime(place, head, tokens, start));
}
// The words that stand in the columns: those read so far, or of a cross-attention the source; the last ones where the context has slid.
function labelsOf(place: string, keys: number, tokens: WrittenToken[], at: number, start: PredictStart): string[] {
  const all = place.endsWith(".cross") ? start.source_tokens : [...start.prompt_tokens, ...tokens.slice(0, at).map((one) => one.token)];
  return all.slice(-keys).map(visible);
}
function lookedAt(labels: string[], weights: Float32Array): HTMLElement {
  return element("p", { class: "looked-at" }, labels.map((label, i) => element("span", { class: "key", style: { "--s": String(weights[i] ?? 0) }, title: number(weights[i], short) }, label, (weights[i] ?? 0) >= 0.05 && element("small", {}, share(weights[i])))));
}

export interface AttentionOverTime { rows: string[]; columns: string[]; weights: Float32Array }
// One row for each word that was written; what it could not see is hidden.
export function attentionOverTime(place: string, head: string, tokens: WrittenToken[], start: PredictStart): AttentionOverTime | undefined {
  const rows = tokens.map((token) => token.attention?.find((one) => one.head === head));
  if (rows.length === 0 || rows.some((row) => row === undefined)) return undefined;
  const columns = Math.max(...rows.map((row) => row?.keys ?? 0));
  const weights = new Float32Array(rows.length * columns).fill(-Infinity);
  rows.forEach((row, i) => weights.set(floatsOf(row?.weights ?? ""), i * columns));
  return { rows: tokens.map((token) => visible(token.token)), columns: labelsOf(place, columns, tokens, tokens.length - 1, start), weights };
}
function overTime(place: string, head: string, tokens: WrittenToken[], start: PredictStart): Child {
  const made = attentionOverTime(place, head, tokens, start);
  if (!made || made.rows.length < 2) return undefined;
  const width = made.columns.length;
  // Drawn when it is opened: before that it has no width.
  const holder = element("details", { class: "over-time", toggle: () => {
    if (!holder.open || holder.querySelector(".tile-map")) return;
    holder.append(tiles({ rows: made.rows.length, columns: width, rowLabels: made.rows, columnLabels: made.columns, label: head, ink: "a", largest: 1,
      tile: async (rows, columns, most) => pooled((r, c) => made.weights[r * width + c] as number, rows, columns, most) }));
  } }, element("summary", {}, text("studio.next_word.all_steps")));
  return holder;
}

// What each layer would have said: its likeliest words, and the rank of the word that was said in the end.
export function lens(token: PredictedToken): Child {
  if (!token.lens) return undefined;
  const words = token.lens.layers.reduce((most, layer) => Math.max(most, layer.words.length), 0);
  const cell = (word: LensWord | undefined, id: number) => element("td", {}, word && element("span", { class: word.id === id ? "said-then right" : "said-then", style: { "--s": String(word.probability ?? 0) }, title: number(word.probability ?? NaN, short) },
    visible(word.word), element("small", {}, share(word.probability))));
  return element("div", { class: "group" }, element("h3", {}, text("studio.next_word.lens")), element("p", { class: "note" }, text("studio.next_word.lens_text")),
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": text("studio.next_word.lens") }, element("table", { class: "lens" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, text("studio.next_word.column.layer")), element("th", { scope: "col" }, text("studio.next_word.column.rank"), " ", element("q", {}, visible(token.lens.layers[0]?.word.word ?? ""))),
        Array.from({ length: Math.min(5, words) }, (_, i) => element("th", { scope: "col" }, String(i + 1))))),
      element("tbody", {}, token.lens.layers.map((layer) => element("tr", { "data-layer": layer.layer }, element("th", { scope: "row", title: layer.layer }, layerTitle(layer.layer)), element("td", { class: "digits" }, String(layer.word.rank)),
        Array.from({ length: Math.min(5, words) }, (_, i) => cell(layer.words[i], layer.word.id))))))));
}
function layerTitle(layer: string): Child {
  const number = /\.(\d+)\./.exec(layer)?.[1];
  return /residual_in$/.test(layer) || number === undefined ? text("studio.next_word.lens_before") : text("studio.next_word.lens_after", { layer: number });
}

// The text that is being written: each word coloured by its probability, its alternatives under the pointer and at the focus.
import type { PredictedWord } from "../../api/predict";
import { button, element, fill, setAttribute, told, type Child } from "../../draw/element";
import { modelInfo } from "../../page/session";
import { text } from "../../texts/words";
import { visible } from "../../trace/run";
import { readable, share } from "./parts";
import { chosen, kindOfModel, type WrittenToken, type Writing } from "./writing";

const mostShown = 5;
const mostRead = 80;  // tokens of a prompt that is shown whole; of a longer one its end, so that what is written is in sight

export interface TextEvents { step(at: number): void; instead(at: number, id: number): void; ask(position: number): void }

export class WrittenText {
  readonly element = element("div", { class: "written", id: "written", role: "group", "aria-label": text("studio.next_word.written") });
  private readonly before = element("span", { class: "prompt" });
  private readonly words = element("span", {});
  private readonly best = element("div", { class: "best-words", hidden: true, role: "group", "aria-label": text("studio.next_word.best") });
  private chips: { token: WrittenToken; made: HTMLElement }[] = [];
  private timer = 0;
  private prompt = "";
  private isQuiet = false;

  constructor(private readonly writing: Writing, private readonly events: TextEvents) {
    this.element.append(this.before, this.words, this.best);
    this.element.addEventListener("keydown", (event) => this.pressed(event));
    this.element.addEventListener("focusout", (event) => { if (!this.element.contains(event.relatedTarget as Node | null)) this.hide(); });
    this.element.addEventListener("pointerleave", () => this.hideSoon());
    this.best.addEventListener("pointerenter", () => clearTimeout(this.timer));
  }

  // What is new is added; what stays keeps its element and the focus.
  draw(): void {
    const { start, tokens } = this.writing;
    const isMask = kindOfModel() === "mask";
    const tokenizer = modelInfo()?.tokenizer;
    this.element.classList.toggle("ids", tokenizer === null);  // which would run into each other
    this.element.classList.toggle("by-word", tokenizer === undefined || tokenizer?.kind === "word");  // tokens without the spaces between them
    const prompt = JSON.stringify([start?.source_tokens, start?.prompt_tokens, isMask && start?.masked_at, isMask && chosen.forks]);
    if (prompt !== this.prompt) {
      this.prompt = prompt;
      fill(this.before, isMask ? this.masked() : [start && start.source_tokens.length > 0 && [element("span", { class: "read" }, readTokens(start.source_tokens)), " → "], start && readTokens(start.prompt_tokens)]);
      this.shorten(!isMask && start !== undefined && start.source_tokens.length + start.prompt_tokens.length > mostRead);
    }
    if (isMask) return this.mark();
    let same = 0;
    while (same < this.chips.length && same < tokens.length && isSame(this.chips[same]?.token, tokens[same])) ++same;
    for (const chip of this.chips.splice(same)) chip.made.remove();
    for (const [i, token] of tokens.entries()) {
      if (i < same) { (this.chips[i] as { token: WrittenToken }).token = token; continue; }
      const made = this.chip(token, i);
      this.chips.push({ token, made });
      this.words.append(made);
    }
    this.mark();
  }
  // A box of its own that the keys scroll, at its end.
  private shorten(isLong: boolean): void {
    this.before.classList.toggle("long", isLong);
    for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", text("studio.sentence")]] as const) {
      if (isLong) setAttribute(this.before, name, value);
      else this.before.removeAttribute(name);
    }
    this.before.scrollTop = this.before.scrollHeight;
  }
  private mark(): void {
    const at = this.shownStep();
    for (const [i, { made }] of this.chips.entries()) made.setAttribute("aria-pressed", String(i === at));
  }
  shownStep(): number { return Math.min(chosen.step ?? Infinity, this.writing.tokens.length - 1); }
  // Without its alternatives, which were just chosen from.
  focus(at: number): void {
    this.isQuiet = true;
    this.chips[at]?.made.focus({ preventScroll: true });
    this.isQuiet = false;
  }

  private chip(token: WrittenToken, at: number): HTMLElement {
    const words = readable(token);
    return button(words, { class: `token${token.isForced ? " forced" : ""}${token.is_stop ? " stop" : ""}`, "data-at": at, style: { "--s": String(token.probability ?? 0) },
      "aria-label": told(() => `${words.trim() || visible(words)}, ${share(token.probability)}`), "aria-pressed": "false",
      click: () => this.events.step(at), pointerenter: () => this.show(at), focus: () => this.show(at) });
  }
  // The sentence with the place that is asked, of a model that fills masks.
  private masked(): Child {
    const { start } = this.writing;
    return start?.prompt_tokens.map((token, i) => {
      const isAsked = i === start.masked_at;
      const isFilled = chosen.forks.some((fork) => fork[0] === i);
      return [button(token, { class: `token whole${isFilled ? " forced" : ""}`, "data-position": i, "aria-pressed": String(isAsked), click: () => this.events.ask(i), ...(isAsked && { pointerenter: () => this.show(0, i), focus: () => this.show(0, i) }) }), " "];
    });
  }

  private holderOf(at: number, position?: number): HTMLElement | null {
    return position === undefined ? this.chips[at]?.made ?? null : this.before.querySelector<HTMLElement>(`[data-position="${position}"]`);
  }
  private show(at: number, position?: number): void {
    clearTimeout(this.timer);
    const token = this.writing.tokens[at];
    const holder = this.holderOf(at, position);
    if (!token || !holder || this.isQuiet) return;
    fill(this.best, token.best.slice(0, mostShown).map((word) => this.alternative(word, token, position ?? at)));
    this.best.hidden = false;
    if (this.best.previousSibling !== holder) holder.after(this.best);  // so that Tab leads into it
    const room = this.element.clientWidth - this.best.offsetWidth;
    this.best.style.setProperty("left", `${Math.max(0, Math.min(room, holder.offsetLeft))}px`);
    this.best.style.setProperty("top", `${holder.offsetTop + holder.offsetHeight}px`);
  }
  private alternative(word: PredictedWord, token: WrittenToken, at: number): HTMLElement {
    return button([element("span", { class: "label" }, visible(word.token)), element("span", { class: "track" }, element("i", { style: { width: `${100 * (word.probability ?? 0)}%` } })), element("span", { class: "share" }, share(word.probability))],
      { class: `bar${word.id === token.id ? " right" : ""}`, "data-id": word.id, click: () => { this.hide(); this.events.instead(at, word.id); } });
  }
  private hideSoon(): void { this.timer = window.setTimeout(() => { if (!this.element.contains(document.activeElement)) this.hide(); }, 250); }
  hide(): void {
    clearTimeout(this.timer);
    this.best.hidden = true;
  }

  // Left and right from word to word, down into the alternatives, Escape away from them.
  private pressed(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const inBest = this.best.contains(target);
    const list = [...(inBest ? this.best : this.element).querySelectorAll<HTMLElement>(inBest ? "button" : "button.token")];
    const at = list.indexOf(target);
    const steps: Record<string, number> = inBest ? { ArrowUp: -1, ArrowDown: 1 } : { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key === "Escape" && !this.best.hidden) { if (inBest) (this.best.previousElementSibling as HTMLElement | null)?.focus(); this.hide(); }
    else if (event.key === "ArrowDown" && !inBest && !this.best.hidden) this.best.querySelector<HTMLElement>("button")?.focus();
    else if (event.key === "ArrowUp" && inBest && at === 0) (this.best.previousElementSibling as HTMLElement | null)?.focus();
    else if (steps[event.key] !== undefined) list[at + (steps[event.key] as number)]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function readTokens(tokens: string[]): Child { return tokens.map((token) => element("span", { class: "read-token" }, token.replace(/\n/g, "⏎\n"))); }
function isSame(a: WrittenToken | undefined, b: WrittenToken | undefined): boolean {
  return a !== undefined && b !== undefined && a.id === b.id && a.probability === b.probability && a.isForced === b.isForced && JSON.stringify(a.best) === JSON.stringify(b.best);
}

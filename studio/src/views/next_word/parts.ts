// What the parts of this panel have in common: shares, sliders, words that can be seen.
import { element, fill, told, type Child, type Told, type Words } from "../../draw/element";
import { localized } from "../../texts/numbers";
import { wordsOf } from "../../texts/words";
import { pictured } from "../../trace/run";

// A share in per cent: small ones keep a digit, what is next to nothing is told to be less.
export function share(probability: number | null | undefined): Told {
  return told(() => {
    if (probability === null || probability === undefined) return "?";
    const all = 100 * probability;
    const digits = all >= 99.95 || all === 0 ? String(Math.round(all)) : all < 0.1 ? "0.1" : all.toFixed(all >= 10 ? 0 : 1);
    return (all > 0 && all < 0.1 ? "< " : "") + wordsOf("language.percent", { number: localized(digits) });
  });
}

export interface Slider { name: string; label: Words; least: number; most: number; step: number; value: number; shown(value: number): Child; moved(value: number): void; released(): void }
export function slider({ name, label, least, most, step, value, shown, moved, released }: Slider): HTMLElement {
  const told = element("output", {}, shown(value));
  const made = element("input", { type: "range", name, min: least, max: most, step, value, "aria-label": label, input: () => { fill(told, shown(Number(made.value))); moved(Number(made.value)); }, change: released });
  return element("label", { class: "slider" }, label, " ", made, " ", told);
}

// The text of a token where it can be read; breaks and bytes as they are called.
export function readable(token: { token: string; text?: string }): string {
  const words = token.text && !token.text.includes("\ufffd") ? token.text : token.token;
  return pictured(words.replace(/\n/g, "⏎\n") || token.token);
}

// Texts of the catalogue in the chosen language.
import { told, Told, type Words } from "../draw/element";
import { state } from "../state/state";
import type { Texts } from "../api/types";

const texts: Texts = {};

// More texts of a language, by key.
export function addTexts(language: string, more: Record<string, string>): void { Object.assign((texts[language] ??= {}), more); }
// A server tells the names of languages whose texts are not here yet.
export const languageNames = new Map<string, string>();
export function languages(): string[] { return languageNames.size > 0 ? [...languageNames.keys()] : Object.keys(texts); }
export function nameOfLanguage(language: string): string { return languageNames.get(language) ?? texts[language]?.["language.name"] ?? language; }
export function hasLanguage(language: string): boolean { return texts[language] !== undefined; }

export function has(key: string): boolean { return texts[state.lang]?.[key] !== undefined; }

export type Values = Record<string, string | number | Told | undefined>;
// The text of a key in the chosen language, with {name} filled in, and {name|s} for all but one; and the same where it is shown.
export function wordsOf(key: string, values?: Values): string {
  return (texts[state.lang]?.[key] ?? texts.en?.[key] ?? key).replace(/\{(\w+)(?:\|(\w+))?\}/g, (whole, name, ending) => {
    if (values?.[name] === undefined) return whole;
    return ending === undefined ? String(values[name]) : String(values[name]) === "1" ? "" : ending;
  });
}
export function text(key: string, values?: Values): Told { return told(() => wordsOf(key, values)); }

// "tensor.self.output" for "encoder.self.output": the longest end of the name that has a text.
export function textByEnd(prefix: string, name: string): Words {
  const parts = name.split(".");
  for (let begin = 0; begin < parts.length; ++begin) {
    const key = prefix + parts.slice(begin).join(".");
    if (has(key)) return text(key);
  }
  return name;
}

// Formulas of the catalogue ("a_ij = exp(s_ij − m_i) / l_i") set as formulas, Q, K and V in their colours.
import { has, text, wordsOf } from "../texts/words";
import { placeOf } from "../trace/run";
import { element, type Told } from "./element";

const inkOfLetter: Record<string, string> = { Q: "q", q: "q", K: "k", k: "k", V: "v", v: "v", A: "a", a: "a", S: "a", s: "a", p: "p" };
const lettersOf: Record<string, string> = { "ᵀ": "T", "ᵗ": "t" };
const words = /^(exp|max|min|mean|sin|cos|log|id|word|pos|segment|LayerNorm|Sublayer|PE)$/;

// `some`: letters below Z mean something else, as in formulas of the way back.
function formula(source: string, some = false): HTMLElement {
  const made = element("span", { class: "formula" });
  // A name with what hangs from it; a power; anything else.
  const pattern = /((?:(?![ᵀᵗ])\p{L}\p{M}?)+)(ᵀ|ᵗ)?(?:_(\w+))?|\^(?:\(((?:[^()]|\([^()]*\))*)\)|(\w+))|([ᵀᵗ])|[^\p{L}^]+|\^/gu;
  for (const match of source.matchAll(pattern)) {
    const [whole, name, raised, below, power, shortPower, lone] = match;
    if (power !== undefined || shortPower !== undefined || lone !== undefined) {
      made.append(element("sup", {}, power ?? shortPower ?? lettersOf[lone as string]));
    } else if (name === undefined) {
      made.append(element("span", { class: "upright" }, whole));
    } else {
      const ink = some && name > "Z" ? undefined : inkOfLetter[name] ?? (name === "W" ? inkOfLetter[below ?? ""] : undefined);
      made.append(element("span", { class: ink ? `ink ink-${ink}` : words.test(name) ? "upright" : undefined }, name,
        below !== undefined && element("sub", {}, below), raised !== undefined && element("sup", {}, lettersOf[raised])));
    }
  }
  return made;
}

// What was done, in a sentence; forms of one operation may share it.
export function operationOf(key: string): Told {
  const known = `operation.${key}`;
  return has(known) || !key.includes(".") ? text(known) : operationOf(placeOf(key));
}
export function formulaOf(key: string): HTMLElement | undefined {
  return has(`formula.${key}`) ? formula(wordsOf(`formula.${key}`), key.startsWith("backward.")) : undefined;
}

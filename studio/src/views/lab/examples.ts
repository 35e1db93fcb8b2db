// What heads are measured on: examples of the task that a model was trained on, or a text that everybody can read and change.
import type { JobFacts } from "../../api/head_jobs";
import { source } from "../../api/source";
import { known, modelInfo } from "../../page/session";
import { state } from "../../state/state";

export const chosen = {
  kind: "text" as "task" | "text",
  text: "",
  targets: "",   // of ids: what is right there; empty: the next ones
  isOwn: false,  // the text was changed by hand
  examples: 32,
  seed: 0,
};
export const fewExamples = 32;

let of = "";
// Another model has other examples.
export async function begin(): Promise<void> {
  if (of === state.model) return;
  of = state.model;
  const origin = await originOf(state.model);
  if (of !== state.model) return;
  const { ids, targets } = readsIds() ? sampleIds() : { ids: undefined, targets: "" };
  const text = ids ?? sampleText(origin);
  Object.assign(chosen, { kind: text === undefined ? "task" : "text", text: text ?? "", targets, isOwn: false, examples: fewExamples, seed: 0 });
}
// A model without a tokenizer is given ids instead of words.
export function readsIds(): boolean { return modelInfo()?.tokenizer === null; }
export function withCommas(ids: string): string { return ids.trim().split(/[\s,]+/).join(","); }
// Rows of ids, commas between: those of the sentence, or, for a model that sorts six of three letters, inputs and what should follow.
function sampleIds(): { ids: string; targets: string } {
  const { vocab_size, context_length } = modelInfo() ?? {};
  if (vocab_size !== 3 || context_length !== 11) return { ids: withCommas(state.text), targets: "" };
  const inputs = Array.from({ length: 81 }, (_, n) => Array.from({ length: 6 }, (_, i) => Math.floor((n * 9 + (n % 9)) / 3 ** i) % 3));
  return { ids: inputs.map((row) => [...row, ...[...row].sort().slice(0, 5)].join(",")).join("\n"), targets: inputs.map((row) => [-1, -1, -1, -1, -1, ...[...row].sort()].join(",")).join("\n") };
}
// What a pruned model was made of.
async function originOf(id: string): Promise<string> {
  const job = modelInfo(id)?.job;
  if (!job) return id;
  const facts = await source.ask<JobFacts>("GET", `/api/jobs/${job}`).catch(() => undefined);
  return facts && facts.model && facts.model !== id ? originOf(facts.model) : id;
}

// A text of the kind that a model was made for. Undefined: it has a task of its own.
function sampleText(model: string): string | undefined {
  if (model === "repeats") return repeatedWords();
  if (model === "stories") return littleStories();
  // Some are held back where a model is trained on: three sentences are too few for that, unless they come again.
  if (model === "thrones") return Array.from({ length: 7 }, () => known.worked.sentences.map((one) => `${one.source}\t${one.target}`)).flat().join("\n");
  return modelInfo(model)?.can?.translates ? undefined : state.text;
}
// Meaningless words, each line twice: what the second copy says can be known from the first.
function repeatedWords(): string {
  const steps = [3, 7, 9, 11, 13, 17, 19, 21, 23, 27];
  const word = (i: number) => `${"bdfghklmnprstvyz"[Math.floor(i / 5)]}${"aeiou"[i % 5]}`;
  return Array.from({ length: 40 }, (_, line) => Array.from({ length: 64 }, (_, i) => word((line + (steps[line % 10] as number) * (i % 32)) % 80)).join(" ")).join("\n");
}
// Stories of the three kinds that `stories` tells.
function littleStories(): string {
  const people = [["Anna", "She"], ["Emin", "He"], ["Leyla", "She"], ["Minho", "He"], ["Deniz", "She"], ["Tom", "He"], ["Sara", "She"], ["Kerem", "He"]] as const;
  const counts = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
  const [places, things, colors, animals] = [["at the market", "in the garden", "by the sea", "at school", "in the forest"], ["apple", "pear", "book", "stone", "shell", "coin"], ["red", "blue", "green", "yellow", "white", "black"], ["cat", "dog", "bird", "fox", "goat"]];
  let dice = 7;
  const below = (bound: number) => { dice = (dice * 48271) % 2147483647; return Math.floor((dice / 2147483647) * bound); };
  const one = <T>(all: readonly T[]): T => all[below(all.length)] as T;
  const counted = (count: number, thing: string) => `${counts[count]} ${thing}${count === 1 ? "" : "s"}`;
  const kinds = [
    ([who, pronoun]: readonly string[], [other]: readonly string[]) => { const [thing, had] = [one(things), 2 + below(8)]; const gives = 1 + below(had - 1); return `${who} has ${counted(had, thing)}. ${pronoun} gives ${counts[gives]} to ${other}. Now ${who} has ${counted(had - gives, thing)} and ${other} has ${counted(gives, thing)}.`; },
    ([who, pronoun]: readonly string[], [other]: readonly string[]) => { const [place, color, animal] = [one(places), one(colors), one(animals)]; return `${who} and ${other} meet ${place}. ${other} shows ${who} a ${color} ${animal}. What does ${who} see? ${pronoun} sees the ${color} ${animal} of ${other}.`; },
    ([who, pronoun]: readonly string[], [other]: readonly string[]) => { const [thing, color, place] = [one(things), one(colors), one(places)]; return `${who} has lost a ${color} ${thing}. ${pronoun} looks for it ${place}. ${other} finds it there. "Here is your ${color} ${thing}, ${who}," says ${other}.`; },
  ];
  return Array.from({ length: 60 }, () => {
    const first = below(people.length);
    return one(kinds)(people[first] as readonly string[], people[(first + 1 + below(people.length - 1)) % people.length] as readonly string[]);
  }).join("\n");
}

// As fields of a job.
export function fields(): Record<string, unknown> {
  const given = readsIds() ? { ids_text: chosen.text, ...(chosen.targets.trim() !== "" && { targets_text: chosen.targets }) } : { data_text: chosen.text };
  return { ...(chosen.kind === "text" && given), examples: chosen.examples, ...(chosen.seed > 0 && { seed: chosen.seed }) };
}
// What a job was asked with; its text is at the server, so that the one that is here stays.
export function recallFields(request: Record<string, any> | undefined): void {
  if (!request) return;
  Object.assign(chosen, { kind: request.data_text === undefined && request.ids_text === undefined ? "task" : "text", examples: request.examples ?? 128, seed: request.seed ?? 0 });
}

// Two sentences that differ in one thing, and the words they lead to.
export interface Pair { clean: string; corrupt: string; prompt: string; word: string; against: string }
const pairs: Record<string, Pair> = {
  repeats: { clean: "ra lo ka mi tu se vo ka", corrupt: "ra lo be mi tu se vo ka", prompt: "", word: "mi", against: "tu" },
  stories: { clean: "Anna has three apples. She gives one to Tom. Now Anna has", corrupt: "Anna has five apples. She gives one to Tom. Now Anna has", prompt: "", word: " two", against: " four" },
  numbers: { clean: "forty-two", corrupt: "forty-six", prompt: "4", word: "2", against: "6" },
  thrones: { clean: "When you play the game of thrones", corrupt: "When the sun rises over the sea", prompt: "", word: "you", against: "the" },
};
export async function samplePair(): Promise<Pair> {
  if (readsIds() && sampleIds().targets !== "") return { clean: "0,2,1,0,2,1,0,0", corrupt: "0,2,1,0,2,0,0,0", prompt: "", word: "1", against: "0" };
  return pairs[await originOf(state.model)] ?? { clean: state.text, corrupt: state.text, prompt: "", word: "", against: "" };
}

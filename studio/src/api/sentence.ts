// A sentence as a model reads it: words; ids where it has no tokenizer; with its mask where it fills masks.
import { wordsOf } from "../texts/words";
import { ApiError, type ModelInfo, type ModelsAnswer } from "./source";

const mostIds = 6;  // of an example

function readsIds(model: ModelInfo | undefined): boolean { return model?.tokenizer === null; }
function fillsMasks(model: ModelInfo | undefined): boolean { return Boolean(model?.can?.fills_masks && !model.can.continues_prompt && model.tokenizer?.mask); }
function idsOf(sentence: string): number[] {
  const words = sentence.split(/[\s,]+/).filter((word) => word !== "");
  if (words.length === 0 || words.some((word) => !/^\d{1,9}$/.test(word))) throw new ApiError(wordsOf("studio.ids_needed"), 400, "ids");
  return words.map(Number);
}

// Of POST /api/trace.
export function asRead(model: ModelInfo | undefined, sentence: string): { text: string; special?: true } | { ids: number[] } {
  return readsIds(model) ? { ids: idsOf(sentence) } : { text: sentence, ...(fillsMasks(model) && { special: true as const }) };
}
// Of POST /api/predict.
export function asQuestion(model: ModelInfo | undefined, sentence: string): { source: string } | { source_ids: number[] } | { prompt: string; special?: true } | { ids: number[] } {
  if (model?.can?.translates) return readsIds(model) ? { source_ids: idsOf(sentence) } : { source: sentence };
  return readsIds(model) ? { ids: idsOf(sentence) } : { prompt: sentence, ...(fillsMasks(model) && { special: true as const }) };
}

// What a model is shown with before anything was typed.
export function exampleFor(model: ModelInfo | undefined, known: ModelsAnswer): string {
  const [first, second] = known.worked.sentences.map((one) => one.source);
  if (model?.example) return model.example;
  if (readsIds(model)) return Array.from({ length: Math.max(1, Math.min(mostIds, Math.ceil((model?.context_length ?? mostIds) / 2))) }, (_, i) => (7 * i + 2) % (model?.vocab_size ?? 1)).join(" ");
  if (fillsMasks(model)) return (second ?? first ?? "").replace(/\S+$/, model?.tokenizer?.mask ?? "");
  return first ?? "";
}

// A run of the model: its tensors and, as far as they are there, their numbers.
import type { BackwardWalk, Head, Numbers, RunDocument, Tensor, Variant, WrittenNumbers } from "../api/types";
import type { Cell } from "../state/state";
import { data, vocabularyLabels } from "./document";

export const mostCells = 24;  // rows and columns of a table of numbers

// A token of nothing but white space can still be seen.
// Blanks at its ends, breaks and letters without a picture can be told apart.
export function visible(token: string): string { return pictured(token.replace(/^ | $/g, "␣").replace(/\n/g, "⏎")); }
export function pictured(words: string): string { return words.replace(/[\0-\x09\x0b-\x1f\x7f-\x9f]/g, (letter) => `⟨${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}⟩`); }

export function numbersOf(written: WrittenNumbers | undefined): Numbers | undefined {
  if (written === undefined) return undefined;
  if (typeof written === "string") return floatsOf(written);
  return Array.isArray(written) ? Float64Array.from(written) : someNumbersOf(written);
}
// The bytes of float32, the lowest first, in letters of base 64.
export function floatsOf(letters: string): Float32Array {
  return new Float32Array(Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0)).buffer);  // all machines with a browser read them so
}
// Of a large tensor there may be only those in a row from some places on.
function someNumbersOf(written: Record<string, string | number[]>): Numbers {
  const some: Record<number, number> = {};
  for (const [place, numbers] of Object.entries(written)) (numbersOf(numbers) as Float32Array).forEach((value, i) => { some[Number(place) + i] = value; });
  Object.defineProperty(some, Symbol.iterator, { value: () => Object.values(some).values() });
  return some;
}

export class Run {
  readonly key: string;
  readonly tokens: string[];
  readonly source_tokens: string[];
  tensors: Tensor[];
  readonly parameters: Tensor[];
  readonly targets: number[];
  readonly written: number;
  readonly likeliest: [number, number][][];
  readonly heads: Head[];
  readonly variants: Variant[];
  readonly continuation: string;
  readonly weight_is_asked: boolean;
  readonly backward: BackwardWalk | null;
  readonly all = new Map<string, Tensor>();
  private readonly slices = new Map<string, Float32Array>();  // one head of a tensor that is too large to be there as a whole
  private predicted?: number[];
  private readonly wordNumbers: Record<string, number[] | undefined>;

  constructor(described: RunDocument) {
    this.key = described.key;
    this.tokens = described.tokens.map(visible);
    this.source_tokens = described.source_tokens.map(visible);
    this.tensors = described.tensors;
    this.parameters = described.parameters;
    this.targets = described.targets ?? [];
    this.written = described.written ?? 0;
    this.likeliest = described.likeliest ?? [];
    this.heads = described.heads ?? [];
    this.variants = described.variants ?? [];
    this.continuation = described.continuation ?? "";
    this.weight_is_asked = described.weight_is_asked ?? false;
    this.backward = described.backward ?? null;
    this.wordNumbers = { token: described.words, source_token: described.source_words };
    for (const tensor of [...this.tensors, ...this.parameters]) this.all.set(tensor.name, tensor);
    const written = described.values ?? {};
    for (const tensor of this.all.values()) this.giveNumbers(tensor, () => numbersOf(written[tensor.name]));
  }

  // When they are first asked for. What is passed on unchanged has those of where it comes from.
  private giveNumbers(tensor: Tensor, read: () => Numbers | undefined): void {
    Object.defineProperty(tensor, "values", { configurable: true, get: () => {
      const values = tensor.same_as ? this.find(tensor.same_as)?.values : read();
      if (values !== undefined) Object.defineProperty(tensor, "values", { value: values, configurable: true });
      return values;
    } });
  }
  // Numbers that came later; of one head where `head` is its index.
  take(name: string, values: Numbers, head?: number): void {
    const tensor = this.find(name);
    if (!tensor) return;
    if (head !== undefined) this.slices.set(`${name} ${head}`, values as Float32Array);
    else Object.defineProperty(tensor, "values", { value: values, configurable: true });
  }

  find(name: string): Tensor | undefined { return this.all.get(name); }
  ofStep(number: number): Tensor[] { return this.tensors.filter((tensor) => !tensor.variant && (tensor.step === number || tensor.also_step === number)); }
  attentions(): Tensor[] { return this.tensors.filter((tensor) => tensor.attention && !tensor.variant); }
  attentionAt(place: string): Tensor | undefined { return this.attentions().find((tensor) => placeOf(tensor.name) === place); }
  labels(axis: string | undefined, tensor?: Tensor): string[] {
    if (data.lesson) {
      const words = data.lesson.runs[tensor?.of ?? ""];
      return ((axis === "token" ? words?.tokens : axis === "source_token" ? words?.source_tokens : axis === "vocabulary" ? words?.vocabulary : []) ?? []).map(visible);
    }
    return axis === "token" ? this.tokens : axis === "source_token" ? this.source_tokens : axis === "vocabulary" ? vocabularyLabels : [];
  }
  value(cell: Cell): number | undefined {
    const tensor = this.find(cell.name);
    return tensor && this.valueOf(tensor, cell.index);
  }
  valueOf(tensor: Tensor, index: number[]): number | undefined {
    const values = tensor.values;
    if (values) return values[offsetOf(tensor, index)];
    const axis = tensor.axes.indexOf("head");
    const slice = axis >= 0 ? this.slices.get(`${tensor.same_as ?? tensor.name} ${index[axis]}`) : undefined;
    return slice?.[index.reduce((offset, at, i) => (i <= axis ? 0 : offset * (tensor.shape[i] as number) + at), 0)];
  }
  // For each token of an axis the number of the word that it is a part of.
  wordsOf(axis: string | undefined): number[] { return this.wordNumbers[axis ?? ""] ?? this.labels(axis).map((_, i) => i); }
  hasSlice(tensor: Tensor, head: number): boolean { return this.slices.has(`${tensor.same_as ?? tensor.name} ${head}`); }
  // The words that the predictions are about, where there are too many to show all.
  wordsShown(): number[] {
    this.predicted ??= [...new Set([...this.targets.filter((id) => id >= 0), ...[0, 1, 2, 3, 4].flatMap((rank) => this.likeliest.map((row) => row[rank]?.[0]))])]
      .filter((id): id is number => id !== undefined).slice(0, mostCells).sort((a, b) => a - b);
    return this.predicted;
  }
}

// "encoder.0.self" of "encoder.0.self.scores".
export function placeOf(name: string): string { return name.slice(0, name.lastIndexOf(".")); }
export function endOf(name: string): string { return name.slice(name.lastIndexOf(".") + 1); }

export function elementsOf(tensor: Tensor): number { return tensor.shape.reduce((product, size) => product * size, 1); }
export function offsetOf(tensor: { shape: number[] }, index: number[]): number {
  return index.reduce((offset, at, axis) => offset * (tensor.shape[axis] as number) + at, 0);
}
export function indexAt(shape: number[], offset: number): number[] {
  const index: number[] = [];
  for (let axis = shape.length - 1; axis >= 0; --axis) {
    const size = shape[axis] as number;
    index.unshift(offset % size);
    offset = Math.floor(offset / size);
  }
  return index;
}

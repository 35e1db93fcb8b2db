// What the engine delivers: the document of a trace, the same from the server (POST /api/trace) and inside an offline page.

// All of a tensor, or of a large one the numbers from some places on.
export type Numbers = Float32Array | Float64Array | Record<number, number>;
// As a document writes them: ids as a list; floats as the bytes of float32, the lowest first, in letters of base 64.
export type WrittenNumbers = string | number[] | { [place: string]: string | number[] };

// A number, or ["kind", ...]: docs/decisions/0006-rules-as-data.md.
export type Expression = number | [kind: string, ...parts: any[]];
export interface CellRule { role?: string; index: Expression[] }
export interface Rule {
  ingredients: { key: string; present?: Expression; cell?: CellRule; value?: Expression }[];
  terms: { key: string; present?: Expression; count?: Expression; factors: CellRule[]; constant?: Expression; value?: Expression }[];
  combinations: { key: string; present?: Expression; value: Expression; shown?: Expression }[];
  gradient?: string;
}

export interface Tensor {
  name: string;
  operation: string;
  operands: { role: string; name: string }[];
  attributes: Record<string, number | boolean | string>;
  shape: number[];
  axes: string[];
  formula: string;
  text: string;
  head_numbers?: number[];
  variant?: string;
  step?: number;
  also_step?: number;
  row?: number;         // that it shares with others of its place
  attention?: boolean;  // what heads look at
  same_as?: string;     // passed on unchanged
  of?: string;          // the run of a lesson
  values?: Numbers;     // as far as they are there
  largest?: number;
}

export interface Head {
  name: string;  // decoder.0.self.3
  place: string;
  head: number;
  role: string;
  measure: number;
  key: number | null;
  entropy: number;
  mean_distance: number;
  selectivity: number;
  output_difference: number;
}

export interface Variant { key: string; place: string; own: boolean; step: number; formula: string; tensors: string[]; largest_difference: number }

export interface WrittenTerm { key: string; factors: { cell: string; value: number }[]; constant: number; value: number; running: number }
export interface BackwardWalk {
  loss: number; weight: string; value: number; gradient: number; new_value: number; new_loss: number;
  terms: WrittenTerm[];
  update: Record<string, number>;
  gradients: string[];
  error?: WrittenNumbers;            // inside a page; from a server as tensors
  gradient_values?: Record<string, WrittenNumbers>;
}

export interface RunDocument {
  key: string;
  tokens: string[];
  source_tokens: string[];
  tensors: Tensor[];
  parameters: Tensor[];
  words?: number[];         // for each token the number of its word
  source_words?: number[];
  targets: number[];
  written: number;
  likeliest: [id: number, share: number][][];
  heads: Head[];
  variants: Variant[];
  continuation: string;
  weight_is_asked: boolean;
  values?: Record<string, WrittenNumbers>;
  backward: BackwardWalk | null;
}

export interface StepDocument { name: string; number: number; slips?: string[]; closing?: string; heads?: boolean }
export type Texts = Record<string, Record<string, string>>;  // by language and key

export interface PageDocument {
  language: string;
  version: string;
  source: string;
  sentences: { source: string; target: string }[];
  asked: string[];
  vocabulary_size: number;
  vocabulary: string[];
  labels: Record<string, string>;
  place: string;
  command: string;
  losses: number[];
  steps: StepDocument[];
  operations: Record<string, Rule>;
  texts: Texts;
  runs: RunDocument[];
  lesson?: LessonDocument;
  report?: ReportDocument;
  id?: string;  // of a trace that the server holds
}

export interface LessonArray {
  name: string; tensor: string; begin: number; shape: number[]; axes: string[]; labels: string[][]; outer: number[]; shown_outer: number[];
  rows: number; columns: number; shown_rows: number; shown_columns: number; at?: number[];
}
export interface Exercise {
  step: number; array: number; place: number; answer: number; tolerance: number;
  given: { name: string; ingredient?: string; values: number[] }[];
  mistakes: { key: string; value: number; term?: string }[];
}
export interface LessonWords {
  title: string; intro: string;
  steps: { title: string; paragraphs: string[]; tables: string[][][]; arrays: string[]; heads: string[]; afterwards: string[] }[];
}
export interface LessonDocument {
  words: Record<string, LessonWords>;
  runs: Record<string, { tokens: string[]; source_tokens: string[]; vocabulary: string[] }>;
  steps: { number: number; arrays: LessonArray[]; heads: LessonArray[]; slips: string[] }[];
  exercises: Exercise[];
}

export type ReportValue = string | { key: string } | { number: number | null; digits?: number; key?: undefined; share?: undefined } | { share: number | null; digits?: number; key?: undefined; number?: undefined };
export interface ReportText { key?: string; words?: string; values: Record<string, ReportValue> }
export type ReportCell = null | number | string | { name: string; key: string };
export interface ReportColumn {
  name: string; heading: ReportText; meaning?: ReportText; is_number: boolean; is_mapped: boolean;
  at: number; format: (x: number) => string; brief: (x: number) => string;  // put in by the page
}
export interface ReportTable { name: string; title: ReportText; by_head: boolean; columns: ReportColumn[]; rows: ReportCell[][] }
export interface LookedAt { head: string; rows_are_source: boolean; columns_are_source: boolean; weights: string; values?: number[] }
export interface ReportSentence { tokens: string[]; source_tokens: string[]; heads: LookedAt[] }
export interface ReportDocument {
  name: string; title: ReportText; summary: ReportText; notes: ReportText[]; next: { command: string; what: ReportText }[];
  tables: ReportTable[]; first_mapped: string; pictures: Record<string, string>[]; sentences: ReportSentence[];
}

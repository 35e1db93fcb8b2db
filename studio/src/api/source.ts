// Where the page's data comes from: a server, or the document inside the page. Views ask only here; `docs/api.md` says what the answers hold.
import type { Head, PageDocument, WrittenTerm } from "./types";

export interface ModelInfo {
  id: string;
  source: "worked" | "embedded" | "folder" | "job";
  type: string;
  purpose: string | null;
  can?: Record<"continues_prompt" | "translates" | "fills_masks" | "embeds" | "classifies" | "predicts", boolean>;
  example?: string | null;
  error?: string;  // its files can no longer be read
  parameters?: number;
  width?: number;
  context_length?: number;
  vocab_size?: number;
  layers?: { encoder: number; decoder: number };
  attentions?: { name: string; heads: number; original_heads?: number; left?: number[] }[];
  folder?: string;
  tokenizer?: { kind: string; mask: string | null } | null;
  job?: string | null;  // that wrote it
  reference?: { file: string; compared: number; largest_difference: number; relative: number; error?: string } | null;  // numbers that came with the model, and how near the engine is to them
}
export interface ModelsAnswer {
  version: string;
  models: ModelInfo[];
  worked: { sentences: { source: string; target: string }[]; width: number; heads: number; head_width: number; layers: number; seed: number };
  limits: Record<string, number>;
}
export interface TextsAnswer { language: string; languages: { code: string; name: string }[]; texts: Record<string, string> }

export interface TraceRequest {
  model?: string; text?: string; ids?: number[]; layers?: number[]; target?: string; train?: boolean; continue?: number; backward?: boolean; seed?: number; heads?: number; width?: number; layer_count?: number;
  sentences?: { source: string; target: string }[]; variants?: string[]; scale?: string; norm?: string; special?: boolean;
}

// A part of a matrix, at most as fine as was asked for.
export interface Tile {
  rows: [number, number];  // of the matrix
  columns: [number, number];
  rowStep: number;         // cells of the matrix in one of the tile
  columnStep: number;
  height: number;          // of the tile
  width: number;
  max: Float32Array;
  mean: Float32Array;      // the same numbers where steps are 1
}
export interface TileRequest { name: string; head?: number; rows?: [number, number]; columns?: [number, number]; most: number }

export interface CellAnswer {
  cell: string; operation: string; combination: string; value: number | null; combined: number | null;
  terms: WrittenTerm[]; ingredients: { key: string; value: number | null; cell?: string }[]; term_count: number;
}
export interface EdgesAnswer { name: string; rows: number; mass: number; reached: number; total: number; needed: number; edges: [query: number, key: number, weight: number][] }

export interface MappedHead extends Head {
  stack: string; layer: number; kind: string; index: number;
  relative_entropy?: number; first_share: number; importance: number | null; induction: number | null; duplicate: number | null;
  thumbnail: { rows: number; cols: number; row_step: number; col_step: number; values: string | Float32Array };
}
export interface Place { name: string; stack: string; layer: number; kind: string; heads: number; queries: number; keys: number }
export interface HeadsAnswer { heads: MappedHead[]; places: Place[]; sink: { share: number; heads: number } }
export interface HeadsRequest { size?: number; behaviour?: boolean; importance?: boolean }

export interface PushedWord { id: number; token: string; value: number }
export interface PushesAnswer { head: string; at: number; up: PushedWord[]; down: PushedWord[] }

export interface Lesson { name: string; language: string; title: string; steps: number; command: string }

export interface ServerEvent { event: string; id?: string; data: any }

// A message for people, and the field of the request that it is about.
export class ApiError extends Error {
  constructor(message: string, readonly status: number, readonly param: string | null = null) { super(message); }
}

export interface Source {
  readonly isServer: boolean;
  // Of the document that is open:
  tensors(names: string[]): Promise<Map<string, { shape: number[]; values: Float32Array | Float64Array }>>;
  tile(request: TileRequest): Promise<Tile>;
  cell(cell: string): Promise<CellAnswer>;
  edges(request: { name: string; head: number; mass: number; limit: number; rows?: number[]; skipFirst?: boolean }): Promise<EdgesAnswer>;
  heads(request?: HeadsRequest): Promise<HeadsAnswer>;
  pushes(request: { head: string; at: number; best: number }): Promise<PushesAnswer>;  // of a server alone
  exportAddress(form: "html" | "svg" | "csv" | "safetensors", query?: Record<string, string>): string | undefined;
  file(address: string): Promise<Blob>;  // what stands there
  // Only a server has these; a document refuses them.
  models(): Promise<ModelsAnswer>;
  texts(language: string): Promise<TextsAnswer>;
  trace(request: TraceRequest, signal?: AbortSignal): Promise<PageDocument>;
  lessons(language: string): Promise<Lesson[]>;
  lesson(name: string): Promise<PageDocument>;
  // A tensor of any trace that the server holds, or a part of its last two axes.
  numbers(trace: string, run: number, name: string, rows?: [number, number], columns?: [number, number]): Promise<{ shape: number[]; values: Float32Array | Float64Array }>;
  // Any other route, for the views that are about one: get("/api/jobs"), post("/api/predict", {...}); and its events, until it ends or is aborted. A Blob is sent as it is.
  ask<T>(method: "GET" | "POST" | "DELETE", path: string, body?: unknown, signal?: AbortSignal): Promise<T>;
  stream(method: "GET" | "POST", path: string, body: unknown, take: (event: ServerEvent) => void, signal?: AbortSignal): Promise<void>;
}

export let source: Source;
export function setSource(chosen: Source): void { source = chosen; }

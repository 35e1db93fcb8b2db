// Experiments on heads: jobs of the server and what comes of them, as `headlight heads … --json` says it.
export interface JobFacts {
  id: string; kind: string; name: string | null; model: string;
  state: "queued" | "running" | "paused" | "done" | "failed" | "cancelled";
  created: string; progress: number; error: string | null; written: string | null;
  request?: Record<string, any>; result?: any;
}

export interface ScoreResult { heads: ({ head: string; gradient: number; gradient_signed: number; role: string } & Record<string, number | string | null | object>)[]; examples: number; loss: number }
export interface AblateResult { loss: number; exact_match?: number; heads: { head: string; loss: number; change: number; exact_match?: number }[]; by: string; examples: number }
export interface GatesResult { penalty: number; steps: number; open: number; heads: { head: string; probability: number; value: number; open: boolean }[]; before: { loss: number }; binary: { loss: number } }
export interface AttributeResult { measured: number; sum: number; parts: { part: string; kind: string; value: number }[]; word: { token: string }; against: { token: string } | null }
export interface PatchResult {
  clean: number; corrupt: number; direction: "clean_into_corrupt" | "corrupt_into_clean"; correlation: number | null;
  heads: { head: string; position: number; restored: number | null; estimated: number | null }[];
  whole_heads: { head: string; restored: number | null; estimated: number | null }[];
  word: { token: string }; against: { token: string } | null;
  clean_tokens: string[]; corrupt_tokens: string[]; clean_source_tokens?: string[]; corrupt_source_tokens?: string[];
}
export interface CurvePoint { removed: number; heads: number; quality: number; loss: number; low?: number; high?: number }
export interface CurveResult { curves: { method: string; type: string; finetuned: boolean; points: CurvePoint[]; orders?: number }[]; metric: string; higher_is_better: boolean; examples: number }
export interface PruneResult {
  by?: string; heads: number; kept: number; removed: { head: string; round: number; score: number }[];
  parameters: { before: number; after: number }; bytes: { before: number; after: number };
  before?: { loss: number; exact_match?: number }; pruned?: { loss: number; exact_match?: number }; finetuned?: { loss: number; exact_match?: number };
}
export interface BenchRow { batch: number; tokens: number; bound: number; measured: number; low: number; high: number; saved: number | null; reason: string }
export interface BenchResult { rows: BenchRow[]; threads: number }

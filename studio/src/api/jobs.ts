// Jobs of the server, and what a training tells: docs/api.md, Jobs.
import type { HeadsAnswer } from "./source";

export interface JobFacts {
  id: string; kind: string; name: string | null; state: "queued" | "running" | "paused" | "done" | "failed" | "cancelled";
  created: string; progress: number; error: string | null; written: string | null; events: number;
  request?: { task?: string; name?: string; probe?: string; probe_target?: string; keys?: Record<string, string | number | boolean> };
  result?: Record<string, number> | null;
}
export interface TrainStart { event: "start"; step: number; task: string; parameters: number; data: string; steps: number; memory: string; estimated_seconds: number }
export interface TrainStep { event: "step"; step: number; train_loss: number | null; learning_rate: number; gradient_norm: number | null; tokens_per_second: number; seconds_left: number | null }
export interface TrainEvaluation { event: "eval"; step: number; valid_loss: number | null; tokens_per_second: number; sample: string }
// Tokens are of what the model reads; an encoder-decoder's sources are source_tokens.
export interface HeadsFrame extends HeadsAnswer { step: number; tokens: string[]; source_tokens: string[] }

// What POST /api/predict is asked and answers: the words that could come next, and what is written.

export interface PredictRequest {
  model?: string; trace?: string; run?: number;
  prompt?: string; source?: string; ids?: number[]; source_ids?: number[]; append_ids?: number[]; special?: boolean; at?: number;
  max_new_tokens?: number; temperature?: number; top_k?: number; top_p?: number; seed?: number;
  best?: number; stages?: boolean; heads_off?: string[]; lens?: boolean; attention?: string[]; stream?: boolean;
}

export interface PredictedWord { id: number; token: string; logit: number | null; probability: number | null }
export interface StagedWord extends Omit<PredictedWord, "probability"> { penalized: number | null; tempered: number | null; top_k: boolean; top_p: boolean; min_p: boolean; drawn_with: number | null }
export interface LensWord { word: string; id: number; logit: number | null; probability: number | null; rank: number }
export interface Lens { final_norm: string; layers: { layer: string; words: LensWord[]; word: LensWord }[] }
export interface HeadRow { head: string; keys: number; weights: string }

export interface PredictedToken {
  position: number; id: number; token: string; text: string; probability: number | null; log_probability: number | null; is_stop: boolean;
  best: PredictedWord[];
  with_all_heads?: PredictedWord[];
  stages?: StagedWord[];
  kept?: { top_k: number; top_p: number; min_p: number };
  lens?: Lens;
  attention?: HeadRow[];
}
export interface PredictStart { model: string; prompt_ids: number[]; prompt_tokens: string[]; source_ids: number[]; source_tokens: string[]; masked_at?: number }
export interface PredictEnd { ids: number[]; text: string; log_probability: number | null; stopped: string }
export interface PredictAnswer extends PredictStart, PredictEnd { tokens: PredictedToken[] }

// What is chosen. The address after "#" holds it (address.ts), so that a place in the page can be linked to.

// A number of a tensor.
export interface Cell { name: string; index: number[] }

export interface State {
  lang: string;
  theme: "" | "light" | "dark";  // empty: as the system
  panel: string;                 // the name of a view
  model: string;
  text: string;                  // the sentence
  target: string;                // what should follow, where the model is taught by sentences
  train: boolean;                // it was taught before it was looked at
  lesson: string;                // the lesson that is open
  run: number;                   // of the runs of a document: before and after training
  heads: Record<string, number>; // the index of the chosen head by place; absent: the one that is shown first
  rows: Record<string, number>;  // the chosen query by place
  place: string;                 // the attention that is looked at: "decoder.0.self"; empty: where heads tell most
  lines: boolean;                // heads as lines, or as heat maps
  trail: Cell[];                 // cells that were asked why, the last is shown
  asked?: { cell?: Cell; which?: number; element?: Element | null };
  position?: number;             // whose next word is shown
  exercise: boolean;
  score?: string;                // of a report: the score on the map of heads, the head and the sentence that are chosen
  head?: string;
  sentence: number;
}

export const state: State = {
  lang: "en", theme: "", panel: "walk", model: "", text: "", target: "", train: false, lesson: "", run: 0, heads: {}, rows: {}, place: "", lines: true, trail: [], exercise: false, sentence: 0,
};

// The document that is open, and the runs in it.
import type { PageDocument } from "../api/types";
import { state } from "../state/state";
import { Run, visible } from "./run";

// Before anything is opened.
const nothing: PageDocument = {
  language: "en", version: "", source: "", sentences: [], asked: [], vocabulary_size: 0, vocabulary: [], labels: {}, place: "", command: "", losses: [], steps: [],
  operations: {}, texts: {}, runs: [],
};

export let data: PageDocument = nothing;
export let runs: Run[] = [];
export let vocabularyLabels: string[] = [];
export let stepNumbers: Record<string, number> = {};

export function openDocument(opened: PageDocument): void {
  data = { ...nothing, ...opened };
  vocabularyLabels = data.vocabulary.map(visible);
  for (const [id, label] of Object.entries(data.labels)) vocabularyLabels[Number(id)] = visible(label);
  stepNumbers = Object.fromEntries(data.steps.map((step) => [step.name, step.number]));
  runs = data.runs.map((run) => new Run(run));
  state.run = runs.length - 1;
}

export function hasRun(): boolean { return runs.length > 0; }
export function run(): Run { return runs[state.run] as Run; }
export function wordOfId(id: number): string { return vocabularyLabels[id] ?? String(id); }

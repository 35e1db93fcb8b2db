// A training that is followed: what its job has told so far, and its events until it ends or is left.
import type { HeadsFrame, JobFacts, TrainEvaluation, TrainStart, TrainStep } from "../../api/jobs";
import { ApiError, source, type ServerEvent } from "../../api/source";

const secondsBetweenTries = 2;
const mostPictures = 20_000;  // of heads that are kept

export function isOver(state: JobFacts["state"] | undefined): boolean { return state === "done" || state === "failed" || state === "cancelled"; }

export class Training {
  facts?: JobFacts;
  start?: TrainStart;
  steps: TrainStep[] = [];
  evaluations: TrainEvaluation[] = [];
  frames: HeadsFrame[] = [];
  isLost = false;  // the server does not answer
  isGone = false;  // the server does not know it
  private last = 0;
  private control: AbortController | undefined;
  constructor(readonly id: string, private readonly changed: () => void) {}

  async follow(): Promise<void> {
    this.leave();
    const own = (this.control = new AbortController());
    while (!own.signal.aborted) {
      try {
        this.facts = await source.ask<JobFacts>("GET", `/api/jobs/${this.id}`, undefined, own.signal);
        this.isLost = false;
        this.changed();
        await source.stream("GET", `/api/jobs/${this.id}/events?after=${this.last}`, undefined, (event) => this.take(event), own.signal);
        if (isOver(this.facts.state)) break;
      } catch (error) {
        if (own.signal.aborted) return;
        this.isGone = error instanceof ApiError && error.status === 404;
        this.isLost = !this.isGone;
        this.changed();
        if (this.isGone) break;
      }
      await new Promise((done) => setTimeout(done, 1000 * secondsBetweenTries));
    }
    this.changed();
  }
  leave(): void { this.control?.abort(); this.control = undefined; }

  // What comes of it is told by its events, which may be here before the answer.
  async ask(what: "pause" | "resume"): Promise<void> {
    await source.ask<JobFacts>("POST", `/api/jobs/${this.id}/${what}`);
    // Events end with a failure.
    if (what === "resume" && this.facts && isOver(this.facts.state)) void this.follow();
    this.changed();
  }

  private take({ event, id, data }: ServerEvent): void {
    if (id !== undefined) this.last = Number(id);
    if (event === "state") this.facts = { ...this.facts, ...data };
    else if (event === "progress" && this.facts) this.facts.progress = data.progress;
    else if (event === "result" && this.facts) this.facts.result = data;
    else if (event === "heads") this.takeFrame(data);
    else if (event === "train") this.takeLine(data);
    this.changed();
  }
  private takeFrame(frame: HeadsFrame): void {
    this.frames = [...this.frames.filter((one) => one.step < frame.step), frame];
    // Of a long film every second of the older pictures is left out.
    const half = this.frames.length / 2;
    if (this.frames.length * frame.heads.length > mostPictures) this.frames = this.frames.filter((_, i) => i >= half || i % 2 === 0);
  }
  private takeLine(line: any): void {
    if (line.event === "start") {
      // It goes on from its checkpoint: what came after that is told again.
      const isBefore = (one: { step: number }) => one.step <= line.step;
      this.start = line;
      this.steps = this.steps.filter(isBefore);
      this.evaluations = this.evaluations.filter(isBefore);
      this.frames = this.frames.filter(isBefore);
    } else if (line.event === "step") this.steps.push(line);
    else if (line.event === "eval") this.evaluations.push(line);
  }

  // The last step that is known of.
  get step(): number { return Math.max(this.steps.at(-1)?.step ?? 0, this.evaluations.at(-1)?.step ?? 0, Math.round((this.facts?.progress ?? 0) * (this.start?.steps ?? 0))); }
  get probe(): string { return this.facts?.request?.probe ?? ""; }
}

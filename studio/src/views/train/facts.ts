// What is known of a training at a glance: its state, how far it is, how long it will take, its losses.
import type { JobFacts } from "../../api/jobs";
import { element, type Child, type Words } from "../../draw/element";
import { number, percent, short } from "../../texts/numbers";
import { text } from "../../texts/words";
import { isOver, type Training } from "./training";

// Whole seconds, minutes or hours.
export function duration(seconds: number): Words {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return text("studio.train.seconds", { seconds: whole });
  if (whole < 3600) return text("studio.train.minutes", { minutes: Math.floor(whole / 60), seconds: whole % 60 });
  return text("studio.train.hours", { hours: Math.floor(whole / 3600), minutes: Math.floor((whole % 3600) / 60) });
}

// 123456 as "123 456".
function grouped(whole: number): string { return String(Math.round(whole)).replace(/\B(?=(\d{3})+$)/g, "\u202f"); }

export function stateBadge(state: JobFacts["state"]): HTMLElement { return element("span", { class: `state ${state}` }, text(`studio.train.state.${state}`)); }

export function progressBar(share: number, label: Words): HTMLElement {
  const whole = Math.round(100 * share);
  return element("span", { class: "progress", role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": whole }, element("i", { style: { width: `${(100 * share).toFixed(1)}%` } }));
}

export function factsOf(training: Training): Child {
  const { facts, start, steps, evaluations } = training;
  if (!facts) return undefined;
  const [step, evaluation] = [steps.at(-1), evaluations.at(-1)];
  const fact = (name: string, label: Words, value: Child) => element("div", { "data-fact": name }, element("dt", {}, label), element("dd", {}, value));
  const left = facts.state === "running" ? step?.seconds_left ?? start?.estimated_seconds : undefined;
  return element("dl", { class: "train-facts" },
    start && fact("step", text("label.step"), [String(training.step), element("small", {}, ` / ${start.steps}`)]),
    left !== undefined && left !== null && !isOver(facts.state) && fact("left", text("studio.train.left"), duration(left)),
    (step ?? evaluation) && fact("speed", text("studio.train.speed"), grouped(step?.tokens_per_second ?? evaluation?.tokens_per_second ?? 0)),
    step && fact("train_loss", text("studio.train.train_loss"), number(step.train_loss ?? NaN, short)),
    evaluation && fact("valid_loss", text("studio.train.valid_loss"), number(evaluation.valid_loss ?? NaN, short)),
    start && fact("parameters", text("label.parameters"), grouped(start.parameters)),
    facts.result?.exact_match !== undefined && fact("exact_match", text("studio.train.exact"), percent(facts.result.exact_match)));
}

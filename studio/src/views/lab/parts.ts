// What the cards of the lab have in common: fields that say what is wrong with them, how far a job is, the head that is chosen.
import { button, element, fill, type Child, type Words } from "../../draw/element";
import { number, percent, prose, signed } from "../../texts/numbers";
import { text } from "../../texts/words";
import { hasRun } from "../../trace/document";
import { chosenHead } from "../../trace/heads";
import { cancel, experimentOf, kinds, type Purpose } from "./experiments";

export const three = (x: number) => prose(x, 3);
export const two = (x: number) => prose(x, 2);
// Short enough for a cell.
export const inCell = (x: number) => { const size = Math.abs(x); return size !== 0 && size < 1e-3 ? signed(size.toExponential(1), x) : prose(x, 2); };
export function head(): string { return hasRun() ? chosenHead() : ""; }

type Input = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
// An input under its name, with room for what the server says of it.
export function field(form: string, name: string, label: Words, input: Input, className = ""): HTMLElement {
  const id = `${form}-${name}-said`;
  input.name = name;
  input.setAttribute("aria-describedby", id);
  return element("label", { class: `lab-field ${className}` }, element("span", {}, label), input, element("small", { class: "said", id, "data-field": name, role: "alert" }));
}
export function textInput(value: string, changed: (value: string) => void, attributes: Record<string, string> = {}): HTMLInputElement {
  const made = element("input", { type: "text", autocomplete: "off", spellcheck: "false", value, ...attributes, input: () => changed(made.value) });
  return made;
}
export function numberInput(value: number, least: number, changed: (value: number) => void, step: number | "any" = 1): HTMLInputElement {
  const made = element("input", { type: "number", min: least, step, value, input: () => changed(Number(made.value)) });
  return made;
}

// Puts what is wrong beside the field it is about, where that is on the page; gives what is left to say elsewhere.
export function sayProblems(within: ParentNode, asked: Purpose[]): string {
  for (const one of within.querySelectorAll<HTMLElement>("small.said")) fill(one);
  for (const one of within.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
  const rest: string[] = [];
  for (const purpose of asked) {
    const problem = experimentOf(purpose)?.problem;
    if (!problem) continue;
    const said = problem.field && within.querySelector(`small[data-field="${CSS.escape(problem.field)}"]`);
    if (!said) { rest.push(problem.message); continue; }
    fill(said, problem.message);
    within.querySelector(`[name="${CSS.escape(problem.field as string)}"]`)?.setAttribute("aria-invalid", "true");
  }
  return [...new Set(rest)].join(" ");
}

// Jobs at work, each with a way to stop it. Progress moves without drawing anew.
export function atWork(asked: Purpose[]): Child {
  return asked.filter((purpose) => experimentOf(purpose)?.isRunning).map((purpose) => {
    const job = experimentOf(purpose)?.job;
    return element("p", { class: "at-work", "data-purpose": purpose }, element("span", {}, text(`studio.lab.kind.${kinds[purpose]}`)), " ",
      element("progress", { max: 1, value: job?.progress ?? 0, "aria-label": text(`studio.lab.kind.${kinds[purpose]}`) }), " ", element("span", { class: "share" }, percent(job?.progress ?? 0)), " ",
      button(text("studio.lab.stop"), { class: "plain", click: () => void cancel(purpose) }));
  });
}
export function moveProgress(purpose: Purpose): void {
  const share = experimentOf(purpose)?.job?.progress ?? 0;
  for (const one of document.querySelectorAll(`.at-work[data-purpose="${purpose}"]`)) {
    const bar = one.querySelector("progress");
    if (bar) bar.value = share;
    const told = one.querySelector(".share");
    if (told) fill(told, percent(share));
  }
}
export function digits(x: number | null | undefined, write: (x: number) => string = three): Words { return x === null || x === undefined ? "–" : number(x, write); }

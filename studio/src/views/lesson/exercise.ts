// Exercises: cells of a lesson that are blank until somebody fills them in.
import type { Exercise, LessonArray } from "../../api/types";
import { breakable, button, element, fill, told, type Child, type Told } from "../../draw/element";
import { tableCellAt } from "../../draw/matrix";
import { state, type Cell } from "../../state/state";
import { decimals, long, signed, special } from "../../texts/numbers";
import { text, wordsOf } from "../../texts/words";
import { data } from "../../trace/document";
import { indexAt } from "../../trace/run";
import { cellText, type MatrixView } from "../../trace/views";
import { askWhy } from "../why";
import { lesson, matrixWith } from "./lesson";

const longestAnswer = 100;
export const answered = new Map<Exercise, "right" | "shown">();  // exercises that are done

export function exercisesAt(step: number, array: number): Exercise[] { return lesson().exercises.filter((one) => one.step === step && one.array === array); }
function isBlank(exercise: Exercise): boolean { return state.exercise && !answered.has(exercise); }
function examples(): string { return wordsOf("language.decimal") === "," ? "0,53 · 0.53 · −2 · 1/2" : "0.53 · 0,53 · −2 · 1/2"; }

export function exerciseIntroduction(): HTMLElement {
  return element("div", { class: "exercise-intro" }, element("p", {}, text("exercise.page")), element("p", {}, told(() => wordsOf("exercise.tolerance", { examples: examples() }))),
    element("p", { id: "score", "aria-live": "polite" }, score()));
}
function score(): Told {
  return told(() => wordsOf("page.score", { right: lesson().exercises.filter((one) => answered.get(one) === "right").length, count: lesson().exercises.length }));
}

// With as many decimals as it has, up to four.
function fourDecimals(x: number): string {
  if (!Number.isFinite(x)) return special(x);
  const digits = [0, 1, 2, 3].find((count) => Number.isInteger(x * 10 ** count)) ?? 4;
  return Math.abs(x) < 5e-5 && x !== 0 ? long(x) : signed(decimals(Math.abs(x), digits), x);
}

// Puts inputs in place of numbers, and below the matrix what is given for each.
export function blanks(figure: HTMLElement, shown: HTMLElement, view: MatrixView, array: LessonArray, exercises: Exercise[]): Child {
  return exercises.map((exercise) => {
    const at = matrixWith(array, exercise.place);
    if (!at?.every((one, axis) => one === array.at?.[axis])) return undefined;
    const [r = 0, c = 0] = indexAt([array.rows, array.columns], exercise.place % (array.rows * array.columns));
    const cell = { name: view.tensor.name, index: view.index(r, c) };
    const td = tableCellAt(shown, r, c);
    if (!isBlank(exercise)) {
      const how = answered.get(exercise);
      if (how) td.classList.add(how);
      return undefined;
    }
    const said = element("p", { class: "said", "aria-live": "polite" });
    const input = element("input", { type: "text", inputmode: "decimal", autocomplete: "off", maxlength: 200, "aria-label": told(() => `${wordsOf("page.your_answer")}: ${cellText(cell)}`) });
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") tryAnswer(exercise, input.value, said, figure, cell);
    });
    makeBlank(td, input);
    return element("div", { class: "exercise", "data-exercise": lesson().exercises.indexOf(exercise) },
      element("p", {}, element("code", {}, breakable(cellText(cell)), " = ?")),
      element("ul", { "aria-label": text("exercise.given") }, exercise.given.map((one) => element("li", {}, givenName(one), " = ", told(() => one.values.map((value) => fourDecimals(Number(value))).join("; "))))),
      said, button(text("page.show_answer"), { class: "plain", click: () => finish(exercise, "shown", figure, cell) }));
  });
}
// Neither a click nor a key asks why, as long as it is blank.
function makeBlank(td: HTMLElement, content: HTMLElement): void {
  td.classList.add("blank");
  td.replaceChildren(content);
  td.addEventListener("click", (event) => { event.stopPropagation(); content.focus(); });
  td.addEventListener("keydown", (event) => {
    if (!["Enter", " ", "w"].includes(event.key)) return;
    event.stopPropagation();
    event.preventDefault();
    content.focus();
  });
}
function givenName({ name, ingredient }: Exercise["given"][number]): Child {
  return [ingredient ? text(`cell.ingredient.${ingredient}`) : undefined, ingredient && name ? " " : undefined, name ? element("code", {}, name) : undefined];
}

function tryAnswer(exercise: Exercise, line: string, said: HTMLElement, figure: HTMLElement, cell: Cell): void {
  const { kind, number: typed } = readAnswer(line);
  if (kind === "nothing") return;
  if (kind === "question") return finish(exercise, "shown", figure, cell);
  if (typed === undefined) return fill(said, told(() => wordsOf(`exercise.${kind}`, { examples: examples() })));
  const { verdict, mistake } = judge(exercise, typed);
  if (verdict === "right") return finish(exercise, "right", figure, cell);
  said.dataset.verdict = mistake?.key ?? verdict;
  fill(said, mistake ? told(() => wordsOf("exercise.wrong", { mistake: wordsOf(`mistake.${mistake.key}`, { term: mistake.term }) })) : text(`exercise.${verdict}`));
}

// The number is there again. What was shown is told why; after a right answer the next blank waits.
function finish(exercise: Exercise, how: "right" | "shown", figure: HTMLElement, cell: Cell): void {
  answered.set(exercise, how);
  for (const other of document.querySelectorAll(`figure[data-tensor="${CSS.escape(cell.name)}"]`)) other.fill?.();
  hideBlanks();
  const told = document.getElementById("score");
  if (told) fill(told, score());
  if (how === "shown") askWhy(cell, { from: figure });
  else document.querySelector<HTMLElement>("td.blank input")?.focus({ preventScroll: true });
}

// What is asked for is blank wherever it stands.
export function hideBlanks(): void {
  if (!state.exercise || !data.lesson) return;
  for (const exercise of lesson().exercises.filter(isBlank)) {
    const array = lesson().steps[exercise.step]?.arrays[exercise.array];
    if (!array) continue;
    for (const td of document.querySelectorAll<HTMLElement>(`table[data-name="${CSS.escape(array.tensor)}"] td[data-o="${array.begin + exercise.place}"]:not(.blank)`)) {
      makeBlank(td, element("span", {}, "?"));
    }
  }
}

// As in a terminal: "0.53", "0,53", ".5", "−2", "1e-3", "1/3".
function readAnswer(line: string): { kind: string; number?: number } {
  const typed = line.trim();
  if (typed === "") return { kind: "nothing" };
  if (typed.length > longestAnswer) return { kind: "too_long" };
  if (typed === "?") return { kind: "question" };
  const parts = typed.replace(/[−–]/g, "-").replace(/,/g, ".").replace(/^\+(?!-)/, "").split("/").map((part) => part.trim());
  if (parts.length > 2 || !parts.every((part) => /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(part)) || (parts.length === 2 && Number(parts[1]) === 0)) return { kind: "no_number" };
  const number = parts.length === 2 ? Number(parts[0]) / Number(parts[1]) : Number(parts[0]);
  return Math.abs(number) > 1e12 ? { kind: "too_large" } : { kind: "number", number };
}

function answerTolerance(number: number): number { return Math.max(5e-5, 0.01 * Math.abs(number)); }
function judge(exercise: Exercise, number: number): { verdict: string; mistake?: Exercise["mistakes"][number] } {
  if (Math.abs(number - exercise.answer) <= exercise.tolerance) return { verdict: "right" };
  const near = exercise.mistakes.filter((one) => Math.abs(number - one.value) <= answerTolerance(one.value));
  if (near.length > 0) return { verdict: "wrong", mistake: near.reduce((best, one) => (Math.abs(number - one.value) < Math.abs(number - best.value) ? one : best)) };
  const isRounded = Math.abs(number - exercise.answer) <= 0.06 * Math.abs(exercise.answer) ||
    (number !== 0 && [1, 10, 100, 1000].some((unit) => Math.abs(number - Math.round(exercise.answer * unit) / unit) < 1e-9));
  return { verdict: isRounded ? "rounding" : "unknown" };
}

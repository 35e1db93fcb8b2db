// A lesson: its words in every language, and its arrays, whose cells can be asked why.
import type { LessonArray, LessonDocument, LessonWords, Tensor } from "../../api/types";
import { button, choice, element, fill, told, type Child, type Words } from "../../draw/element";
import { formulaOf, operationOf } from "../../draw/formula";
import { table } from "../../draw/matrix";
import { redraw, remember } from "../../page/page";
import { moveCard, type SideEntry } from "../../page/side";
import { state } from "../../state/state";
import { text } from "../../texts/words";
import { data, run } from "../../trace/document";
import { indexAt, offsetOf, visible } from "../../trace/run";
import { inkOf, type MatrixView } from "../../trace/views";
import { slip } from "../walk/cards";
import type { View } from "../view";
import { answer } from "../why";
import { blanks, exerciseIntroduction, exercisesAt, hideBlanks } from "./exercise";

export function lesson(): LessonDocument { return data.lesson as LessonDocument; }

export const lessonView: View = {
  name: "lesson",
  needs: "run",
  show(holder) {
    fill(holder, lessonCards());
    hideBlanks();
  },
  moveStep: moveCard,
  moveHead() { /* a lesson's arrays have choices of their own */ },
};
document.addEventListener("followed", hideBlanks);

export function exerciseSwitch(): Child {
  return data.lesson && state.panel === "lesson" && button(text("page.exercises"), { class: "plain", "aria-pressed": String(state.exercise), click: () => { state.exercise = !state.exercise; redraw(); remember(); } });
}

// Words of the lesson, in the chosen language wherever they stand.
function lessonWords(pick: (words: LessonWords) => string | undefined): Words { return told(() => pick(lesson().words[state.lang] as LessonWords) ?? ""); }

// The first card of a number has it in its link; others with the same one go on with it.
function lessonId(i: number): string {
  const number = lesson().steps[i]?.number;
  return lesson().steps.findIndex((step) => step.number === number) === i ? `step-${number}` : `step-${number}-${i}`;
}

export function lessonTitle(): string { return lesson().words[state.lang]?.title ?? ""; }

export function lessonEntries(): SideEntry[] {
  if (!data.lesson) return [];
  return lesson().steps.map(({ number }, i): SideEntry => [lessonId(i), lessonId(i) === `step-${number}` ? String(number) : "·", lessonWords((words) => words.steps[i]?.title)]);
}

function lessonCards(): Child {
  return [
    element("section", { class: "card hero", id: "opening", tabindex: "-1" }, element("h1", {}, lessonWords((words) => words.title)),
      element("p", { class: "lead" }, lessonWords((words) => words.intro)), state.exercise && exerciseIntroduction()),
    lesson().steps.map((_, i) => lessonCard(i)),
    element("footer", {}, text("page.lesson_made_by"), " ", element("code", {}, data.version)),
  ];
}

function lessonCard(i: number): Child {
  const step = lesson().steps[i];
  const own = lesson().words[state.lang]?.steps[i];
  if (!step || !own) return undefined;
  const paragraphs = (part: "paragraphs" | "afterwards") => own[part].map((_, k) => element("p", { class: "text" }, lessonWords((words) => words.steps[i]?.[part][k])));
  const figures = (part: "arrays" | "heads") => step[part].map((array, k) => arrayFigure(array, lessonWords((words) => words.steps[i]?.[part][k]), part === "arrays" ? exercisesAt(i, k) : []));
  return element("section", { class: "card", id: lessonId(i), tabindex: "-1", "data-step": step.number },
    element("h2", {}, element("span", { class: "number" }, step.number > 0 ? String(step.number) : "·"), lessonWords((words) => words.steps[i]?.title)),
    paragraphs("paragraphs"),
    own.tables.map((lines, t) => lessonTable(i, t, lines)),
    element("div", { class: "flow" }, figures("arrays")),
    step.heads.length > 0 && element("div", { class: "flow" }, figures("heads")),
    paragraphs("afterwards"), step.slips.map(slip));
}

function lessonTable(i: number, t: number, lines: string[][]): HTMLElement {
  const cell = (tag: "th" | "td", r: number, c: number) => element(tag, {}, lessonWords((words) => words.steps[i]?.tables[t]?.[r]?.[c]));
  return element("div", { class: "scroll" }, element("table", { class: "lesson-table" }, lines.map((line, r) => element("tr", {}, line.map((_, c) => cell(r === 0 ? "th" : "td", r, c))))));
}

// One matrix of an array at a time; of a large one its first rows and columns.
function arrayFigure(array: LessonArray, title: Words, exercises: ReturnType<typeof exercisesAt>): HTMLElement {
  const tensor = run().find(array.tensor) as Tensor;
  const made = element("figure", { class: `figure ink-${inkOf(tensor)}`, "data-tensor": array.tensor });
  array.at ??= array.outer.map(() => 0);
  made.fill = () => {
    const view = arrayView(array);
    const shown = table(view);
    fill(made, element("figcaption", {}, element("span", { class: "name" }, title),
      element("code", {}, `${array.tensor} `, element("span", { class: "shape", title: text("label.shape") }, `(${array.shape.join(" × ")})`)),
      formulaOf(tensor.formula), tensor.formula !== "" && element("span", { class: "does" }, operationOf(tensor.formula))),
    arrayPicks(array, made), element("div", { class: "scroll" }, shown), leftOutOf(array), state.exercise && blanks(made, shown, view, array, exercises));
  };
  // The matrix that has the cell becomes the one that is shown, where there is one.
  made.showCell = (cell) => {
    const at = matrixWith(array, offsetOf(tensor, cell.index) - array.begin);
    if (!at || at.every((one, axis) => one === array.at?.[axis])) return;
    array.at = at;
    made.fill?.();
  };
  made.fill();
  return made;
}

function arrayView(array: LessonArray): MatrixView {
  const tensor = run().find(array.tensor) as Tensor;
  const rank = array.shape.length;
  const matrix = array.outer.reduce((at, size, axis) => at * size + (array.at?.[axis] ?? 0), 0);
  const place = (r: number, c: number) => (matrix * array.rows + r) * array.columns + c;
  const labels = (axis: number) => (array.labels[axis] ?? []).map(visible);
  return { tensor, rows: array.shown_rows, columns: array.shown_columns, isTable: true, rowLabels: labels(Math.max(0, rank - 2)),
    columnLabels: rank > 1 ? labels(rank - 1) : undefined, index: (r, c) => indexAt(tensor.shape, array.begin + place(r, c)) };
}

// Which of its matrices a number of the array is in, by its place; undefined where it is not shown.
export function matrixWith(array: LessonArray, place: number): number[] | undefined {
  const size = array.rows * array.columns;
  if (place < 0 || place >= size * array.outer.reduce((product, one) => product * one, 1)) return undefined;
  const at = indexAt(array.outer, Math.floor(place / size));
  const [r = 0, c = 0] = indexAt([array.rows, array.columns], place % size);
  return r < array.shown_rows && c < array.shown_columns && at.every((one, axis) => one < (array.shown_outer[axis] as number)) ? at : undefined;
}

function arrayPicks(array: LessonArray, made: HTMLElement): Child {
  const at = array.at as number[];
  const name = (axis: number, i: number): Words => (array.axes[axis] === "head" ? text("place.head", { head: i }) : array.axes[axis] === "batch" ? text("page.sequence", { number: i }) : array.labels[axis]?.[i] ?? `[${i}]`);
  const picks = array.outer.map((_, axis) => (array.shown_outer[axis] as number) > 1 && choice(name(axis, at[axis] as number),
    Array.from({ length: array.shown_outer[axis] as number }, (_, i) => ({ label: name(axis, i), value: i })), at[axis] as number, (i) => { at[axis] = i; made.fill?.(); answer(); hideBlanks(); }));
  return picks.some(Boolean) && element("div", { class: "picks" }, picks);
}

function leftOutOf(array: LessonArray): Child {
  const [rows, columns] = [array.rows - array.shown_rows, array.columns - array.shown_columns];
  if (rows + columns === 0) return undefined;
  const key = rows === 0 ? "message.left_out.columns" : columns === 0 ? "message.left_out.rows" : "message.left_out";
  return element("p", { class: "note" }, text(key, { rows, all_rows: array.rows, columns, all_columns: array.columns }));
}

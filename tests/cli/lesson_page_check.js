// Put at the end of a lesson's page by lesson_page_test: asks every cell that is shown why, in every matrix and language; fills in exercises.
const wrong = [];
addEventListener("error", (event) => wrong.push(event.message));
function expect(holds, what) { if (!holds && wrong.length < 20) wrong.push(what); }

const computed = (tensor) => !["given", "parameter"].includes(tensor.operation);

// The terms of each cell of each matrix combine to the engine's number; its name leads back to it.
function checkFigure(figure) {
  const array = figure.querySelector("table.matrix");
  const view = shownMatrices.get(array);
  let cells = 0;
  for (let r = 0; r < view.rows; ++r) {
    for (let c = 0; c < view.columns; ++c, ++cells) {
      const cell = { name: view.tensor.name, index: view.index(r, c) };
      const value = run().value(cell);
      const explanation = new Explanation(cell);
      expect(value !== undefined, `${cellText(cell)} has no value`);
      expect(!explanation.missing, `${cellText(cell)}: ${explanation.missing} is not there`);
      const size = Math.max(1, Math.abs(value) || 0, ...explanation.terms.map((term) => (Number.isFinite(term.value) ? Math.abs(term.value) : 0)));
      expect(Object.is(explanation.combined, value) || Math.abs(explanation.combined - value) < 2e-6 * size, `${cellText(cell)} is ${value}, its terms give ${explanation.combined}`);
      if (computed(view.tensor)) expect(explanation.terms.length > 0 && explanation.combination !== "nothing", `${cellText(cell)} has no terms`);
      expect(JSON.stringify(cellOf(cellText(cell))) === JSON.stringify(cell), `${cellText(cell)} is not read back`);
    }
  }
  return cells;
}

// A click on the last cell answers with the operation and, where several numbers are added, their running sum.
function checkClick(figure) {
  const cells = figure.querySelectorAll("td[data-r]");
  cells[cells.length - 1].click();
  const { tensor } = shownMatrices.get(figure.querySelector("table.matrix"));
  expect(!drawer.hidden && drawer.querySelector(".value"), `${tensor.name} does not answer a click`);
  if (computed(tensor)) expect(drawer.querySelector(".terms, .ingredients"), `${tensor.name} answers without terms`);
  const rows = drawer.querySelectorAll(".terms tr").length;
  if (rows > 2 && tensor.operation !== "row_max") expect(drawer.querySelector(".running"), `${tensor.name}: no running sum`);
}

function checkMatrices() {
  let cells = 0;
  let asked = 0;
  for (const figure of document.querySelectorAll("figure[data-tensor]")) {
    const array = lesson.steps.flatMap((step) => [...step.arrays, ...step.heads]).find((one) => one.tensor === figure.dataset.tensor);
    cells += checkFigure(figure);
    checkClick(figure);
    if (computed(run().find(array.tensor))) ++asked;
    for (const pick of [...figure.querySelectorAll(".picks .choice:first-child button")].slice(1, 2)) {
      pick.click();
      cells += checkFigure(figure);
    }
  }
  closeWhy();
  return [cells, asked];
}

// Words change, none is missing, and no key stands where its text should be.
function checkLanguages() {
  const seen = new Set();
  for (const lang of ["TR", "AZ", "KO", "EN"]) {
    [...document.querySelectorAll("#bar button")].find((one) => one.textContent === lang).click();
    seen.add(document.querySelector("h1").textContent);
    const left = /\b(page|label|message|operation|cell|slip|exercise|mistake|lesson)\.[a-z_]+\.?\w*\b/.exec(walk.innerText);
    expect(!left, `${lang}: ${left?.[0]}`);
    const unfilled = /\{\w+(\|\w+)?\}/.exec(document.body.innerText);
    expect(!unfilled, `${lang}: ${unfilled?.[0]}`);
    expect(document.querySelectorAll(".card[data-step]").length === lesson.steps.length, `${lang}: steps are missing`);
    for (const text of document.querySelectorAll(".card h2, .card p.text")) expect(text.textContent.trim() !== "", `${lang}: an empty text`);
  }
  expect(seen.size === 4, "languages look the same");
}

function type(exercise, line) {
  const box = document.querySelector(`[data-exercise="${lesson.exercises.indexOf(exercise)}"]`);
  const input = box?.closest("figure").querySelector(`td.blank[data-o="${lesson.steps[exercise.step].arrays[exercise.array].begin + exercise.place}"] input`);
  if (!input) return undefined;
  input.value = line;
  input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  return box;
}

// Each mistake is named, each right answer taken, with a point or a comma.
function checkExercises() {
  if (!state.exercise) [...document.querySelectorAll("#bar button")].find((one) => one.textContent === String(text("page.exercises"))).click();
  expect(lesson.exercises.length >= 5, `${lesson.exercises.length} exercises`);
  let named = 0;
  lesson.exercises.forEach((exercise, i) => {
    const array = lesson.steps[exercise.step].arrays[exercise.array];
    followInLesson({ name: array.tensor, index: indexAt(run().find(array.tensor).shape, array.begin + exercise.place) });
    const td = document.querySelector(`td.blank[data-o="${array.begin + exercise.place}"]`);
    td?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    td?.click();
    td?.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    expect(drawer.hidden && !td?.title, `exercise ${i} tells its answer`);
    const blank = type(exercise, "abc");
    expect(blank, `exercise ${i} is not there`);
    if (!blank) return;
    expect(blank.querySelector(".said").textContent !== "", "letters are taken for a number");
    for (const mistake of exercise.mistakes) {
      type(exercise, String(mistake.value));
      expect(blank.querySelector(".said").dataset.verdict === mistake.key, `exercise ${i}: ${mistake.value} is ${blank.querySelector(".said").dataset.verdict}, not ${mistake.key}`);
      expect(!blank.querySelector(".said").textContent.includes("mistake."), `${mistake.key} has no text`);
      ++named;
    }
    const right = String(exercise.answer);
    type(exercise, i % 2 === 0 ? right : right.replace(".", ",").replace("-", "−"));
    expect(answered.get(exercise) === "right", `exercise ${i}: ${right} is not taken`);
  });
  expect(document.querySelectorAll("td.blank").length === 0, "a blank is left");
  const last = document.getElementById("score").textContent;
  expect(last.includes(String(lesson.exercises.length)), `the score is ${last}`);
  return named;
}

let [cells, asked, named] = [0, 0, 0];
// All is laid out, so that all words are seen.
document.head.append(element("style", {}, ".card, .place, .group { content-visibility: visible !important; }"));
try {
  if (location.hash === "" && data.place === "") [cells, asked] = checkMatrices();
  checkLanguages();
  named = checkExercises();
} catch (error) {
  wrong.push(String(error.stack));
}
report(`cells: ${cells}, matrices: ${asked}, named: ${named}, wrong: ${wrong.length}\n${wrong.join("\n")}`);

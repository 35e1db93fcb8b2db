// Exercises: cells of a lesson that are blank until somebody fills them in.
const longestAnswer = 100;
const answered = new Map();  // exercises that are done: "right" or "shown"

function exercisesAt(step, array) { return lesson.exercises.filter((one) => one.step === step && one.array === array); }
function isBlank(exercise) { return state.exercise && !answered.has(exercise); }
function examples() { return data.texts[state.lang]["language.decimal"] === "," ? "0,53 · 0.53 · −2 · 1/2" : "0.53 · 0,53 · −2 · 1/2"; }

function exerciseSwitch() {
  return button(text("page.exercises"), { class: "plain", "aria-pressed": String(state.exercise), click: () => { state.exercise = !state.exercise; redraw(); remember(); } });
}

function exerciseIntroduction() {
  return element("div", { class: "exercise-intro" }, element("p", {}, text("exercise.page")), element("p", {}, told(() => wordsOf("exercise.tolerance", { examples: examples() }))),
    element("p", { id: "score", "aria-live": "polite" }, score()));
}
function score() { return told(() => wordsOf("page.score", { right: [...answered.values()].filter((how) => how === "right").length, count: lesson.exercises.length })); }

// With as many decimals as it has, up to four.
function fourDecimals(x) {
  if (!Number.isFinite(x)) return special(x);
  const digits = [0, 1, 2, 3].find((count) => Number.isInteger(x * 10 ** count)) ?? 4;
  return Math.abs(x) < 5e-5 && x !== 0 ? long(x) : signed(decimals(Math.abs(x), digits), x);
}

// Puts inputs in place of numbers, and below the matrix what is given for each.
function blanks(figure, shown, view, array, exercises) {
  return exercises.map((exercise) => {
    const at = matrixWith(array, exercise.place);
    if (!at.every((one, axis) => one === array.at[axis])) return undefined;
    const [r, c] = indexAt([array.rows, array.columns], exercise.place % (array.rows * array.columns));
    const cell = { name: view.tensor.name, index: view.index(r, c) };
    const td = tableCellAt(shown, r, c);
    if (!isBlank(exercise)) {
      td.classList.add(answered.get(exercise));
      return undefined;
    }
    const said = element("p", { class: "said", "aria-live": "polite" });
    const input = element("input", { type: "text", inputmode: "decimal", autocomplete: "off", maxlength: 200, "aria-label": told(() => `${wordsOf("page.your_answer")}: ${cellText(cell)}`) });
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") tryAnswer(exercise, input.value, said, figure, cell);
    });
    makeBlank(td, input);
    return element("div", { class: "exercise", "data-exercise": lesson.exercises.indexOf(exercise) },
      element("p", {}, element("code", {}, breakable(cellText(cell)), " = ?")),
      element("ul", { "aria-label": text("exercise.given") }, exercise.given.map((one) => element("li", {}, givenName(one), " = ", told(() => one.values.map((value) => fourDecimals(Number(value))).join("; "))))),
      said, button(text("page.show_answer"), { class: "plain", click: () => finish(exercise, "shown", figure, cell) }));
  });
}
// Neither a click nor a key asks why, as long as it is blank.
function makeBlank(td, content) {
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
function givenName({ name, ingredient }) {
  return [ingredient && text(`cell.ingredient.${ingredient}`), ingredient && name && " ", name && element("code", {}, name)].filter(Boolean);
}

function tryAnswer(exercise, line, said, figure, cell) {
  const { kind, number: typed } = readAnswer(line);
  if (kind === "nothing") return;
  if (kind === "question") return finish(exercise, "shown", figure, cell);
  if (kind !== "number") return fill(said, told(() => wordsOf(`exercise.${kind}`, { examples: examples() })));
  const { verdict, mistake } = judge(exercise, typed);
  if (verdict === "right") return finish(exercise, "right", figure, cell);
  said.dataset.verdict = mistake?.key ?? verdict;
  fill(said, mistake ? told(() => wordsOf("exercise.wrong", { mistake: wordsOf(`mistake.${mistake.key}`, { term: mistake.term }) })) : text(`exercise.${verdict}`));
}

// The number is there again. What was shown is told why; after a right answer the next blank waits.
function finish(exercise, how, figure, cell) {
  answered.set(exercise, how);
  for (const other of document.querySelectorAll(`figure[data-tensor="${CSS.escape(cell.name)}"]`)) other.fill();
  hideBlanks();
  fill(document.getElementById("score"), score());
  if (how === "shown") askWhy(cell, { from: figure });
  else document.querySelector("td.blank input")?.focus({ preventScroll: true });
}

// What is asked for is blank wherever it stands.
function hideBlanks() {
  if (!state.exercise) return;
  for (const exercise of lesson.exercises.filter(isBlank)) {
    const array = lesson.steps[exercise.step].arrays[exercise.array];
    for (const td of document.querySelectorAll(`table[data-name="${CSS.escape(array.tensor)}"] td[data-o="${array.begin + exercise.place}"]:not(.blank)`)) {
      makeBlank(td, element("span", {}, "?"));
    }
  }
}

// As in a terminal: "0.53", "0,53", ".5", "−2", "1e-3", "1/3".
function readAnswer(line) {
  const typed = line.trim();
  if (typed === "") return { kind: "nothing" };
  if (typed.length > longestAnswer) return { kind: "too_long" };
  if (typed === "?") return { kind: "question" };
  const parts = typed.replace(/[−–]/g, "-").replace(/,/g, ".").replace(/^\+(?!-)/, "").split("/").map((part) => part.trim());
  if (parts.length > 2 || !parts.every((part) => /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(part)) || (parts.length === 2 && Number(parts[1]) === 0)) return { kind: "no_number" };
  const number = parts.length === 2 ? Number(parts[0]) / Number(parts[1]) : Number(parts[0]);
  return Math.abs(number) > 1e12 ? { kind: "too_large" } : { kind: "number", number };
}

function answerTolerance(number) { return Math.max(5e-5, 0.01 * Math.abs(number)); }
function judge(exercise, number) {
  if (Math.abs(number - exercise.answer) <= exercise.tolerance) return { verdict: "right" };
  const near = exercise.mistakes.filter((one) => Math.abs(number - one.value) <= answerTolerance(one.value));
  if (near.length > 0) return { verdict: "wrong", mistake: near.reduce((best, one) => (Math.abs(number - one.value) < Math.abs(number - best.value) ? one : best)) };
  const isRounded = Math.abs(number - exercise.answer) <= 0.06 * Math.abs(exercise.answer) ||
    (number !== 0 && [1, 10, 100, 1000].some((unit) => Math.abs(number - Math.round(exercise.answer * unit) / unit) < 1e-9));
  return { verdict: isRounded ? "rounding" : "unknown" };
}

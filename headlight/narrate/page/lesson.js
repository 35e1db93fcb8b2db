// A lesson: its words in every language, and its arrays, whose cells can be asked why.
const { lesson } = data;

// Words of the lesson, in the chosen language wherever they stand.
function lessonWords(pick) { return told(() => pick(lesson.words[state.lang]) ?? ""); }

// The first card of a number has it in its link; others with the same one go on with it.
function lessonId(i) {
  const { number } = lesson.steps[i];
  return lesson.steps.findIndex((step) => step.number === number) === i ? `step-${number}` : `step-${number}-${i}`;
}

function lessonTitle() { return lesson.words[state.lang].title; }

// Words for the positions of the run that a tensor belongs to.
function lessonLabels(axis, tensor) {
  const words = lesson.runs[tensor?.of];
  const labels = axis === "token" ? words?.tokens : axis === "source_token" ? words?.source_tokens : axis === "vocabulary" ? words?.vocabulary : [];
  return (labels ?? []).map(visible);
}

function lessonEntries() {
  return lesson.steps.map(({ number }, i) => [lessonId(i), lessonId(i) === `step-${number}` ? String(number) : "·", lessonWords((words) => words.steps[i].title)]);
}

function lessonCards() {
  return [
    element("section", { class: "card hero", id: "opening", tabindex: "-1" }, element("h1", {}, lessonWords((words) => words.title)),
      element("p", { class: "lead" }, lessonWords((words) => words.intro)), state.exercise && exerciseIntroduction()),
    lesson.steps.map((_, i) => lessonCard(i)),
    element("footer", {}, text("page.lesson_made_by"), " ", element("code", {}, data.version)),
  ];
}

function lessonCard(i) {
  const step = lesson.steps[i];
  const own = lesson.words[state.lang].steps[i];
  const paragraphs = (part) => own[part].map((_, k) => element("p", { class: "text" }, lessonWords((words) => words.steps[i][part][k])));
  const figures = (part) => step[part].map((array, k) => arrayFigure(array, lessonWords((words) => words.steps[i][part][k]), part === "arrays" ? exercisesAt(i, k) : []));
  return element("section", { class: "card", id: lessonId(i), tabindex: "-1", "data-step": step.number },
    element("h2", {}, element("span", { class: "number" }, step.number > 0 ? String(step.number) : "·"), lessonWords((words) => words.steps[i].title)),
    paragraphs("paragraphs"),
    own.tables.map((lines, t) => lessonTable(i, t, lines)),
    element("div", { class: "flow" }, figures("arrays")),
    step.heads.length > 0 && element("div", { class: "flow" }, figures("heads")),
    paragraphs("afterwards"), step.slips.map(slip));
}

function lessonTable(i, t, lines) {
  const cell = (tag, r, c) => element(tag, {}, lessonWords((words) => words.steps[i].tables[t]?.[r]?.[c]));
  return element("div", { class: "scroll" }, element("table", { class: "lesson-table" }, lines.map((line, r) => element("tr", {}, line.map((_, c) => cell(r === 0 ? "th" : "td", r, c))))));
}

// One matrix of an array at a time; of a large one its first rows and columns.
function arrayFigure(array, title, exercises) {
  const tensor = run().find(array.tensor);
  const made = element("figure", { class: `figure ink-${inkOf(tensor)}`, "data-tensor": array.tensor });
  array.at ??= array.outer.map(() => 0);
  made.fill = () => {
    const view = arrayView(array);
    const shown = table(view);
    fill(made, element("figcaption", {}, element("span", { class: "name" }, title),
      element("code", {}, `${array.tensor} `, element("span", { class: "shape", title: text("label.shape") }, `(${array.shape.join(" × ")})`)),
      formulaOf(tensor.formula), tensor.formula && element("span", { class: "does" }, operationOf(tensor.formula))),
    arrayPicks(array, made), element("div", { class: "scroll" }, shown), leftOutOf(array), state.exercise && blanks(made, shown, view, array, exercises));
  };
  // The matrix that has the cell becomes the one that is shown; false: there is none.
  made.showCell = (cell) => {
    const at = matrixWith(array, offsetOf(tensor, cell.index) - array.begin);
    if (!at || at.every((one, axis) => one === array.at[axis])) return;
    array.at = at;
    made.fill();
  };
  made.fill();
  return made;
}

function arrayView(array) {
  const tensor = run().find(array.tensor);
  const rank = array.shape.length;
  const matrix = array.outer.reduce((at, size, axis) => at * size + array.at[axis], 0);
  const place = (r, c) => (matrix * array.rows + r) * array.columns + c;
  const labels = (axis) => (array.labels[axis] ?? []).map(visible);
  return { tensor, place, rows: array.shown_rows, columns: array.shown_columns, isTable: true, rowLabels: labels(Math.max(0, rank - 2)),
    columnLabels: rank > 1 ? labels(rank - 1) : undefined, index: (r, c) => indexAt(tensor.shape, array.begin + place(r, c)) };
}

// Which of its matrices a number of the array is in, by its place; undefined where it is not shown.
function matrixWith(array, place) {
  const size = array.rows * array.columns;
  if (place < 0 || place >= size * array.outer.reduce((product, one) => product * one, 1)) return undefined;
  const at = indexAt(array.outer, Math.floor(place / size));
  const [r, c] = indexAt([array.rows, array.columns], place % size);
  return r < array.shown_rows && c < array.shown_columns && at.every((one, axis) => one < array.shown_outer[axis]) ? at : undefined;
}

function arrayPicks(array, made) {
  const name = (axis, i) => (array.axes[axis] === "head" ? text("place.head", { head: i }) : array.axes[axis] === "batch" ? text("page.sequence", { number: i }) : array.labels[axis]?.[i] ?? `[${i}]`);
  const picks = array.outer.map((_, axis) => array.shown_outer[axis] > 1 && choice(name(axis, array.at[axis]),
    Array.from({ length: array.shown_outer[axis] }, (_, i) => ({ label: name(axis, i), value: i })), array.at[axis], (i) => { array.at[axis] = i; made.fill(); answer(); hideBlanks(); }));
  return picks.some(Boolean) && element("div", { class: "picks" }, picks);
}

function leftOutOf(array) {
  const [rows, columns] = [array.rows - array.shown_rows, array.columns - array.shown_columns];
  if (rows + columns === 0) return undefined;
  const key = rows === 0 ? "message.left_out.columns" : columns === 0 ? "message.left_out.rows" : "message.left_out";
  return element("p", { class: "note" }, text(key, { rows, all_rows: array.rows, columns, all_columns: array.columns }));
}

// Where the cell stands, its matrix is shown.
function followInLesson(cell) {
  for (const figure of document.querySelectorAll(`figure[data-tensor="${CSS.escape(cell.name)}"]`)) figure.showCell(cell);
  hideBlanks();
}

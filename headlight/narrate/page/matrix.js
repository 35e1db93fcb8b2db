// Matrices: small ones as tables whose digits can be selected, larger ones on a canvas. Every cell can be asked why.
const shownMatrices = new WeakMap();  // the matrix of each table and canvas

function largestOf(tensor) {
  if (tensor.attention || tensor.name === "probabilities") return 1;
  if (tensor.largest === undefined) {
    tensor.largest = 0;
    for (const value of tensor.values ?? []) if (Number.isFinite(value)) tensor.largest = Math.max(tensor.largest, Math.abs(value));
  }
  return tensor.largest || 1;
}

function matrix(tensor) {
  const view = matrixOf(tensor);
  if (run().value({ name: tensor.name, index: view.index(0, 0) }) === undefined) return leftOut(tensor);
  return [element("div", { class: "scroll" }, view.isTable ? table(view) : canvas(view)),
    view.words && element("p", { class: "note" }, text("page.words_shown", { shown: view.columns, all: lastOf(tensor.shape) }))];
}

function leftOut(tensor) {
  return element("p", { class: "left-out" }, text("page.left_out"), element("br"), element("code", {}, `${data.command} --only ${tensor.name}`));
}

function table(view) {
  const { tensor, columnLabels } = view;
  // What shows one query keeps its width when another is chosen.
  const made = element("table", { class: `matrix ink-${inkOf(tensor)}${view.query === undefined ? "" : " steady"}`, role: "grid", "data-name": tensor.name, "aria-label": titleOf(tensor) });
  if (columnLabels) {
    made.append(element("thead", {}, element("tr", {}, element("th"),
      Array.from({ length: view.columns }, (_, c) => element("th", { scope: "col" }, columnLabels[c] ?? String(c))))));
  }
  const most = largestOf(tensor);
  const body = element("tbody", {});
  for (let r = 0; r < view.rows; ++r) {
    const row = element("tr", {}, element("th", { scope: "row", title: view.rowLabels[r] }, view.rowLabels[r] ?? (view.rows > 1 ? String(r) : "")));
    for (let c = 0; c < view.columns; ++c) row.append(tableCell(view, r, c, most));
    body.append(row);
  }
  made.append(body);
  shownMatrices.set(made, view);
  // Only the decimal sign follows the language.
  let sign = short(0.5);
  made.retell = () => {
    if (short(0.5) === sign) return;
    sign = short(0.5);
    for (const cell of body.querySelectorAll("td")) cell.firstChild.data = short(run().value({ name: tensor.name, index: view.index(Number(cell.dataset.r), Number(cell.dataset.c)) }));
  };
  return made;
}

function tableCell(view, r, c, most) {
  const index = view.index(r, c);
  const value = run().value({ name: view.tensor.name, index });
  const strength = Number.isFinite(value) ? Math.min(1, Math.abs(value) / most) : 0;
  const kind = !Number.isFinite(value) ? "none" : value < 0 ? "minus" : undefined;
  return element("td", { class: kind, role: "gridcell", tabindex: r + c === 0 ? "0" : "-1", "data-r": r, "data-c": c,
    "data-o": offsetOf(view.tensor, index), style: { "--s": strength.toFixed(3) } }, short(value));
}

// One small rectangle per cell, the words of rows and columns beside it, and below it the number under the pointer or the cursor.
function canvas(view, room = 900) {
  const width = Math.max(120, Math.min(room, (document.querySelector("main")?.clientWidth || room) - 150));
  const side = Math.max(1, Math.min(14, Math.floor(width / view.columns), Math.floor(560 / view.rows)));
  const made = element("canvas", { class: "matrix", tabindex: "0", role: "img", "data-name": view.tensor.name, width: view.columns, height: view.rows,
    "aria-label": told(() => `${titleOf(view.tensor)}, ${view.rows} × ${view.columns}`), style: { width: `${view.columns * side}px`, height: `${view.rows * side}px` } });
  const readout = element("p", { class: "readout", "aria-live": "polite" }, `${view.rows} × ${view.columns}`);
  view.side = side;
  view.cursor = [0, 0];
  view.paint = () => paint(made, view);
  view.tell = (r, c) => {
    const cell = { name: view.tensor.name, index: view.index(r, c) };
    fill(readout, [`[${r},${c}]`, ...cellLabels(cell)].join("  "), "  ", number(run().value(cell)));
  };
  made.addEventListener("pointermove", (event) => view.tell(...pointed(view, event)));
  shownMatrices.set(made, view);
  view.paint();
  return [element("div", { class: "labelled" }, element("span"), axisLabels("columns", view.columnLabels ?? [], view.columns, side),
    axisLabels("rows", view.rowLabels, view.rows, side), made), readout];
}

// As many as have room; positions without words have numbers.
function axisLabels(kind, labels, count, side) {
  if (count === 1) return element("span");
  const every = Math.max(1, Math.ceil(11 / side));
  const made = Array.from({ length: Math.ceil(count / every) }, (_, i) => element("span", {}, clipped(labels[i * every] ?? String(i * every))));
  return element("div", { class: `${kind}-labels`, "aria-hidden": "true", style: { "--step": `${every * side}px` } }, made);
}

function pointed(view, event) {
  return [Math.min(view.rows - 1, Math.max(0, Math.floor(event.offsetY / view.side))), Math.min(view.columns - 1, Math.max(0, Math.floor(event.offsetX / view.side)))];
}

function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim().split(" ").map(Number); }

function paint(made, view) {
  const most = largestOf(view.tensor);
  const [ink, minus] = [colour(inkOf(view.tensor)), colour("minus")];
  const image = new ImageData(view.columns, view.rows);
  for (let r = 0, at = 0; r < view.rows; ++r) {
    for (let c = 0; c < view.columns; ++c, at += 4) {
      const value = run().value({ name: view.tensor.name, index: view.index(r, c) });
      if (!Number.isFinite(value)) continue;
      [image.data[at], image.data[at + 1], image.data[at + 2]] = value < 0 ? minus : ink;
      image.data[at + 3] = 255 * (0.04 + 0.9 * Math.min(1, Math.abs(value) / most));
    }
  }
  made.getContext("2d").putImageData(image, 0, 0);
}
// In the colours of the theme.
function repaint() { for (const made of document.querySelectorAll("canvas.matrix")) shownMatrices.get(made)?.paint(); }

function titleOf(tensor) {
  if (tensor.name === "gradient.error") return "p − y";
  const gradient = tensor.name.startsWith("gradient.");
  const own = tensor.operation === "parameter" && !gradient ? tensor.name : textByEnd("tensor.", tensor.text);
  return gradient ? told(() => `∂L/∂ ${own}`) : own;
}

// Enough of a name to know it beside its own kind.
function nearName(tensor) {
  const isCommon = tensor.operation === "parameter" || /\.(input|output)$/.test(tensor.name);
  return tensor.name.split(".").slice(isCommon ? -2 : -1).join(".");
}

function figure(tensor, { explained = true } = {}) {
  if (tensor.same_as) return unchanged(tensor);
  const operands = tensor.operands.map((operand) => run().find(operand.name)).filter(Boolean);
  return element("figure", { class: `figure ink-${inkOf(tensor)}` },
    element("figcaption", {},
      nameOf(tensor), nameAndShape(tensor),
      explained && formulaOf(tensor.formula),
      explained && tensor.formula && element("span", { class: "does" }, operationOf(tensor.formula)),
      operands.length > 0 && element("span", { class: "made" }, text("page.made_of"), " ", operands.map(wayTo))),
    matrix(tensor));
}
function nameOf(tensor) { return element("span", { class: "name" }, titleOf(tensor)); }
function nameAndShape(tensor) {
  return element("code", {}, tensor.operation !== "parameter" && [breakable(tensor.name), " "], element("span", { class: "shape", title: text("label.shape") }, `(${tensor.shape.join(" × ")})`));
}
function wayTo(tensor) { return button(nearName(tensor), { title: tensor.name, class: `ink-${inkOf(tensor)}`, click: () => goTo(tensor.name) }); }

// What is passed on as it is needs no matrix of its own.
function unchanged(tensor) {
  return element("p", { class: `figure unchanged ink-${inkOf(tensor)}`, "data-name": tensor.name, tabindex: "-1" }, nameOf(tensor), nameAndShape(tensor), formulaOf(tensor.formula),
    element("span", { class: "made" }, text("page.unchanged"), " ", wayTo(run().find(tensor.same_as))));
}

// The matrix that has the focus, or in which this stands, with the cell there: {made, view, r, c}.
function cellAt(target) {
  const made = target?.closest?.("table.matrix, canvas.matrix");
  const view = made && shownMatrices.get(made);
  if (!view) return undefined;
  if (made.tagName === "CANVAS") return { made, view, r: view.cursor[0], c: view.cursor[1] };
  const cell = target.closest("td[data-r]") ?? made.querySelector("td[tabindex='0']");
  return { made, view, r: Number(cell.dataset.r), c: Number(cell.dataset.c) };
}
function tableCellAt(made, r, c) { return made.querySelector(`td[data-r="${r}"][data-c="${c}"]`); }
// Where a cell is on the screen.
function boxOf({ made, view, r, c }) {
  if (made.tagName === "TABLE") return tableCellAt(made, r, c).getBoundingClientRect();
  const box = made.getBoundingClientRect();
  return new DOMRect(box.x + c * view.side, box.y + r * view.side, view.side, view.side);
}
function focusCell({ made, view, r, c }) {
  if (made.tagName === "CANVAS") {
    view.cursor = [r, c];
    view.tell(r, c);
    return made.focus({ preventScroll: true });
  }
  for (const cell of made.querySelectorAll("td[tabindex='0']")) cell.tabIndex = -1;
  const cell = tableCellAt(made, r, c);
  cell.tabIndex = 0;
  cell.focus({ preventScroll: true });
  cell.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
}

// Arrows move from cell to cell; Enter asks why.
const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
function moveInMatrix(event) {
  const at = cellAt(event.target);
  if (!at) return false;
  if (event.key === "Enter" || event.key === " ") {
    askAt(at);
    return true;
  }
  const step = arrows[event.key];
  if (!step) return false;
  focusCell({ ...at, r: Math.min(at.view.rows - 1, Math.max(0, at.r + step[0])), c: Math.min(at.view.columns - 1, Math.max(0, at.c + step[1])) });
  return true;
}
function clickInMatrix(event) {
  const at = cellAt(event.target);
  if (!at || String(window.getSelection())) return;
  if (at.made.tagName === "TABLE" && !event.target.closest("td[data-r]")) return;
  if (at.made.tagName === "CANVAS") at.view.cursor = [at.r, at.c] = pointed(at.view, event);
  askAt(at);
}
function askAt(at) { askWhy({ name: at.view.tensor.name, index: at.view.index(at.r, at.c) }, { at }); }

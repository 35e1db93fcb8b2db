// Matrices: small ones as tables whose digits can be selected, larger ones on a canvas. Every cell can be asked why.
const mostCells = 24;
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
  const small = view.rows <= mostCells && view.columns <= mostCells;
  return element("div", { class: "scroll" }, small ? table(view) : canvas(view));
}

function leftOut(tensor) {
  return element("p", { class: "left-out" }, text("page.left_out"), element("br"), element("code", {}, `headlight explain --only ${tensor.name}`));
}

function table(view) {
  const { tensor, columnLabels } = view;
  const made = element("table", { class: `matrix ink-${inkOf(tensor)}`, role: "grid", "data-name": tensor.name, "aria-label": titleOf(tensor) });
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
  return made;
}

function tableCell(view, r, c, most) {
  const index = view.index(r, c);
  const value = run().value({ name: view.tensor.name, index });
  const strength = Number.isFinite(value) ? Math.min(1, Math.abs(value) / most) : 0;
  const kind = !Number.isFinite(value) ? "none" : value < 0 ? "minus" : undefined;
  return element("td", { class: kind, role: "gridcell", tabindex: r + c === 0 ? "0" : "-1", "data-r": r, "data-c": c,
    "data-o": offsetOf(view.tensor, index), title: long(value), style: { "--s": strength.toFixed(3) } }, short(value));
}

// One small rectangle per cell, and below it the number under the pointer or the cursor.
function canvas(view) {
  const side = Math.max(1, Math.min(14, Math.floor(900 / view.columns), Math.floor(560 / view.rows)));
  const scale = window.devicePixelRatio || 1;
  const made = element("canvas", { class: "matrix", tabindex: "0", role: "img", "data-name": view.tensor.name, width: view.columns * side * scale, height: view.rows * side * scale,
    "aria-label": `${titleOf(view.tensor)}, ${view.rows} × ${view.columns}`, style: { width: `${view.columns * side}px`, height: `${view.rows * side}px` } });
  const readout = element("p", { class: "readout", "aria-live": "polite" }, `${view.rows} × ${view.columns}`);
  view.side = side;
  view.cursor = [0, 0];
  view.paint = () => paint(made, view, side * scale);
  view.tell = (r, c) => {
    const cell = { name: view.tensor.name, index: view.index(r, c) };
    readout.textContent = [`[${r},${c}]`, ...cellLabels(cell), long(run().value(cell))].join("  ");
  };
  made.addEventListener("pointermove", (event) => view.tell(...pointed(view, event)));
  shownMatrices.set(made, view);
  view.paint();
  const labels = side >= 12 && element("div", { class: "row-labels", "aria-hidden": "true", style: { "--side": `${side}px` } }, view.rowLabels.map((label) => element("span", {}, label)));
  return [element("div", { class: "labelled" }, labels, made), readout];
}

function pointed(view, event) {
  return [Math.min(view.rows - 1, Math.max(0, Math.floor(event.offsetY / view.side))), Math.min(view.columns - 1, Math.max(0, Math.floor(event.offsetX / view.side)))];
}

function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

function paint(made, view, side) {
  const context = made.getContext("2d");
  const most = largestOf(view.tensor);
  const [ink, minus] = [colour(inkOf(view.tensor)), colour("minus")];
  context.clearRect(0, 0, made.width, made.height);
  const gap = side > 5 ? 1 : 0;
  for (let r = 0; r < view.rows; ++r) {
    for (let c = 0; c < view.columns; ++c) {
      const value = run().value({ name: view.tensor.name, index: view.index(r, c) });
      if (!Number.isFinite(value)) continue;
      context.fillStyle = `rgb(${value < 0 ? minus : ink} / ${0.04 + 0.9 * Math.min(1, Math.abs(value) / most)})`;
      context.fillRect(c * side, r * side, side - gap, side - gap);
    }
  }
}

function titleOf(tensor) {
  if (tensor.name === "gradient.error") return "p − y";
  const gradient = tensor.name.startsWith("gradient.");
  const own = tensor.operation === "parameter" && !gradient ? tensor.name : textByEnd("tensor.", tensor.text);
  return gradient ? `∂L/∂ ${own}` : own;
}

// Enough of a name to know it beside its own kind.
function nearName(tensor) {
  const isCommon = tensor.operation === "parameter" || /\.(input|output)$/.test(tensor.name);
  return tensor.name.split(".").slice(isCommon ? -2 : -1).join(".");
}

function figure(tensor, { explained = true } = {}) {
  const shape = tensor.shape.join(" × ");
  const operands = tensor.operands.map((operand) => run().find(operand.name)).filter(Boolean);
  return element("figure", { class: `figure ink-${inkOf(tensor)}` },
    element("figcaption", {},
      element("span", { class: "name" }, titleOf(tensor)),
      element("code", {}, tensor.operation !== "parameter" && `${tensor.name} `, element("span", { class: "shape", title: text("label.shape") }, `(${shape})`)),
      explained && formulaOf(tensor.formula),
      explained && tensor.formula && element("span", { class: "does" }, operationOf(tensor.formula)),
      operands.length > 0 && element("span", { class: "made" }, `${text("page.made_of")} `, operands.map((operand) =>
        button(nearName(operand), { title: operand.name, class: `ink-${inkOf(operand)}`, click: () => goTo(operand.name) })))),
    matrix(tensor));
}

// Arrows move from cell to cell; Enter asks why.
const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
function moveInMatrix(event) {
  const made = event.target.closest("table.matrix, canvas.matrix");
  const view = made && shownMatrices.get(made);
  if (!view) return false;
  const isTable = made.tagName === "TABLE";
  const [r, c] = isTable ? [Number(event.target.dataset.r), Number(event.target.dataset.c)] : view.cursor;
  if (event.key === "Enter" || event.key === " ") {
    askWhy({ name: view.tensor.name, index: view.index(r, c) });
    return true;
  }
  const step = arrows[event.key];
  if (!step) return false;
  const to = [Math.min(view.rows - 1, Math.max(0, r + step[0])), Math.min(view.columns - 1, Math.max(0, c + step[1]))];
  if (isTable) {
    const cell = made.querySelector(`td[data-r="${to[0]}"][data-c="${to[1]}"]`);
    event.target.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
  } else {
    view.cursor = to;
    view.tell(...to);
  }
  return true;
}
function clickInMatrix(event) {
  const made = event.target.closest("table.matrix, canvas.matrix");
  const view = made && shownMatrices.get(made);
  if (!view || String(window.getSelection())) return;
  const cell = event.target.closest("td[data-r]");
  if (made.tagName === "TABLE" && !cell) return;
  const at = cell ? [Number(cell.dataset.r), Number(cell.dataset.c)] : pointed(view, event);
  askWhy({ name: view.tensor.name, index: view.index(...at) });
}

// The answer to "why this number?", and the way back from operand to operand.
const mostTerms = 64;
const drawer = document.getElementById("why");

function askWhy(cell, { walk = false } = {}) {
  state.trail = walk ? [...state.trail, cell] : [cell];
  follow(cell);
  answer();
  remember();
}

// The head and the query of the cell become the chosen ones, so that it can be seen.
function follow(cell) {
  const tensor = run().find(cell.name);
  const place = placeOf(cell.name);
  const head = tensor.axes.indexOf("head");
  if (head < 0 || tensor.axes.length === 1) return;
  const hasQuery = tensor.axes.length >= 3 && !/\.(key|value)$/.test(cell.name);
  const changed = (state.heads[place] ?? 0) !== cell.index[head] || (hasQuery && (state.rows[place] ?? 0) !== cell.index[2]);
  if (hasQuery) state.rows[place] = cell.index[2];
  state.heads[place] = cell.index[head];
  redrawPlace(place, changed);
}

function closeWhy() {
  state.trail = [];
  answer();
  remember();
}

function answer() {
  for (const marked of document.querySelectorAll("td.chosen, td.operand")) marked.classList.remove("chosen", "operand");
  const cell = lastOf(state.trail);
  drawer.hidden = !cell;
  if (!cell) return;
  const explanation = new Explanation(cell);
  mark(cell, "chosen");
  for (const term of explanation.terms) for (const factor of term.factors) mark(factor.cell, "operand");
  for (const ingredient of explanation.ingredients) if (ingredient.cell) mark(ingredient.cell, "operand");
  const { tensor } = explanation;
  drawer.className = `ink-${inkOf(tensor)}`;
  drawer.setAttribute("aria-label", text("cell.title"));
  fill(drawer,
    element("div", { class: "top" }, element("h2", {}, text("cell.title")), button("×", { class: "round", "aria-label": text("page.close"), click: closeWhy })),
    trail(),
    element("p", { class: "where" }, element("b", {}, titleOf(tensor)), cellLabels(cell).length > 0 && ` · ${cellLabels(cell).join(" → ")}`),
    element("button", { type: "button", class: "cell-name", click: () => goTo(cell.name), title: text("page.show") }, element("code", {}, cellText(cell))),
    element("p", { class: "value" }, long(explanation.value)),
    formulaOf(tensor.formula),
    tensor.formula && element("p", { class: "where" }, operationOf(tensor.formula)),
    explanation.missing ? missing(explanation) : reasons(explanation));
}

function mark(cell, name) {
  const tensor = run().find(cell.name);
  const offset = offsetOf(tensor, cell.index);
  for (const found of document.querySelectorAll(`table[data-name="${CSS.escape(cell.name)}"] td[data-o="${offset}"]`)) found.classList.add(name);
}

function trail() {
  const steps = state.trail.slice(0, -1);
  return steps.length > 0 && element("p", { class: "trail" }, steps.map((cell, i) => [
    button(shortName(cell), { title: cellText(cell), click: () => { state.trail = state.trail.slice(0, i + 1); follow(cell); answer(); remember(); } }),
    element("span", {}, "›")]));
}

function shortName(cell) {
  const written = cellText(cell);
  const from = written.lastIndexOf(".", written.indexOf("["));
  return run().find(cell.name).operation === "parameter" ? nearName({ name: written, operation: "parameter" }) : written.slice(from + 1);
}

function factorButton(factor) {
  const tensor = run().find(factor.cell.name);
  return button([long(factor.value), element("small", {}, shortName(factor.cell))],
    { class: `factor ink-${inkOf(tensor)}`, title: cellText(factor.cell), click: () => askWhy(factor.cell, { walk: true }) });
}

function missing(explanation) {
  return element("p", { class: "left-out" }, text("page.left_out"), element("br"),
    element("code", {}, `headlight explain --cell '${cellText(explanation.cell)}'`));
}

function reasons(explanation) {
  const filled = explanation.filled();
  return [
    explanation.terms.length > 0 && termTable(explanation.terms, explanation.combination !== "maximum"),
    explanation.ingredients.length > 0 && element("dl", { class: "ingredients" }, explanation.ingredients.map((one) => [
      element("dt", {}, text(`cell.ingredient.${one.key}`)), element("dd", {}, one.cell ? factorButton(one) : long(one.value))])),
    element("p", { class: "where" }, text(`cell.combination.${explanation.combination}`)),
    filled && element("p", { class: "filled" }, `${filled} = ${long(explanation.combined)}`),
    explanation.combination !== "nothing" && check(explanation),
  ];
}

function termTable(terms, summed = true) {
  const pairs = terms.some((term) => term.factors.length > 1 || term.constant !== 1);
  const several = summed && terms.length > 1;
  const made = element("table", { class: "terms" }, element("tr", {}, element("th", { colspan: pairs ? 3 : 1 }, ""), element("th"), element("th", {}, pairs ? text("cell.term.product") : ""),
    several && element("th", {}, text("label.running"))));
  for (const term of terms.slice(0, mostTerms)) {
    const [a, b] = term.factors;
    const second = b ? factorButton(b) : term.constant !== 1 && long(term.constant);
    made.append(element("tr", { title: text(`cell.term.${term.key}`) },
      element("td", {}, a ? factorButton(a) : text(`cell.term.${term.key}`)), pairs && element("td", { class: "sign" }, second ? "×" : ""),
      pairs && element("td", {}, second), element("td", { class: "sign" }, signOf(term)),
      element("td", {}, long(term.value)), several && element("td", { class: "running" }, long(term.running))));
  }
  if (terms.length > mostTerms) made.append(element("tr", {}, element("td", { colspan: 6 }, `… +${terms.length - mostTerms}  = ${long(lastOf(terms).running)}`)));
  return made;
}
function signOf(term) {
  const signs = { exponential: "exp →", square: "(x−μ)² →", minus_mean: "−μ →" };
  return signs[term.key] ?? "=";
}

function check(explanation) {
  const difference = Math.abs(explanation.combined - explanation.value);
  const same = Object.is(explanation.combined, explanation.value);
  return element("dl", { class: "check" },
    element("dt", {}, text("page.engine")), element("dd", {}, long(explanation.value)),
    element("dt", {}, text("page.from_terms")), element("dd", {}, long(explanation.combined)),
    element("dt", {}, text("page.difference")), element("dd", { class: "ok" }, same ? "0" : difference.toExponential(1)));
}

// Scrolls to the tensor's matrix, opening what hides it.
function goTo(name, behavior = "auto") {
  const found = document.querySelector(`.matrix[data-name="${CSS.escape(name)}"]`) ?? openAndFind(name);
  if (!found) return;
  for (let at = found.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  found.closest(".figure")?.scrollIntoView({ block: "center", behavior });
  (found.querySelector("td.chosen") ?? found.querySelector("td[tabindex='0']"))?.focus({ preventScroll: true });
}

// The answer to "why this number?", and the way back from operand to operand.
const mostTerms = 64;
const drawer = document.getElementById("why");

// `at`: the cell of a matrix where it is asked, which keeps its place on the screen; `from`: another element. Neither: asked elsewhere.
function askWhy(cell, { walk = false, at, from } = {}) {
  const before = at ? boxOf(at) : from?.getBoundingClientRect();
  const which = at ? drawnOf(cell.name).indexOf(at.made) : -1;
  const hadFocus = at?.made.contains(document.activeElement);
  const scrolled = at?.made.closest(".scroll")?.scrollLeft;
  if (!walk) state.asked = at ? { cell, which } : { element: from ?? document.activeElement };
  state.trail = walk ? [...state.trail, cell] : [cell];
  follow(cell);
  answer();
  const again = at && (at.made.isConnected ? at : cellIn(drawnOf(cell.name)[which], cell));
  if (again) {
    if (scrolled) again.made.closest(".scroll").scrollLeft = scrolled;
    scrollBy({ top: boxOf(again).top - before.top, behavior: "instant" });
    if (hadFocus) focusCell(again);
  }
  if (before) placeDrawer(again ? boxOf(again) : before);
  remember();
}

// Beside, above or below the cell, never over it.
function placeDrawer(box) {
  const { clientWidth: width, clientHeight: height } = document.documentElement;
  drawer.style.maxHeight = "";
  if (innerWidth >= 1500) return;
  if (innerWidth >= 1000) {
    const room = drawer.offsetWidth;
    const covers = (left) => (left ? box.left < room : box.right > width - room);
    const isLeft = drawer.classList.contains("left");
    if (covers(isLeft) && !covers(!isLeft)) drawer.classList.toggle("left");
    return;
  }
  const above = box.top - 8;
  const below = height - box.bottom - 8;
  drawer.classList.toggle("above", above > below);
  drawer.style.maxHeight = `${Math.min(0.6 * height, Math.max(above, below))}px`;
}

// All that is drawn of a tensor; where a cell stands in it: {made, view, r, c}.
function drawnOf(name) { return [...document.querySelectorAll(`.matrix[data-name="${CSS.escape(name)}"]`)]; }
function cellIn(made, cell) {
  const view = made && shownMatrices.get(made);
  const offset = offsetOf(run().find(cell.name), cell.index);
  for (let r = 0; r < (view?.rows ?? 0); ++r) {
    for (let c = 0; c < view.columns; ++c) if (offsetOf(view.tensor, view.index(r, c)) === offset) return { made, view, r, c };
  }
  return undefined;
}

// One key: from a cell into its answer, and back to where one was.
function switchWhy() {
  if (drawer.contains(document.activeElement)) return closeWhy();
  const at = cellAt(document.activeElement) ?? firstCellSeen();
  if (!at) return;
  focusCell(at);
  askAt(at);
  drawer.focus({ preventScroll: true });
}
function firstCellSeen() {
  const made = [...document.querySelectorAll("main .figure .matrix")].find((one) => one.getBoundingClientRect().bottom > 60);
  return made && cellAt(made);
}

// The head and the query of the cell become the chosen ones, so that it can be seen.
function follow(cell) {
  if (data.lesson) return followInLesson(cell);
  const tensor = run().find(cell.name);
  const place = placeOf(cell.name);
  const head = tensor.axes.indexOf("head");
  if (head < 0 || tensor.axes.length === 1) return;
  const hasQuery = tensor.axes.length >= 3 && !/\.(key|value)$/.test(cell.name);
  const changed = headAt(place) !== cell.index[head] || (hasQuery && rowAt(place) !== cell.index[2]);
  if (hasQuery) state.rows[place] = cell.index[2];
  state.heads[place] = cell.index[head];
  redrawPlace(place, changed);
}

function closeWhy() {
  if (drawer.hidden) return;
  const { asked } = state;
  const hadFocus = drawer.contains(document.activeElement);
  state.trail = [];
  answer();
  remember();
  if (!hadFocus) return;
  const cell = asked?.cell && cellIn(drawnOf(asked.cell.name)[asked.which], asked.cell);
  if (cell) focusCell(cell);
  else (asked?.element?.isConnected ? asked.element : document.querySelector("main"))?.focus({ preventScroll: true });
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
  const hadFocus = drawer.contains(document.activeElement);
  drawer.classList.remove(...[...drawer.classList].filter((name) => name.startsWith("ink-")));
  drawer.classList.add(`ink-${inkOf(tensor)}`);
  setAttribute(drawer, "aria-label", text("cell.title"));
  fill(drawer,
    element("div", { class: "top" }, element("h2", {}, text("cell.title")), button("×", { class: "round", "aria-label": text("page.close"), click: closeWhy })),
    trail(),
    element("p", { class: "where" }, element("b", {}, titleOf(tensor)), cellLabels(cell).length > 0 && ` · ${cellLabels(cell).join(" → ")}`),
    element("button", { type: "button", class: "cell-name", click: () => showCell(cell), title: text("page.show") }, element("code", {}, cellText(cell))),
    element("p", { class: "value" }, number(explanation.value)),
    formulaOf(tensor.formula),
    tensor.formula && element("p", { class: "where" }, operationOf(tensor.formula)),
    explanation.missing ? missing(explanation) : reasons(explanation));
  drawer.scrollTop = 0;
  if (hadFocus) drawer.focus({ preventScroll: true });
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
  return button([number(factor.value), element("small", {}, shortName(factor.cell))],
    { class: `factor ink-${inkOf(tensor)}`, title: cellText(factor.cell), click: () => askWhy(factor.cell, { walk: true }) });
}

function missing(explanation) {
  return element("p", { class: "left-out" }, text("page.left_out"), element("br"),
    element("code", {}, `${data.command} --cell '${cellText(explanation.cell)}'`));
}

function reasons(explanation) {
  const filled = told(() => explanation.filled());
  return [
    explanation.terms.length > 0 && termTable(explanation.terms, explanation.combination !== "maximum"),
    explanation.ingredients.length > 0 && element("dl", { class: "ingredients" }, explanation.ingredients.map((one) => [
      element("dt", {}, text(`cell.ingredient.${one.key}`)), element("dd", {}, one.cell ? factorButton(one) : number(one.value))])),
    element("p", { class: "where" }, text(combinationKey(explanation))),
    explanation.filled() && element("p", { class: "filled" }, filled, " = ", number(explanation.combined)),
    explanation.combination !== "nothing" && check(explanation),
  ];
}

// A quotient of one term has nothing to add up.
function combinationKey({ combination, terms }) {
  if (combination !== "quotient" || terms.length !== 1) return `cell.combination.${combination}`;
  return terms[0].key === "exponential" ? "cell.combination.quotient.exponential" : "cell.combination.quotient.one";
}

function termTable(terms, summed = true) {
  const pairs = terms.some((term) => term.factors.length > 1 || term.constant !== 1);
  const several = summed && terms.length > 1;
  const made = element("table", { class: "terms" }, element("tr", {}, element("th", { colspan: pairs ? 3 : 1 }, ""), element("th"), element("th", {}, pairs ? text("cell.term.product") : ""),
    several && element("th", {}, text("label.running"))));
  const add = (some) => made.append(...some.map((term) => termRow(term, pairs, several)));
  add(terms.slice(0, mostTerms));
  if (terms.length <= mostTerms) return made;
  const rest = element("tr", {}, element("td", { colspan: 6 }, button(text("page.all_terms", { count: terms.length }), { class: "plain", click: () => { rest.remove(); add(terms.slice(mostTerms)); } }),
    several && [" = ", number(lastOf(terms).running)]));
  made.append(rest);
  return made;
}
function termRow(term, pairs, several) {
  const [a, b] = term.factors;
  const second = b ? factorButton(b) : term.constant !== 1 && number(term.constant);
  return element("tr", { title: text(`cell.term.${term.key}`) },
    element("td", {}, a ? factorButton(a) : text(`cell.term.${term.key}`)), pairs && element("td", { class: "sign" }, second ? "×" : ""),
    pairs && element("td", {}, second), element("td", { class: "sign" }, signOf(term)),
    element("td", {}, number(term.value)), several && element("td", { class: "running", "data-label": text("label.running") }, number(term.running)));
}
function signOf(term) {
  const signs = { exponential: "exp →", square: "(x−μ)² →", minus_mean: "−μ →" };
  return signs[term.key] ?? "=";
}

function check(explanation) {
  const difference = Math.abs(explanation.combined - explanation.value);
  const same = Object.is(explanation.combined, explanation.value);
  return element("dl", { class: "check" },
    element("dt", {}, text("page.engine")), element("dd", {}, number(explanation.value)),
    element("dt", {}, text("page.from_terms")), element("dd", {}, number(explanation.combined)),
    element("dt", {}, text("page.difference")), element("dd", { class: "ok" }, same ? "0" : number(difference, (x) => localized(x.toExponential(1)))));
}

function figureOf(name) { return document.querySelector(`.figure [data-name="${CSS.escape(name)}"], .figure[data-name="${CSS.escape(name)}"]`); }
// Scrolls to where the tensor is shown, opening what hides it.
function goTo(name, behavior = "auto") {
  const found = figureOf(name) ?? openAndFind(name);
  if (!found) return undefined;
  for (let at = found.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  found.closest(".figure")?.scrollIntoView({ block: "center", behavior });
  (found.querySelector("td.chosen") ?? found.querySelector("td[tabindex='0']") ?? found).focus({ preventScroll: true });
  return found;
}
// The same with the cell, which the answer leaves free.
function showCell(cell) {
  goTo(cell.name, "instant");
  const at = drawnOf(cell.name).map((made) => cellIn(made, cell)).find(Boolean);
  if (!at) return;
  focusCell(at);
  placeDrawer(boxOf(at));
}

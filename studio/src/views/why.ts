// The answer to "why this number?", and the way back from operand to operand.
import { source, type CellAnswer } from "../api/source";
import type { Tensor } from "../api/types";
import { button, element, fill, lastOf, setAttribute, told, type Child } from "../draw/element";
import { titleOf } from "../draw/figure";
import { formulaOf, operationOf } from "../draw/formula";
import { boxOf, cellAt, focusCell, shownMatrices, type DrawnCell } from "../draw/matrix";
import { whenDrawn } from "../draw/waiting";
import { headChanged, remember } from "../page/page";
import { state, type Cell } from "../state/state";
import { localized, number } from "../texts/numbers";
import { text } from "../texts/words";
import { data, hasRun, run } from "../trace/document";
import { offsetOf, placeOf } from "../trace/run";
import { Explanation, maximumOf, type Answer, type Factor, type Term } from "../trace/terms";
import { cellLabels, cellOf, cellText, chooseHeadOf, inkOf, shortName } from "../trace/views";
import { watchButton } from "./watch";

const mostTerms = 64;
export const drawer = document.getElementById("why") as HTMLElement;

// `at`: the cell of a matrix where it is asked, which keeps its place on the screen; `from`: another element. Neither: asked elsewhere.
export function askWhy(cell: Cell, { walk = false, at, from }: { walk?: boolean; at?: DrawnCell; from?: Element | null } = {}): void {
  const before = at ? boxOf(at) : from?.getBoundingClientRect();
  const which = at ? drawnOf(cell.name).indexOf(at.made) : -1;
  const hadFocus = at?.made.contains(document.activeElement);
  const scrolled = at?.made.closest(".scroll")?.scrollLeft;
  if (!walk) state.asked = at ? { cell, which } : { element: from ?? document.activeElement };
  state.trail = walk ? [...state.trail, cell] : [cell];
  follow(cell);
  answer();
  const again = at && (at.made.isConnected ? at : cellIn(drawnOf(cell.name)[which], cell));
  if (again && before) {
    const scroll = again.made.closest(".scroll");
    if (scrolled && scroll) scroll.scrollLeft = scrolled;
    scrollBy({ top: boxOf(again).top - before.top, behavior: "instant" });
    if (hadFocus) focusCell(again);
  }
  if (before) placeDrawer(again ? boxOf(again) : before);
  remember();
}
export function askAt(at: DrawnCell): void { askWhy({ name: at.view.tensor.name, index: at.view.index(at.r, at.c) }, { at }); }

// Beside, above or below the cell, never over it.
function placeDrawer(box: DOMRect): void {
  const { clientWidth: width, clientHeight: height } = document.documentElement;
  drawer.style.maxHeight = "";
  if (innerWidth >= 1500) return;
  if (innerWidth >= 1000) {
    const room = drawer.offsetWidth;
    const covers = (left: boolean) => (left ? box.left < room : box.right > width - room);
    const isLeft = drawer.classList.contains("left");
    if (covers(isLeft) && !covers(!isLeft)) drawer.classList.toggle("left");
    return;
  }
  const above = box.top - 8;
  const below = height - box.bottom - 8;
  drawer.classList.toggle("above", above > below);
  drawer.style.maxHeight = `${Math.min(0.6 * height, Math.max(above, below))}px`;
}

// All that is drawn of a tensor; where a cell stands in it.
function drawnOf(name: string): HTMLElement[] { return [...document.querySelectorAll<HTMLElement>(`.matrix[data-name="${CSS.escape(name)}"]`)]; }
function cellIn(made: HTMLElement | undefined, cell: Cell): DrawnCell | undefined {
  const view = made && shownMatrices.get(made);
  const tensor = run().find(cell.name);
  if (!view || !tensor) return undefined;
  const offset = offsetOf(tensor, cell.index);
  for (let r = 0; r < view.rows; ++r) {
    for (let c = 0; c < view.columns; ++c) if (offsetOf(view.tensor, view.index(r, c)) === offset) return { made, view, r, c };
  }
  return undefined;
}

// One key: from a cell into its answer, and back to where one was.
export function switchWhy(): void {
  if (drawer.contains(document.activeElement)) return closeWhy();
  const at = cellAt(document.activeElement) ?? firstCellSeen();
  if (!at) return;
  focusCell(at);
  askAt(at);
  drawer.focus({ preventScroll: true });
}
export function firstCellSeen(): DrawnCell | undefined {
  const made = [...document.querySelectorAll("main .figure .matrix")].find((one) => one.getBoundingClientRect().bottom > 60);
  return made && cellAt(made);
}

// What the cell belongs to is shown, so that it can be seen.
export function follow(cell: Cell): void {
  if (data.lesson) {
    for (const figure of document.querySelectorAll(`figure[data-tensor="${CSS.escape(cell.name)}"]`)) figure.showCell?.(cell);
    document.dispatchEvent(new Event("followed"));
  } else if (chooseHeadOf(cell)) headChanged(placeOf(cell.name));
}

export function closeWhy(): void {
  if (drawer.hidden) return;
  const { asked } = state;
  const hadFocus = drawer.contains(document.activeElement);
  state.trail = [];
  answer();
  remember();
  if (!hadFocus) return;
  const cell = asked?.cell && cellIn(drawnOf(asked.cell.name)[asked.which ?? -1], asked.cell);
  if (cell) focusCell(cell);
  else ((asked?.element?.isConnected ? asked.element : document.querySelector("main")) as HTMLElement | null)?.focus({ preventScroll: true });
}
// To the number from which one came.
export function stepBack(): void {
  if (state.trail.length < 2) return;
  state.trail.pop();
  follow(lastOf(state.trail));
  answer();
  remember();
}

function isAsked(cell: Cell): boolean { const last = state.trail.at(-1); return last !== undefined && cellText(last) === cellText(cell); }
export function answer(): void {
  for (const marked of document.querySelectorAll("td.chosen, td.operand")) marked.classList.remove("chosen", "operand");
  const cell = lastOf(state.trail);
  drawer.hidden = !cell || !hasRun();
  if (drawer.hidden) return;
  const own = new Explanation(cell);
  mark(cell, "chosen");
  if ((own.missing || own.value === undefined) && source.isServer) return askServer(cell);
  drawAnswer(own);
}

// The server knows the terms of numbers that are not here.
function askServer(cell: Cell): void {
  const waiting: Answer = { cell, tensor: run().find(cell.name) as Tensor, value: run().value(cell), terms: [], ingredients: [], combination: "nothing", combined: undefined, filled: () => undefined };
  drawAnswer(waiting, element("p", { class: "waiting", "aria-busy": "true" }));
  const isStillAsked = () => lastOf(state.trail) === cell;
  source.cell(cellText(cell)).then((told) => { if (isStillAsked()) drawAnswer(answerOf(cell, told)); },
    (error) => { if (isStillAsked()) drawAnswer(waiting, element("p", { class: "left-out" }, error.message)); });
}
function answerOf(cell: Cell, told: CellAnswer): Answer {
  const factorOf = (one: { cell?: string; value: number | null }) => ({ value: one.value ?? -Infinity, cell: one.cell === undefined ? undefined : cellOf(one.cell) });
  const terms = told.terms.map((term): Term => ({ ...term, factors: term.factors.map((factor) => factorOf(factor) as Factor) }));
  return { cell, tensor: run().find(cell.name) as Tensor, value: told.value ?? -Infinity, terms, ingredients: told.ingredients.map((one) => ({ key: one.key, ...factorOf(one) })), combination: told.combination,
    combined: told.combined ?? -Infinity, filled: () => (told.combination === "maximum" ? maximumOf(terms) : undefined) };
}

function drawAnswer(explanation: Answer, instead?: Child): void {
  const { tensor, cell } = explanation;
  for (const term of explanation.terms) for (const factor of term.factors) if (factor.cell) mark(factor.cell, "operand");
  for (const ingredient of explanation.ingredients) if (ingredient.cell) mark(ingredient.cell, "operand");
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
    tensor.formula !== "" && element("p", { class: "where" }, operationOf(tensor.formula)),
    instead ?? (explanation.missing ? missing(explanation) : reasons(explanation)));
  drawer.scrollTop = 0;
  if (hadFocus) drawer.focus({ preventScroll: true });
}

function mark(cell: Cell, name: string): void {
  const tensor = run().find(cell.name) as Tensor;
  const offset = offsetOf(tensor, cell.index);
  for (const found of document.querySelectorAll(`table[data-name="${CSS.escape(cell.name)}"] td[data-o="${offset}"]`)) found.classList.add(name);
}

function trail(): Child {
  const steps = state.trail.slice(0, -1);
  return steps.length > 0 && element("p", { class: "trail" }, steps.map((cell, i) => [
    button(shortName(cell), { title: cellText(cell), click: () => { state.trail = state.trail.slice(0, i + 1); follow(cell); answer(); remember(); } }),
    element("span", {}, "›")]));
}

function factorButton(factor: { cell?: Cell; value: number | undefined }): HTMLElement {
  const cell = factor.cell as Cell;
  return button([number(factor.value), element("small", {}, shortName(cell))],
    { class: `factor ink-${inkOf(run().find(cell.name) as Tensor)}`, title: cellText(cell), click: () => askWhy(cell, { walk: true }) });
}

function missing(explanation: Answer): HTMLElement {
  return element("p", { class: "left-out" }, text("page.left_out"), element("br"),
    element("code", {}, `${data.command} --cell '${cellText(explanation.cell)}'`));
}

function reasons(explanation: Answer): Child[] {
  const filled = told(() => explanation.filled());
  const table = termTable(explanation.terms, explanation.combination !== "maximum");
  return [
    explanation.terms.length > 0 && [table, watchButton(explanation.terms.slice(0, mostTerms), table)],
    explanation.ingredients.length > 0 && element("dl", { class: "ingredients" }, explanation.ingredients.map((one) => [
      element("dt", {}, text(`cell.ingredient.${one.key}`)), element("dd", {}, one.cell ? factorButton(one) : number(one.value))])),
    element("p", { class: "where" }, text(combinationKey(explanation))),
    explanation.filled() !== undefined && element("p", { class: "filled" }, filled, " = ", number(explanation.combined)),
    explanation.combination !== "nothing" && check(explanation),
  ];
}

// A quotient of one term has nothing to add up.
function combinationKey({ combination, terms }: Answer): string {
  if (combination !== "quotient" || terms.length !== 1) return `cell.combination.${combination}`;
  return terms[0]?.key === "exponential" ? "cell.combination.quotient.exponential" : "cell.combination.quotient.one";
}

export function termTable(terms: Term[], summed = true): HTMLTableElement {
  const pairs = terms.some((term) => term.factors.length > 1 || term.constant !== 1);
  const several = summed && terms.length > 1;
  const made = element("table", { class: "terms" }, element("tr", {}, element("th", { colspan: pairs ? 3 : 1 }, ""), element("th"), element("th", {}, pairs ? text("cell.term.product") : ""),
    several && element("th", {}, text("label.running"))));
  const add = (some: Term[]) => made.append(...some.map((term) => termRow(term, pairs, several)));
  add(terms.slice(0, mostTerms));
  if (terms.length <= mostTerms) return made;
  const rest = element("tr", {}, element("td", { colspan: 6 }, button(text("page.all_terms", { count: terms.length }), { class: "plain", click: () => { rest.remove(); add(terms.slice(mostTerms)); } }),
    several && [" = ", number(lastOf(terms).running)]));
  made.append(rest);
  return made;
}
function termRow(term: Term, pairs: boolean, several: boolean): HTMLElement {
  const [a, b] = term.factors;
  const second = b ? factorButton(b) : term.constant !== 1 && number(term.constant);
  return element("tr", { title: text(`cell.term.${term.key}`) },
    element("td", {}, a ? factorButton(a) : text(`cell.term.${term.key}`)), pairs && element("td", { class: "sign" }, second ? "×" : ""),
    pairs && element("td", {}, second), element("td", { class: "sign" }, signOf(term)),
    element("td", {}, number(term.value)), several && element("td", { class: "running", "data-label": text("label.running") }, number(term.running)));
}
function signOf(term: Term): string {
  const signs: Record<string, string> = { exponential: "exp →", square: "(x−μ)² →", minus_mean: "−μ →" };
  return signs[term.key] ?? "=";
}

function check(explanation: Answer): HTMLElement {
  const [made, value] = [explanation.combined as number, explanation.value as number];
  return element("dl", { class: "check" },
    element("dt", {}, text("page.engine")), element("dd", {}, number(value)),
    element("dt", {}, text("page.from_terms")), element("dd", {}, number(made)),
    element("dt", {}, text("page.difference")), element("dd", { class: "ok" }, Object.is(made, value) ? "0" : number(Math.abs(made - value), (x) => localized(x.toExponential(1)))));
}

// Its matrix, or what it stands in while the numbers are still at the server.
export function figureOf(name: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`.figure [data-name="${CSS.escape(name)}"]`) ?? document.querySelector<HTMLElement>(`.figure[data-name="${CSS.escape(name)}"]`);
}
// Scrolls to where the tensor is shown, opening what hides it.
export function goTo(name: string, behavior: ScrollBehavior = "auto"): HTMLElement | undefined {
  const found = figureOf(name) ?? openAndFind(name);
  if (!found) return undefined;
  for (let at = found.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") (at as HTMLDetailsElement).open = true;
  found.closest(".figure")?.scrollIntoView({ block: "center", behavior });
  (found.querySelector<HTMLElement>("td.chosen") ?? found.querySelector<HTMLElement>("td[tabindex='0']") ?? found).focus({ preventScroll: true });
  return found;
}
export function openAndFind(name: string): HTMLElement | null {
  for (const group of document.querySelectorAll<HTMLDetailsElement>("details.group")) {
    if (!group.holds?.has(name)) continue;
    group.open = true;
    if (group.children.length < 2) group.fill?.();
    answer();
    return figureOf(name);
  }
  return null;
}
// The same with the cell, which the answer leaves free.
export function showCell(cell: Cell): void {
  const found = goTo(cell.name, "instant");
  const at = drawnOf(cell.name).map((made) => cellIn(made, cell)).find(Boolean);
  const waiting = found?.querySelector(".waiting");
  if (!at && waiting) whenDrawn(waiting, () => { if (isAsked(cell)) { mark(cell, "chosen"); showCell(cell); } });
  if (!at) return;
  focusCell(at);
  placeDrawer(boxOf(at));
}

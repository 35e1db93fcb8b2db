// The page: bar, opening, cards, keys, and the address that remembers what is chosen.
function bar() {
  drawBar(runs.length > 1 && choice(text("page.numbers"), runs.map((one, i) => ({ label: text(one.key), value: i })), state.run, chooseRun), data.lesson && exerciseSwitch());
}
function chooseRun(chosen) {
  state.run = chosen;
  redraw();
  remember();
}
function applyLanguage() {
  document.documentElement.lang = state.lang;
  document.title = `${data.lesson ? lessonTitle() : text("page.title")} · Headlight`;
  bar();
}
function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  bar();
  repaint();
}

function stepList() {
  const entries = data.lesson ? lessonEntries() : data.steps.flatMap(({ name, number, heads }) => [[`step-${number}`, String(number), text(`step.${name}.title`)], ...(heads ? [["heads", "·", text("heads.title")]] : [])]);
  drawSteps(entries);
}

// The sentence, where the head that is shown first looks, and what the model makes of each position.
function opening() {
  const made = element("section", { class: "card hero", id: "opening", tabindex: "-1" });
  made.fill = () => fill(made, element("h1", {}, text("page.title")), element("p", { class: "lead" }, text("page.lead")),
    run().source_tokens.length > 0 && data.source && element("p", { class: "says" }, text("message.text", { text: data.source })), picture(),
    run().continuation && element("p", { class: "says" }, text("message.says", { words: run().continuation })),
    run().likeliest.length > 0 && element("div", { class: "rows one" }, predictionAt(position())));
  made.fill();
  return made;
}

// The row whose next word is shown: the first that the model wrote or should have written, unless another is chosen.
function position() {
  const { tokens, targets, written } = run();
  const first = written > 0 ? tokens.length - written - 1 : targets.findIndex((id) => id >= 0);
  return Math.min(state.position ?? (first < 0 ? tokens.length - 1 : first), tokens.length - 1);
}
function choosePosition(row) {
  state.position = row;
  for (const tensor of run().attentions().filter((one) => one.axes[2] === "token")) {
    state.rows[placeOf(tensor.name)] = row;
    redrawPlace(placeOf(tensor.name), true);
  }
  document.getElementById("opening").fill();
  document.querySelector(`#opening [data-position="${row}"]`)?.focus({ preventScroll: true });
}

function picture() {
  const place = shownFirst()?.place;
  const tensor = place && run().attentionAt(place);
  if (!tensor?.values) return undefined;
  const heads = run().heads.filter((one) => one.place === place);
  const chosen = heads.find((one) => one.head === headNumber(tensor, headAt(place)));
  const small = tensor.shape[2] <= mostCells && tensor.shape[3] <= mostCells;
  const ofTokens = tensor.axes[2] === "token";
  return [
    small ? beams(tensor, headAt(place), ofTokens) : element("div", { class: "flow centre" }, element("div", { class: "head" }, canvas(matrixOf(tensor), 480))),
    element("div", { class: "picks centre" }, element("span", {}, placeTitle(place)), heads.length > 1 && headPicks(place, tensor), roleBadge(chosen)),
    firstShownText(),
    data.sentences.length > 0 && data.losses.length === 0 && element("p", { class: "note" }, text("page.random")),
    !(small && ofTokens) && run().likeliest.length > 0 && positionStrip(),
  ];
}

function positionStrip() {
  const made = element("div", { class: "words strip" }, run().tokens.map((_, row) => positionWord(row)));
  requestAnimationFrame(() => { made.scrollTop = made.children[position()].offsetTop - made.offsetTop - made.clientHeight / 2; });
  return made;
}

// A token with the word that the model expects after it.
function positionWord(row) {
  const [best] = run().likeliest[row] ?? [];
  const right = run().targets[row];
  const own = row > run().tokens.length - run().written - 1;
  const verdict = !best || right < 0 ? "" : best[0] === right ? "right" : "wrong";
  return button([element("small", {}, run().tokens[row]), best && [vocabularyLabels[best[0]] ?? String(best[0]), element("small", {}, percent(best[1]))]],
    { class: `word ${verdict} ${own ? "own" : ""}`, "data-position": row, "aria-pressed": String(row === position()), title: own ? text("page.written") : text("page.position"),
      click: () => choosePosition(row) });
}

function beams(tensor, head, ofTokens) {
  const from = run().labels(tensor.axes[3]).map((token) => element("span", { class: "word" }, token));
  const to = run().labels(tensor.axes[2]).map((token, row) => (ofTokens && run().likeliest.length > 0 ? positionWord(row) : element("span", { class: "word" }, token)));
  const svg = drawing("svg", { "aria-hidden": "true" });
  const made = element("div", { class: "beams" }, svg, element("div", { class: "words" }, from), element("div", { class: "words" }, to));
  const weight = (row, column) => run().value({ name: tensor.name, index: [0, head, row, column] }) ?? 0;
  new ResizeObserver(() => drawBeams(made, svg, weight, from, to)).observe(made);
  return made;
}

function drawBeams(made, svg, weight, from, to) {
  const box = made.getBoundingClientRect();
  const middle = (one, edge) => { const b = one.getBoundingClientRect(); return [b.left + b.width / 2 - box.left, b[edge] - box.top]; };
  svg.replaceChildren();
  to.forEach((word, row) => from.forEach((source, column) => {
    const share = weight(row, column);
    if (share < 0.02) return;
    const [x1, y1] = middle(source, "bottom");
    const [x2, y2] = middle(word, "top");
    const bend = (y2 - y1) / 2;
    svg.append(drawing("path", { class: word.getAttribute("aria-pressed") === "true" ? "on" : "", d: `M${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`,
      "stroke-width": (0.8 + 7 * share).toFixed(2), "stroke-opacity": (0.12 + 0.75 * share).toFixed(2) }));
  }));
}

function redraw() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  applyLanguage();
  stepList();
  const top = scrollY;
  fill(walk, data.lesson ? lessonCards() : [opening(), data.steps.map(({ number, heads }) => [card(number), heads && headsCard()]), element("footer", {}, text("page.made_by"), " ", element("code", {}, data.version))]);
  if (data.lesson) hideBlanks();
  scrollTo({ top, behavior: "instant" });
  answer();
  watch();
}

// What shows one attention, when another head or query of it is chosen. A choice that has the focus keeps it.
function redrawPlace(place, changed) {
  if (!changed) return;
  const choice = document.activeElement?.closest(".choice")?.getAttribute("aria-label");
  const holder = choice && document.activeElement.closest("details, section");
  const name = CSS.escape(place);
  for (const group of document.querySelectorAll(`details[data-place="${name}"], [data-variants="${name}"], details[data-place="gradients"]`)) group.fill();
  const heads = document.querySelector(`[data-heads="${name}"]`);
  const tensor = run().attentionAt(place);
  if (heads && tensor) fill(heads, headsOf(tensor));
  if (shownFirst()?.place === place) document.getElementById("opening")?.fill();
  answer();
  holder?.querySelector(`.choice[aria-label="${CSS.escape(choice)}"] [aria-pressed="true"]`)?.focus({ preventScroll: true });
}

function openAndFind(name) {
  for (const group of document.querySelectorAll("details.group")) {
    if (!group.holds?.has(name)) continue;
    group.open = true;
    if (group.children.length < 2) group.fill();
    answer();
    return figureOf(name);
  }
  return undefined;
}

let observer;
function watch() {
  observer?.disconnect();
  observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of document.querySelectorAll("#steps a")) {
        if (link.dataset.to === entry.target.id) link.setAttribute("aria-current", "step");
        else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const one of walk.querySelectorAll(".card[id]")) observer.observe(one);
}
function moveStep(step) {
  const cards = [...walk.querySelectorAll(".card")];
  const at = cards.findIndex((one) => one.getBoundingClientRect().bottom > 120);
  const next = cards[Math.min(cards.length - 1, Math.max(0, at + step))];
  next.scrollIntoView();
  next.focus({ preventScroll: true });
}
// The same tensor of the layer before or after: of the matrix that has the focus, or of the first that is seen.
function moveLayer(step) {
  const at = cellAt(document.activeElement) ?? firstCellSeen();
  const name = at?.view.tensor.name;
  const other = name?.replace(/^(\w+)\.(\d+)\./, (_, side, layer) => `${side}.${Number(layer) + step}.`);
  if (other === name || !run().find(other)) return;
  const found = goTo(other, "instant");
  const view = found && shownMatrices.get(found);
  if (!view) return;
  const cell = { made: found, view, r: Math.min(at.r, view.rows - 1), c: Math.min(at.c, view.columns - 1) };
  focusCell(cell);
  if (!drawer.hidden) askAt(cell);
}

function showHelp() {
  drawHelp([[["←", "→", "↑", "↓"], "cells"], [["Enter"], "why"], [["w"], "answer"], [["Backspace"], "back"], [["Esc"], "close"], [["n", "p"], "steps"],
    [["[", "]"], "heads"], [["{", "}"], "layers"], [["?"], "help"]].map(([names, key]) => [names, text(`page.key.${key}`)]));
}

const keys = {
  n: () => moveStep(1), p: () => moveStep(-1), "[": () => moveHead(-1), "]": () => moveHead(1), "{": () => moveLayer(-1), "}": () => moveLayer(1), w: switchWhy, "?": showHelp, Escape: closeWhy,
  Backspace: () => { if (state.trail.length > 1) { state.trail.pop(); follow(lastOf(state.trail)); answer(); remember(); } },
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, textarea, select") || document.getElementById("help").open) return;
  if (moveInMatrix(event)) event.preventDefault();
  else if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
});
document.addEventListener("click", clickInMatrix);
// All digits of a cell under the pointer.
document.addEventListener("pointerover", (event) => {
  const at = event.target.closest?.("table.matrix td[data-r]:not(.blank)") && cellAt(event.target);
  if (at) event.target.title = long(run().value({ name: at.view.tensor.name, index: at.view.index(at.r, at.c) }));
});
addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) { one.open = true; one.fill?.(); } for (const one of document.querySelectorAll("details")) one.open = true; });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);

// "#lang=ko&theme=dark&run=0&cell=encoder.0.self.head.0.scores[3,5]".
function remember() {
  const chosen = new URLSearchParams({ lang: state.lang });
  if (state.theme) chosen.set("theme", state.theme);
  if (state.run !== runs.length - 1) chosen.set("run", state.run);
  if (state.exercise) chosen.set("exercise", 1);
  if (state.trail.length > 0) chosen.set("cell", cellText(lastOf(state.trail)));
  history.replaceState(null, "", `#${chosen}`);
}
function recall() {
  const chosen = new URLSearchParams(location.hash.slice(1) || data.place);
  if (languages.includes(chosen.get("lang"))) state.lang = chosen.get("lang");
  if (["light", "dark"].includes(chosen.get("theme"))) state.theme = chosen.get("theme");
  if (runs[Number(chosen.get("run") ?? -1)]) state.run = Number(chosen.get("run"));
  state.exercise = chosen.get("exercise") === "1";
  const cell = chosen.has("cell") && cellOf(chosen.get("cell"));
  redraw();
  if (cell) {
    askWhy(cell);
    showCell(cell);
  }
  if (chosen.has("tensor")) goTo(chosen.get("tensor"), "instant");
  if (chosen.has("at")) show(chosen.get("at"), "instant");
}
addEventListener("hashchange", recall);
recall();

// The page: bar, opening, cards, keys, and the address that remembers what is chosen.
const languages = Object.keys(data.texts);
const walk = document.getElementById("walk");

function bar() {
  const mark = drawing("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" },
    drawing("path", { d: "M3 12 L21 4 V20 Z", fill: "rgb(var(--beam) / .55)" }), drawing("circle", { cx: 5, cy: 12, r: 4, fill: "rgb(var(--text))" }));
  fill(document.getElementById("bar"),
    element("span", { class: "brand" }, mark, "Headlight"),
    runs.length > 1 && choice(text("page.numbers"), runs.map((one, i) => ({ label: text(one.key), value: i })), state.run, chooseRun),
    choice(text("page.language"), languages.map((lang) => ({ label: lang.toUpperCase(), title: data.texts[lang]["language.name"], value: lang })), state.lang, (lang) => { state.lang = lang; redraw(); remember(); }),
    button(isDark() ? "☀" : "☾", { class: "round", title: text("page.theme"), "aria-label": text("page.theme"), click: () => { state.theme = isDark() ? "light" : "dark"; redraw(); remember(); } }),
    button("?", { class: "round", title: text("page.help"), "aria-label": text("page.help"), click: showHelp }));
}
function chooseRun(chosen) {
  state.run = chosen;
  redraw();
  remember();
}
function isDark() { return state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches; }

function stepList() {
  const entries = [["heads", "·", text("heads.title")], ...data.steps.map(({ name, number }) => [`step-${number}`, String(number), text(`step.${name}.title`)])];
  fill(document.getElementById("steps"), entries.map(([id, number, title]) =>
    element("a", { href: `#${id}`, "data-to": id, click: (event) => { event.preventDefault(); show(id); } }, element("span", { class: "number" }, number), title)));
}
function show(id, behavior = "auto") { document.getElementById(id)?.scrollIntoView({ behavior }); }

// The sentence, what the model makes of it, and where it looks.
function opening() {
  const prediction = predicted();
  return element("section", { class: "card hero" }, element("h1", {}, text("page.title")), element("p", { class: "lead" }, text("page.lead")),
    prediction && beams(prediction),
    run().continuation && element("p", { class: "says" }, text("message.says", { words: run().continuation })));
}

function predicted() {
  const tensor = run().find("probabilities");
  if (!tensor?.values || tensor.shape[1] > mostCells) return undefined;
  const [, rows, width] = tensor.shape;
  return Array.from({ length: rows }, (_, row) => {
    let best = 0;
    for (let id = 1; id < width; ++id) if (probability(row, id) > probability(row, best)) best = id;
    return { id: best, share: probability(row, best), right: run().targets[row] };
  });
}

function beams(prediction) {
  const across = run().attentions().filter((tensor) => tensor.values).reverse().find((tensor) => tensor.name.includes(".cross.")) ?? lastOf(run().attentions());
  const above = run().labels(across.axes[3]);
  const word = (content, extra) => element("span", { class: `word ${extra ?? ""}` }, content);
  const from = above.map((token) => word(token));
  const to = prediction.map(({ id, share, right }, row) => {
    const one = word([vocabularyLabels[id] ?? String(id), element("small", {}, `${Math.round(100 * share)}%`)], right < 0 ? "" : id === right ? "right" : "wrong");
    one.title = right >= 0 ? `${text("page.right")}: ${vocabularyLabels[right] ?? right}` : "";
    one.addEventListener("click", () => askWhy({ name: "probabilities", index: [0, row, id] }));
    return one;
  });
  const svg = drawing("svg", { "aria-hidden": "true" });
  const made = element("div", { class: "beams" }, svg, element("div", { class: "words" }, from), element("div", { class: "words" }, to));
  new ResizeObserver(() => drawBeams(made, svg, across, from, to)).observe(made);
  return made;
}

function drawBeams(made, svg, across, from, to) {
  const box = made.getBoundingClientRect();
  const heads = across.shape[1];
  const middle = (one, edge) => { const b = one.getBoundingClientRect(); return [b.left + b.width / 2 - box.left, b[edge] - box.top]; };
  svg.replaceChildren();
  to.forEach((word, row) => from.forEach((source, column) => {
    let share = 0;
    for (let head = 0; head < heads; ++head) share += (run().value({ name: across.name, index: [0, head, row, column] }) ?? 0) / heads;
    if (share < 0.02) return;
    const [x1, y1] = middle(source, "bottom");
    const [x2, y2] = middle(word, "top");
    const bend = (y2 - y1) / 2;
    svg.append(drawing("path", { d: `M${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`, "stroke-width": (0.8 + 7 * share).toFixed(2), "stroke-opacity": (0.12 + 0.75 * share).toFixed(2) }));
  }));
}

function redraw() {
  document.documentElement.lang = state.lang;
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  document.title = `${text("page.title")} · Headlight`;
  bar();
  stepList();
  const top = scrollY;
  fill(walk, opening(), headsCard(), data.steps.map(({ number }) => card(number)), element("footer", {}, text("page.made_by"), " ", element("code", {}, data.version)));
  scrollTo({ top, behavior: "instant" });
  answer();
  watch();
}

// What shows one attention, when another head or query of it is chosen.
function redrawPlace(place, changed) {
  if (!changed) return;
  for (const group of document.querySelectorAll(`details[data-place="${CSS.escape(place)}"]`)) group.fill();
  const heads = document.querySelector(`[data-heads="${CSS.escape(place)}"]`);
  const tensor = run().attentionAt(place);
  if (heads && tensor) fill(heads, headsOf(tensor));
  answer();
}

function openAndFind(name) {
  for (const group of document.querySelectorAll("details.group")) {
    if (!group.holds?.has(name)) continue;
    group.open = true;
    if (group.children.length < 2) group.fill();
    return document.querySelector(`.matrix[data-name="${CSS.escape(name)}"]`);
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
  cards[Math.min(cards.length - 1, Math.max(0, at + step))].scrollIntoView();
}

function showHelp() {
  const help = document.getElementById("help");
  const keys = [[["←", "→", "↑", "↓"], "cells"], [["Enter"], "why"], [["Backspace"], "back"], [["Esc"], "close"], [["n", "p"], "steps"], [["[", "]"], "heads"], [["?"], "help"]];
  fill(help, element("h2", {}, text("page.help")), element("dl", {}, keys.map(([names, key]) =>
    [element("dt", {}, names.map((name) => element("kbd", {}, name))), element("dd", {}, text(`page.key.${key}`))])), button(text("page.close"), { class: "plain", click: () => help.close() }));
  help.showModal();
}

const keys = {
  n: () => moveStep(1), p: () => moveStep(-1), "[": () => moveHead(-1), "]": () => moveHead(1), "?": showHelp, Escape: closeWhy,
  Backspace: () => { if (state.trail.length > 1) { state.trail.pop(); follow(lastOf(state.trail)); answer(); remember(); } },
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("help").open) return;
  if (moveInMatrix(event)) event.preventDefault();
  else if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
});
document.addEventListener("click", clickInMatrix);
addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) { one.open = true; one.fill?.(); } for (const one of document.querySelectorAll("details")) one.open = true; });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// "#lang=ko&theme=dark&run=0&cell=encoder.0.self.head.0.scores[3,5]".
function remember() {
  const chosen = new URLSearchParams({ lang: state.lang });
  if (state.theme) chosen.set("theme", state.theme);
  if (state.run !== runs.length - 1) chosen.set("run", state.run);
  if (state.trail.length > 0) chosen.set("cell", cellText(lastOf(state.trail)));
  history.replaceState(null, "", `#${chosen}`);
}
function recall() {
  const chosen = new URLSearchParams(location.hash.slice(1) || data.place);
  if (languages.includes(chosen.get("lang"))) state.lang = chosen.get("lang");
  if (["light", "dark"].includes(chosen.get("theme"))) state.theme = chosen.get("theme");
  if (runs[Number(chosen.get("run") ?? -1)]) state.run = Number(chosen.get("run"));
  const cell = chosen.has("cell") && cellOf(chosen.get("cell"));
  redraw();
  if (cell) {
    askWhy(cell);
    goTo(cell.name, "instant");
  }
  if (chosen.has("tensor")) goTo(chosen.get("tensor"), "instant");
  if (chosen.has("at")) show(chosen.get("at"), "instant");
}
addEventListener("hashchange", recall);
recall();

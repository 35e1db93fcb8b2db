// The page of an experiment: what came out, the map of heads with what they look at, pictures, tables.
const experiment = data.report;
const byHead = experiment.tables.find((table) => table.by_head);
const scores = byHead ? byHead.columns.filter((column) => column.is_number && column.is_mapped) : [];
const mostRows = 2000;
Object.assign(state, { score: (scores.find((column) => column.name === experiment.first_mapped) ?? scores[0])?.name, head: undefined, sentence: 0 });

// A text with its numbers, in the chosen language.
function said(one) {
  if (!one) return undefined;
  return one.key === undefined ? one.words : told(() => wordsOf(one.key, Object.fromEntries(Object.entries(one.values).map(([name, value]) => [name, filledIn(value)]))));
}
function filledIn(value) {
  if (typeof value === "string") return value;
  if (value.key !== undefined) return wordsOf(value.key);
  const amount = value.share === undefined ? value.number : 100 * value.share;
  const digits = amount === null ? "–" : prose(amount, value.digits ?? 3);
  return value.share === undefined ? digits : wordsOf("language.percent", { number: digits });
}

// As many decimals for all numbers of a column as the largest needs for so many digits.
function formatOf(numbers, digits) {
  const largest = Math.max(0, ...numbers.map(Math.abs));
  if (numbers.every(Number.isInteger) && largest < 1e7) return (x) => signed(String(Math.abs(x)), x);
  if (largest < 1e-4 || largest >= 1e7) return (x) => signed(Math.abs(x).toExponential(digits - 1), x);
  const places = Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(largest))));
  return (x) => decimals(Number(x.toFixed(places)), places);
}
const numbersAt = (table, at) => table.rows.map((row) => row[at]).filter((cell) => typeof cell === "number");
for (const table of experiment.tables) table.columns.forEach((column, at) => { column.at = at; column.format = formatOf(numbersAt(table, at), 4); column.brief = formatOf(numbersAt(table, at), 3); });

function cellText(cell, column, format = column.format) {
  if (cell === null) return "–";
  if (typeof cell === "number") return number(cell, format);
  return typeof cell === "string" ? cell : text(cell.key);
}

const headAt = byHead?.columns.find((column) => column.name === "head").at;
const rowsOfHeads = new Map(byHead ? byHead.rows.map((row) => [row[headAt], row]) : []);
function placeAndNumber(head) {
  const dot = head.lastIndexOf(".");
  return [head.slice(0, dot), Number(head.slice(dot + 1))];
}
function layerOrder(place) {
  const [side, layer, kind] = place.split(".");
  return [side === "encoder" ? 0 : 1, Number(layer) || 0, kind === "cross" ? 1 : 0];
}
function compareLists(a, b) { return a.map((one, i) => one - b[i]).find((one) => one !== 0) ?? 0; }
const places = [...new Set([...rowsOfHeads.keys()].map((head) => placeAndNumber(head)[0]))].sort((a, b) => compareLists(layerOrder(a), layerOrder(b)));
const headNumbers = [...new Set([...rowsOfHeads.keys()].map((head) => placeAndNumber(head)[1]))].sort((a, b) => a - b);
// The page begins with the head that stands out by the score that it begins with.
const openingScore = scores.find((column) => column.name === state.score)?.at;
const outstanding = [...rowsOfHeads].reduce((best, one) => (best && Math.abs(best[1][openingScore]) >= Math.abs(one[1][openingScore]) ? best : one), undefined)?.[0];
state.head = outstanding;

function headsCard() {
  if (!byHead || scores.length === 0) return undefined;
  const made = element("section", { class: "card", id: "heads", tabindex: "-1" }, element("h2", {}, text("experiment.page.heads")), element("p", { class: "text" }, text("experiment.page.heads_text")));
  const map = element("div", { class: "ink-a", id: "map" });
  const detail = element("div", { id: "head", "aria-live": "polite" });
  made.append(element("div", { class: "picks", id: "scores" }), map, detail);
  return made;
}

function drawScores() {
  const holder = document.getElementById("scores");
  if (holder) fill(holder, element("span", {}, text("experiment.page.score")), choice(text("experiment.page.score"), scores.map((column) => ({ label: said(column.heading), title: said(column.meaning), value: column.name })), state.score, chooseScore));
}

function drawMap() {
  const holder = document.getElementById("map");
  if (!holder) return;
  const column = scores.find((one) => one.name === state.score);
  const largest = Math.max(...numbersAt(byHead, column.at).map(Math.abs), Number.MIN_VALUE);
  const focused = state.head ?? [...rowsOfHeads.keys()][0];
  const cell = (place, head) => {
    const name = `${place}.${head}`;
    const row = rowsOfHeads.get(name);
    if (!row) return element("td", { class: "none", "aria-hidden": "true" });
    const value = row[column.at];
    return element("td", { "data-head": name, role: "gridcell", tabindex: name === focused ? "0" : "-1", "aria-selected": String(name === state.head), "aria-label": told(() => `${name}: ${cellText(value, column)}`),
      class: `${value < 0 ? "minus" : ""} ${name === state.head ? "chosen" : ""}`, style: { "--s": value === null ? 0 : Math.abs(value) / largest } }, cellText(value, column, column.brief));
  };
  const meaning = said(column.meaning);
  fill(holder, meaning && element("p", { class: "note" }, meaning), element("div", { class: "scroll" }, element("table", { class: "matrix heads-map", role: "grid", "aria-label": said(column.heading) },
    element("thead", {}, element("tr", {}, element("th", {}), headNumbers.map((head) => element("th", { scope: "col" }, String(head))))),
    element("tbody", {}, places.map((place) => element("tr", {}, element("th", { scope: "row", title: place }, place), headNumbers.map((head) => cell(place, head))))))));
}

function chooseScore(name) {
  state.score = name;
  drawScores();
  drawMap();
  remember();
  document.querySelector("#scores [aria-pressed='true']")?.focus({ preventScroll: true });
}
function chooseHead(name) {
  state.head = name;
  drawMap();
  drawHead();
  remember();
}

function drawHead() {
  const holder = document.getElementById("head");
  if (!holder) return;
  const row = rowsOfHeads.get(state.head);
  if (!row) return;
  fill(holder, element("h3", {}, state.head),
    element("dl", { class: "scores" }, byHead.columns.filter((column) => column.at !== headAt).map((column) => [element("dt", { title: said(column.meaning) }, said(column.heading)), element("dd", {}, cellText(row[column.at], column))])),
    experiment.sentences.length > 0 && sentencesOf(state.head));
}

function sentencesOf(head) {
  const options = experiment.sentences.map((sentence, i) => ({ label: String(i + 1), title: sentence.tokens.join(" "), value: i }));
  const sentence = experiment.sentences[state.sentence];
  const seen = sentence.heads.find((one) => one.head === head);
  return [options.length > 1 && element("div", { class: "picks" }, element("span", {}, text("experiment.page.sentence")), choice(text("experiment.page.sentence"), options, state.sentence, chooseSentence)),
    seen ? attentionMap(sentence, seen) : element("p", { class: "note" }, text("experiment.page.unseen"))];
}
function chooseSentence(i) {
  state.sentence = i;
  drawHead();
  remember();
  document.querySelector("#head .picks [aria-pressed='true']")?.focus({ preventScroll: true });
}

// Letters of base 64 as float32.
function floatsOf(letters) {
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

// Each row a token that looks; the row under the pointer or with the focus says its numbers.
function attentionMap(sentence, seen) {
  const from = seen.rows_are_source ? sentence.source_tokens : sentence.tokens;
  const to = seen.columns_are_source ? sentence.source_tokens : sentence.tokens;
  seen.values ??= floatsOf(seen.weights);
  const weight = (i, j) => seen.values[i * to.length + j];
  const [step, size] = [20, 12];
  const room = (labels) => Math.max(...labels.map((label) => clippedLabel(label).length)) * size * 0.62 + 10;
  const [left, top] = [room(from), room(to)];
  const [width, height] = [left + step * to.length + 4, top + step * from.length + 4];
  const readout = element("p", { class: "readout", role: "status" });
  const tell = (i) => fill(readout, told(() => `${from[i]} → ${to.map((token, j) => [token, weight(i, j)]).filter(([, share]) => share >= 0.005).sort((a, b) => b[1] - a[1]).slice(0, 8)
    .map(([token, share]) => `${token} ${percent(share)}`).join(", ")}`));
  const made = drawing("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": text("experiment.page.looks", { head: seen.head }) });
  to.forEach((token, j) => made.append(drawing("text", { x: left + step * (j + 0.5) + 4, y: top - 6, transform: `rotate(-90 ${left + step * (j + 0.5) + 4} ${top - 6})` }, clippedLabel(token))));
  from.forEach((token, i) => {
    const y = top + step * i;
    const line = drawing("g", { tabindex: "0", class: "looks", pointerenter: () => tell(i), focus: () => tell(i) },
      drawing("text", { x: left - 6, y: y + step / 2 + 4, "text-anchor": "end" }, clippedLabel(token)),
      to.map((_, j) => drawing("rect", { x: left + step * j, y, width: step - 1, height: step - 1, "fill-opacity": (0.03 + 0.97 * Math.min(1, weight(i, j))).toFixed(3) })));
    made.append(line);
  });
  return element("div", { class: "attention" }, element("p", { class: "note" }, text("heads.text")), element("div", { class: "scroll" }, made), readout);
}
function clippedLabel(label) { return [...label].length > 14 ? `${[...label].slice(0, 13).join("")}…` : label; }

// Drawn by the engine, once for each language.
function pictureCard() {
  if (experiment.pictures.length === 0) return undefined;
  return element("section", { class: "card", id: "pictures", tabindex: "-1" }, element("h2", {}, text("experiment.page.pictures")), experiment.pictures.map((picture) => {
    const made = element("div", { class: "scroll picture" });
    made.retell = () => made.replaceChildren(document.importNode(new DOMParser().parseFromString(picture[state.lang], "image/svg+xml").documentElement, true));
    made.retell();
    return made;
  }));
}

function tableCard(table, i) {
  const made = element("section", { class: "card", id: `table-${i}`, tabindex: "-1" });
  let sorted = { at: undefined, down: true };
  const draw = () => {
    const rows = [...table.rows];
    const weight = (cell) => (cell === null ? undefined : typeof cell === "object" ? cell.name : cell);
    const order = (a, b) => (a === undefined ? 1 : b === undefined ? -1 : (typeof a === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true })) * (sorted.down ? -1 : 1));
    if (sorted.at !== undefined) rows.sort((a, b) => order(weight(a[sorted.at]), weight(b[sorted.at])));
    fill(made, element("h2", {}, said(table.title)), element("div", { class: "scroll" }, element("table", { class: "listed" },
      element("thead", {}, element("tr", {}, table.columns.map((column) => element("th", { scope: "col", class: column.is_number ? "number" : "", "aria-sort": sorted.at === column.at ? (sorted.down ? "descending" : "ascending") : "none" },
        button([said(column.heading), sorted.at === column.at ? (sorted.down ? " ↓" : " ↑") : ""], { title: said(column.meaning), "data-column": column.name, click: () => {
          sorted = { at: column.at, down: sorted.at === column.at ? !sorted.down : true };
          draw();
          made.querySelector(`[data-column="${CSS.escape(column.name)}"]`).focus({ preventScroll: true });
        } }))))),
      element("tbody", {}, rows.slice(0, mostRows).map((row) => element("tr", {}, row.map((cell, at) => element("td", { class: typeof cell === "number" || cell === null ? "number" : "" }, cellText(cell, table.columns[at])))))))),
    rows.length > mostRows && element("p", { class: "note" }, text("experiment.more_rows", { shown: String(mostRows), all: String(rows.length) })));
  };
  draw();
  return made;
}

function resultCard() {
  return element("section", { class: "card hero", id: "result", tabindex: "-1" }, element("h1", {}, said(experiment.title)), element("p", { class: "text" }, said(experiment.summary)),
    experiment.notes.map((note) => element("p", { class: "note" }, said(note))),
    experiment.next.length > 0 && [element("p", { class: "note" }, text("command.next")), element("dl", { class: "next" }, experiment.next.map((one) => [element("dt", {}, element("code", {}, one.command)), element("dd", {}, said(one.what))]))]);
}

function showHelp() {
  drawHelp([[["←", "→", "↑", "↓"], text("experiment.page.key_map")], [["Enter"], text("experiment.page.key_choose")], [["[", "]"], text("page.key.heads")], [["?"], text("page.key.help")]]);
}
function applyLanguage() {
  document.documentElement.lang = state.lang;
  document.title = `${said(experiment.title)} · Headlight`;
  drawBar();
}
function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  drawBar();
}

function redraw() {
  applyTheme();
  applyLanguage();
  const cards = [resultCard(), headsCard(), pictureCard(), ...experiment.tables.map(tableCard)];
  fill(walk, cards, element("footer", {}, text("experiment.page.made_by"), " ", element("code", {}, data.version)));
  drawSteps([["result", "·", text("experiment.page.result")], ...(cards[1] ? [["heads", "·", text("experiment.page.heads")]] : []), ...(cards[2] ? [["pictures", "·", text("experiment.page.pictures")]] : []),
    ...experiment.tables.map((table, i) => [`table-${i}`, "·", said(table.title)])]);
  drawScores();
  drawMap();
  drawHead();
}

// Arrows lead from head to head in the map; brackets choose the next one.
function moveInMap(event) {
  const at = event.target.closest?.("td[data-head]");
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (!at || !step) return false;
  const [place, head] = placeAndNumber(at.dataset.head);
  let [row, column] = [places.indexOf(place), headNumbers.indexOf(head)];
  for (;;) {
    row += step[0];
    column += step[1];
    if (row < 0 || column < 0 || row >= places.length || column >= headNumbers.length) return true;
    const next = document.querySelector(`#map td[data-head="${CSS.escape(`${places[row]}.${headNumbers[column]}`)}"]`);
    if (!next) continue;
    at.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    return true;
  }
}
function moveHead(step) {
  const names = places.flatMap((place) => headNumbers.map((head) => `${place}.${head}`)).filter((name) => rowsOfHeads.has(name));
  if (names.length === 0) return;
  const at = names.indexOf(state.head);
  chooseHead(names[at < 0 ? 0 : (at + step + names.length) % names.length]);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("help").open) return;
  const head = event.target.closest?.("td[data-head]")?.dataset.head;
  if (head && (event.key === "Enter" || event.key === " ")) {
    chooseHead(head);
    document.querySelector("#map td.chosen").focus({ preventScroll: true });
  } else if (event.key === "[" || event.key === "]") moveHead(event.key === "[" ? -1 : 1);
  else if (event.key === "?") showHelp();
  else if (!moveInMap(event)) return;
  event.preventDefault();
});
document.addEventListener("click", (event) => {
  const head = event.target.closest?.("td[data-head]")?.dataset.head;
  if (head) chooseHead(head);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);

// "#lang=ko&theme=dark&score=induction&head=decoder.0.self.3".
function remember() {
  const chosen = new URLSearchParams({ lang: state.lang });
  if (state.theme) chosen.set("theme", state.theme);
  if (state.score) chosen.set("score", state.score);
  if (state.head) chosen.set("head", state.head);
  if (state.sentence > 0) chosen.set("sentence", state.sentence);
  history.replaceState(null, "", `#${chosen}`);
}
function recall() {
  const chosen = new URLSearchParams(location.hash.slice(1));
  if (languages.includes(chosen.get("lang"))) state.lang = chosen.get("lang");
  if (["light", "dark"].includes(chosen.get("theme"))) state.theme = chosen.get("theme");
  if (scores.some((column) => column.name === chosen.get("score"))) state.score = chosen.get("score");
  if (rowsOfHeads.has(chosen.get("head"))) state.head = chosen.get("head");
  if (experiment.sentences[Number(chosen.get("sentence") ?? -1)]) state.sentence = Number(chosen.get("sentence"));
  redraw();
}
addEventListener("hashchange", recall);
recall();

// Put at the end of a page by explain_page_test, on a screen of some size: where things stand when numbers are asked why.
const wrong = [];
function expect(holds, what) { if (!holds && wrong.length < 20) wrong.push(`${state.lang}: ${what}`); }
function box(one) { return one.getBoundingClientRect(); }

function checkWidth(when) {
  const { scrollWidth } = document.scrollingElement;
  if (scrollWidth <= innerWidth) return;
  const wide = [...document.querySelectorAll("body *")].filter((one) => box(one).right > innerWidth + 0.5 && !one.closest(".scroll, svg, #steps")).slice(0, 3);
  expect(false, `${when} the page is ${scrollWidth} wide on a screen of ${innerWidth}: ${wide.map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 30)}`).join(" | ")}`);
}

// The answer is on the screen, whole from side to side, and not over what was asked.
function checkDrawer(name, cell) {
  const around = box(drawer);
  expect(around.left >= 0 && around.right <= innerWidth + 0.5 && around.top >= 0 && around.bottom <= innerHeight + 0.5, `${name}: the answer is beyond the screen`);
  expect(drawer.scrollWidth <= drawer.clientWidth, `${name}: the answer is ${drawer.scrollWidth} wide in ${drawer.clientWidth}`);
  for (const one of drawer.querySelectorAll(".terms, .terms td, .terms th, .factor, .ingredients dd, .check dd, .value, .filled")) {
    expect(box(one).left >= around.left && box(one).right <= around.right + 0.5, `${name}: ${one.className} ${one.textContent} is cut off`);
  }
  const digits = document.createTreeWalker(drawer, NodeFilter.SHOW_TEXT);
  while (digits.nextNode()) {
    if (!/\d/.test(digits.currentNode.data) || !digits.currentNode.parentElement.matches("td, .factor")) continue;
    const range = document.createRange();
    range.selectNodeContents(digits.currentNode);
    expect(new Set([...range.getClientRects()].map((one) => one.top)).size === 1, `${name}: ${digits.currentNode.data} is broken`);
  }
  if (!cell) return;
  const over = cell.left < around.right - 0.5 && cell.right > around.left + 0.5 && cell.top < around.bottom - 0.5 && cell.bottom > around.top + 0.5;
  expect(!over, `${name}: the answer lies over the cell`);
}

function checkCell(made, r, c) {
  const { tensor } = shownMatrices.get(made);
  const cell = tableCellAt(made, r, c);
  cell.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  const before = box(cell);
  cell.click();
  const shown = [...document.querySelectorAll(`table.matrix[data-name="${tensor.name}"] td.chosen`)].find((one) => Math.abs(box(one).top - before.top) < 200) ?? cell;
  const after = box(shown);
  expect(Math.abs(after.left - before.left) < 1 && Math.abs(after.top - before.top) < 1, `${tensor.name}[${r},${c}] moves from ${before.left},${before.top} to ${after.left},${after.top}`);
  checkDrawer(`${tensor.name}[${r},${c}]`, after);
}

function checkCells(opened) {
  for (const name of run().all.keys()) {
    const made = document.querySelector(`table.matrix[data-name="${CSS.escape(name)}"]`);
    if (!made || box(made).width === 0) continue;
    const { rows, columns } = shownMatrices.get(made);
    if (!opened) closeWhy();
    const now = document.querySelector(`table.matrix[data-name="${CSS.escape(name)}"]`);
    checkCell(now, ...(opened ? [rows - 1, columns - 1] : [0, 0]));
    checkWidth(`with the answer for ${name}`);
  }
}

// Words of Hangul are not broken.
function checkBreaks() {
  const seen = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (seen.nextNode()) {
    const holder = seen.currentNode.parentElement;
    if (!/[가-힣]{2}/.test(seen.currentNode.data) || holder.closest("script, noscript")) continue;
    expect(getComputedStyle(holder).wordBreak === "keep-all", `words break in ${holder.tagName}.${holder.className}: ${seen.currentNode.data.slice(0, 20)}`);
  }
}

// The last language that was chosen is shown. How long each took is told, not judged: others work on the machine too.
function timesOfLanguages() {
  const times = [];
  for (const lang of ["TR", "KO", "AZ", "EN", "TR", "EN"]) {
    const button = [...document.querySelectorAll("#bar button")].find((one) => one.textContent === lang);
    const begin = performance.now();
    button.click();
    document.body.getBoundingClientRect();  // laid out
    times.push(performance.now() - begin);
  }
  expect(state.lang === "en", "the last language is not shown");
  return times;
}

let times = [];
try {
  times = timesOfLanguages();
  for (const lang of Object.keys(data.texts)) {
    state.lang = lang;
    redraw();
    for (const one of document.querySelectorAll("details.group")) { one.open = true; one.fill?.(); }
    for (const one of document.querySelectorAll("details")) one.open = true;
    checkWidth("at first");
    if (lang === "ko") checkBreaks();
    if (lang === "en") checkCells(false);
    if (lang === "tr") checkCells(true);
    closeWhy();
    showHelp();
    checkWidth("with the keys");
    document.getElementById("help").close();
  }
} catch (error) {
  wrong.push(String(error.stack));
}
report(`wrong: ${wrong.length}\n${wrong.join("\n")}\nms for another language: ${times.map(Math.round)}`);

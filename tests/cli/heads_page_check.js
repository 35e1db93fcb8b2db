// Put at the end of a report's page by heads_test: chooses scores, heads and sentences by clicks and keys, in every language and both themes.
const wrong = [];
addEventListener("error", (event) => wrong.push(event.message));
function expect(holds, what) { if (!holds && wrong.length < 20) wrong.push(`${state.lang}: ${what}`); }
function press(key) { (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })); }

// The page opens with a head: the one with the largest first score.
if (rowsOfHeads.size > 0) {
  const sizes = [...rowsOfHeads.values()].map((row) => Math.abs(row[openingScore] ?? 0));
  expect(Math.abs(rowsOfHeads.get(state.head)?.[openingScore] ?? -1) === Math.max(...sizes), `${state.head} does not stand out`);
  expect(document.querySelector("#head h3")?.textContent === state.head, "no head is shown at the beginning");
}

function checkWidth(when) {
  const { scrollWidth } = document.scrollingElement;
  if (scrollWidth <= innerWidth) return;
  const wide = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5 && !one.closest(".scroll, #steps")).slice(0, 3);
  expect(false, `${when} the page is ${scrollWidth} wide on a screen of ${innerWidth}: ${wide.map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 30)}`).join(" | ")}`);
}

// No key stands where its text should be, no number is missing.
function checkWords() {
  const seen = document.body.innerText;
  const left = /\b(experiment|page|role|term|language|heads)\.[a-z_]+(\.\w+)?\b/.exec(seen);
  expect(!left, `a key is shown: ${left?.[0]}`);
  expect(!/\{\w+\}/.test(seen), `a number is missing: ${/\{\w+\}/.exec(seen)?.[0]}`);
  expect(!/undefined|NaN|\[object/.test(seen), `not for people: ${/.{0,20}(undefined|NaN|\[object).{0,20}/.exec(seen)?.[0]}`);
  expect(document.querySelector("h1").textContent.trim() !== "", "there is no title");
  const shown = [...document.querySelectorAll("#result > p")].map((one) => one.textContent.trim());
  const next = experiment.next.length > 0 ? 1 : 0;
  expect(shown.length === 1 + experiment.notes.length + next && !shown.includes(""), `of the summary and ${experiment.notes.length} notes ${shown.length} are said`);
  expect(document.querySelectorAll("#result .next dt").length === experiment.next.length, "what to type next is missing");
}

function checkMap() {
  const cells = [...document.querySelectorAll("#map td[data-head]")];
  expect(cells.length === rowsOfHeads.size, `${cells.length} cells for ${rowsOfHeads.size} heads`);
  expect(cells.filter((one) => one.tabIndex === 0).length === 1, "not one cell can be reached by Tab");
  for (const { name } of scores) {
    const choices = [...document.querySelectorAll("#scores .choice button")];
    choices[scores.findIndex((one) => one.name === name)].click();
    expect(state.score === name && document.querySelectorAll("#scores [aria-pressed='true']").length === 1, `${name} cannot be chosen`);
    const column = scores.find((one) => one.name === name);
    for (const cell of document.querySelectorAll("#map td[data-head]")) {
      const value = rowsOfHeads.get(cell.dataset.head)[column.at];
      expect(cell.textContent === String(reportCell(value, column, column.brief)), `${cell.dataset.head} shows ${cell.textContent} for ${value}`);
      expect((value ?? 0) < 0 === cell.classList.contains("minus"), `the sign of ${cell.dataset.head} is not shown`);
    }
  }
}

function checkHead() {
  const first = document.querySelector("#map td[data-head]");
  first.click();
  const name = first.dataset.head;
  expect(document.querySelector("#head h3")?.textContent === name, "a click does not choose the head");
  const row = rowsOfHeads.get(name);
  const numbers = byHead.columns.filter((column) => column.name !== "head").map((column) => String(reportCell(row[column.at], column)));
  expect([...document.querySelectorAll("#head dd")].map((one) => one.textContent).join("|") === numbers.join("|"), "numbers of the head are missing or are those of another");
  experiment.sentences.forEach((sentence, i) => {
    const picks = document.querySelectorAll("#head .picks .choice button");
    if (picks.length > 0) picks[i].click();
    const seen = sentence.heads.find((one) => one.head === name);
    const map = document.querySelector("#head svg");
    expect(seen && map, `sentence ${i} is not drawn`);
    if (!seen || !map) return;
    const rows = map.querySelectorAll("g.looks");
    const from = seen.rows_are_source ? sentence.source_tokens : sentence.tokens;
    const to = seen.columns_are_source ? sentence.source_tokens : sentence.tokens;
    expect(rows.length === from.length && rows[0].querySelectorAll("rect").length === to.length, `the map of sentence ${i} has another size`);
    for (let r = 0; r < from.length; ++r) {
      const sum = seen.values.slice(r * to.length, (r + 1) * to.length).reduce((all, one) => all + one, 0);
      expect(Math.abs(sum - 1) < 1e-4, `row ${r} of sentence ${i} adds up to ${sum}`);
    }
    const weights = (r) => seen.values.slice(r * to.length, (r + 1) * to.length);
    rows.forEach((one, r) => {
      const shades = [...one.querySelectorAll("rect")].map((cell) => Number(cell.getAttribute("fill-opacity")));
      expect(shades.every((shade, c) => Math.abs(shade - 0.03 - 0.97 * Math.min(1, weights(r)[c])) < 2e-3), `row ${r} of sentence ${i} is shaded otherwise`);
    });
    const last = from.length - 1;
    rows[last].focus();
    const best = to[weights(last).indexOf(Math.max(...weights(last)))];
    expect(document.querySelector("#head .readout").textContent.startsWith(`${from[last]} → ${best} `), "a row does not say its numbers");
  });
}

function checkKeys() {
  const first = document.querySelector("#map td[tabindex='0']");
  first.focus();
  press("ArrowRight");
  const next = document.activeElement;
  expect(next !== first && next.dataset.head, "the arrow leads nowhere");
  press("Enter");
  expect(state.head === next.dataset.head && document.activeElement.dataset.head === next.dataset.head, "Enter does not choose");
  press("ArrowDown");
  press("ArrowUp");
  press("ArrowLeft");
  expect(document.activeElement.dataset.head === first.dataset.head, "arrows do not lead back");
  const before = state.head;
  press("]");
  expect(state.head !== before, "] chooses no other head");
  press("[");
  expect(state.head === before, "[ does not lead back");
  press("?");
  expect(document.getElementById("help").open && document.querySelectorAll("#help dt").length === 4, "? does not help");
  document.getElementById("help").close();
}

function checkTables() {
  experiment.tables.forEach((table, i) => {
    const card = document.getElementById(`table-${i}`);
    expect(card.querySelectorAll("tbody tr").length === Math.min(table.rows.length, mostRows), `table ${i} has other rows`);
    const column = table.columns.findLast((one) => one.is_number);
    if (!column) return;
    const shown = () => [...document.getElementById(`table-${i}`).querySelectorAll("tbody tr")].map((row) => row.children[column.at].textContent);
    const sort = () => document.querySelector(`#table-${i} [data-column="${column.name}"]`).click();
    const expected = numbersAt(table, column.at).sort((a, b) => b - a).map((one) => String(reportCell(one, column)));
    sort();
    expect(shown().slice(0, expected.length).join() === expected.join(), `table ${i} is not sorted by ${column.name}`);
    sort();
    expect(shown().slice(0, expected.length).join() === expected.reverse().join(), `table ${i} is not sorted upwards`);
    expect(document.activeElement.dataset.column === column.name, "sorting loses the focus");
  });
}

function checkPictures() {
  const drawn = document.querySelectorAll(".picture > svg");
  expect(drawn.length === experiment.pictures.length, `${drawn.length} pictures of ${experiment.pictures.length}`);
  for (const one of drawn) {
    const { width, height } = one.viewBox.baseVal;
    expect(one.namespaceURI.endsWith("svg") && width > 50 && height > 50, "a picture is not drawn");
    const box = one.getBoundingClientRect();
    for (const text of one.querySelectorAll("text")) {
      const inside = text.getBoundingClientRect();
      expect(inside.left >= box.left - 2 && inside.right <= box.right + 2 && inside.top >= box.top - 2 && inside.bottom <= box.bottom + 2, `${text.textContent} is cut off`);
    }
  }
}

try {
  document.head.append(element("style", {}, ".card { content-visibility: visible !important; }"));
  const titles = new Set();
  for (const lang of ["TR", "AZ", "KO", "EN"]) {
    [...document.querySelectorAll("#bar button")].find((one) => one.textContent === lang).click();
    titles.add(document.querySelector("h1").textContent);
    checkWords();
    checkPictures();
    checkWidth("at first");
    if (byHead) {
      checkMap();
      checkHead();
      checkWords();
      checkWidth("with a head");
      checkKeys();
    }
    checkTables();
  }
  expect(titles.size === 4, "languages look the same");
  const light = getComputedStyle(document.body).backgroundColor;
  document.querySelectorAll("#bar button.round")[0].click();
  expect(getComputedStyle(document.body).backgroundColor !== light, "there is no dark theme");
  checkWords();
  expect(location.hash.includes("lang=en") && location.hash.includes("theme="), `the address is ${location.hash}`);
} catch (error) {
  wrong.push(String(error.stack));
}
report(`wrong: ${wrong.length}\n${wrong.join("\n")}`);

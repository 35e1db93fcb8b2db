// Put at the end of a page by explain_page_test: asks every cell why, walks back from the prediction, and presses what can be pressed.
const wrong = [];
function expect(holds, what) { if (!holds && wrong.length < 20) wrong.push(what); }

// The terms of each cell combine to the engine's number; its name leads back to it.
function checkCells() {
  let cells = 0;
  for (const tensor of run().all.values()) {
    tensor.values.forEach((value, offset) => {
      const cell = { name: tensor.name, index: indexAt(tensor.shape, offset) };
      const explanation = new Explanation(cell);
      const size = Math.max(1, Math.abs(value) || 0, ...explanation.terms.map((term) => Math.abs(term.value) || 0));
      const same = Object.is(explanation.combined, value) || Math.abs(explanation.combined - value) < 1e-6 * size;
      expect(same, `${cellText(cell)} is ${value}, its terms give ${explanation.combined}`);
      for (const term of explanation.terms.filter((one) => ["product", "value", "bias"].includes(one.key))) {
        const product = term.factors.reduce((sum, factor) => sum * factor.value, term.constant);
        expect(Object.is(product, term.value), `${cellText(cell)}: a term of ${term.value} is shown as ${product}`);
      }
      expect(JSON.stringify(cellOf(cellText(cell))) === JSON.stringify(cell), `${cellText(cell)} is not read back`);
      ++cells;
    });
  }
  return cells;
}

// By clicks alone: from a probability to something that is learned.
function checkWalk() {
  document.querySelector("button.bar").click();
  let steps = 0;
  for (let next = drawer.querySelector(".factor"); next && steps < 200; ++steps) {
    next.click();
    next = drawer.querySelector(".factor");
  }
  const end = run().find(state.trail[state.trail.length - 1].name).operation;
  expect(["parameter", "given", "sinusoid"].includes(end), `the way back ends at ${end}`);
  expect(steps > 20, `the way back has ${steps} steps`);
}

function press(key) { (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })); }

function checkKeys() {
  const first = document.querySelector("table.matrix td[data-r='0'][data-c='0']");
  first.focus();
  press("ArrowDown");
  press("Enter");
  expect(!drawer.hidden && drawer.querySelector(".value"), "Enter does not ask why");
  press("Escape");
  expect(drawer.hidden, "Escape does not close");
  for (const key of ["]", "[", "n", "p", "{", "}"]) press(key);
  press("?");
  expect(document.getElementById("help").open, "? does not help");
  document.getElementById("help").close();
}

// One key leads from a cell into its answer, and back to the cell; the focus goes along.
function checkWhyKey() {
  for (const back of ["w", "Escape"]) {
    const cell = document.querySelector("table.matrix[data-name='encoder.0.self.scores'] td[data-r='2'][data-c='1']");
    cell.focus();
    press("w");
    expect(!drawer.hidden && drawer.contains(document.activeElement), "w does not lead into the answer");
    expect(drawer.textContent.includes("scores[2,1]"), "w asks another cell");
    press(back);
    const now = document.activeElement;
    expect(now.closest("table")?.dataset.name === "encoder.0.self.scores" && now.dataset.r === "2" && now.dataset.c === "1", `${back} does not lead back to the cell`);
    expect(drawer.hidden, `${back} leaves the answer open`);
  }
  // From operand to operand, and back at once; with the numbers of another query in between.
  const cell = document.querySelector("table.matrix[data-name='encoder.0.self.weights'] td[data-r='3'][data-c='4']");
  cell.focus();
  press("w");
  for (let i = 0; i < 4; ++i) drawer.querySelector(".factor")?.click();
  drawer.querySelector("button")?.focus();
  press("w");
  expect(document.activeElement.closest("table")?.dataset.name === "encoder.0.self.weights" && document.activeElement.dataset.r === "3", "the way back is lost on the way");
  // From anywhere: the first number that is seen.
  document.activeElement.blur();
  press("w");
  expect(!drawer.hidden && drawer.contains(document.activeElement), "w asks nothing without a cell");
  press("w");
  // A bar of a prediction.
  const bar = document.querySelector("#step-13 button.bar");
  bar.focus();
  bar.click();
  drawer.focus();
  press("Escape");
  expect(document.activeElement === bar, "Escape does not lead back to the bar");
}

// The order of the story: heads where they are met, the two numbers of a row before the weights made of them.
function checkOrder() {
  const cards = [...walk.querySelectorAll(".card")].map((one) => one.id);
  expect(cards.indexOf("heads") === cards.indexOf("step-7") + 1, `cards: ${cards}`);
  const listed = [...document.querySelectorAll("#steps a")].map((one) => one.dataset.to);
  expect(listed.indexOf("heads") === listed.indexOf("step-7") + 1, `list: ${listed}`);
  for (const weights of run().tensors.filter((tensor) => tensor.operands.some((one) => one.role === "sum") && !tensor.variant)) {
    for (const operand of weights.operands.filter((one) => ["maximum", "sum"].includes(one.role))) {
      const [first, second] = [operand.name, weights.name].map((name) => document.querySelector(`[data-name="${name}"]`));
      expect(first && second && first.compareDocumentPosition(second) & Node.DOCUMENT_POSITION_FOLLOWING, `${operand.name} stands after ${weights.name}`);
      const [above, below] = [first, second].map((one) => one?.closest(".figure").getBoundingClientRect());
      expect(above?.top < below?.top || above?.left < below?.left, `${operand.name} is seen after ${weights.name}`);
    }
  }
}

// The head that is seen first, of all and of each place, is the one that the rule names, and the page says so.
function checkFirstHead() {
  state.heads = {};
  redraw();
  const best = (heads) => Math.max(...heads.filter((one) => heads.every((other) => other.role === "uniform") || one.role !== "uniform").map((one) => one.selectivity));
  const first = run().heads.find((one) => one.selectivity === best(run().heads));
  for (const hero of [document.querySelector(".hero"), document.getElementById("heads")]) expect(hero.textContent.includes(first.name), `${first.name} is not named in #${hero.id}`);
  expect(document.querySelectorAll(".hero .word").length > 0, "there is no first picture");
  const hasSentence = data.source && document.querySelector(".hero").textContent.includes(data.source);
  expect(run().source_tokens.length === 0 || hasSentence, "the sentence is not above the first picture");
  const names = [...document.querySelectorAll(".figure code")].filter((name) => /^\w+\.\w+\./.test(name.textContent));
  expect(names.length > 0 && names.every((name) => name.querySelector("wbr")), "a name can only break inside its words");
  expect(run().heads.length > run().attentions().length, "there are not two heads");
  for (const tensor of run().attentions()) {
    const place = placeOf(tensor.name);
    const heads = run().heads.filter((one) => one.place === place);
    const chosen = document.querySelector(`[data-heads="${place}"] .head.chosen`);
    expect(heads[Number(chosen.dataset.head)].selectivity === best(heads), `${place}: head ${chosen.dataset.head} is shown first`);
    const cell = document.querySelector(`table.matrix[data-name="${tensor.name}"] td[data-r="1"][data-c="1"]`);
    expect(!cell || Number(cell.dataset.o) === offsetOf(tensor, [0, Number(chosen.dataset.head), 1, 1]), `${place}: another head's weights are shown`);
  }
  for (const one of run().heads) {
    const badge = document.querySelector(`[data-heads="${one.place}"] [data-head="${one.head}"] .badge`).textContent;
    expect(badge.includes(wordsOf(`role.${one.role}`)), `${one.name}: ${badge}`);
    if (one.role === "one_token") expect(badge.includes(run().labels(run().attentionAt(one.place).axes[3])[one.key]), `${one.name}: ${badge}`);
  }
}

// Whatever is drawn has the words of its rows and columns beside it.
function checkLabels() {
  state.lines = false;
  redraw();
  const labelled = (made) => {
    const view = shownMatrices.get(made);
    for (const [kind, labels, count] of [["rows", view.rowLabels, view.rows], ["columns", view.columnLabels ?? [], view.columns]]) {
      if (count === 1) continue;
      const told = [...made.parentElement.querySelectorAll(`.${kind}-labels span`)].map((one) => one.textContent);
      expect(told.length > 0 && told.length * (view.side < 11 ? Math.ceil(11 / view.side) : 1) >= count, `${view.tensor.name}: ${told.length} labels of ${count} ${kind}`);
      if (labels.length > 0 && view.side >= 11) expect(told.every((one, i) => one === clipped(labels[i])), `${view.tensor.name}: ${kind} are called ${told}`);
    }
  };
  const maps = document.querySelectorAll("#heads canvas");
  expect(maps.length === run().heads.length, `${maps.length} heat maps`);
  for (const made of document.querySelectorAll("canvas.matrix")) labelled(made);
  for (const name of ["logits", "probabilities"]) {
    const heads = [...document.querySelectorAll(`table.matrix[data-name="${name}"] thead th`)].slice(1).map((one) => one.textContent);
    const shown = run().find(name).shape[2] > mostWords ? run().wordsShown() : vocabularyLabels.map((_, id) => id);
    expect(heads.length > 0 && heads.every((one, i) => one === vocabularyLabels[shown[i]]), `${name}: columns are called ${heads.slice(0, 8)}`);
    const rowHeads = [...document.querySelectorAll(`table.matrix[data-name="${name}"] tbody th`)].map((one) => one.textContent);
    expect(rowHeads.every((one, i) => one === run().tokens[i]), `${name}: rows are called ${rowHeads}`);
  }
  state.lines = true;
  redraw();
}

// What is passed on as it is has one line, and everything else a matrix.
function checkUnchanged() {
  let lines = 0;
  const sizes = (tensor) => tensor.shape.filter((size) => size !== 1).join(",");
  for (const tensor of run().tensors.filter((one) => !one.variant)) {
    const from = tensor.operands.map((one) => run().find(one.name)).find((one) => one.operation !== "parameter" && sizes(one) === sizes(tensor) && one.values.every((value, i) => Object.is(value, tensor.values[i])));
    expect(from?.name === tensor.same_as, `${tensor.name} is the same as ${from?.name}, the page says ${tensor.same_as}`);
    const shown = document.querySelector(`[data-name="${tensor.name}"]`);
    if (!shown) continue;
    expect(shown.classList.contains("unchanged") === Boolean(from), `${tensor.name} is shown as ${shown.className}`);
    if (!from) continue;
    ++lines;
    expect(shown.textContent.includes(nearName(from)), `${tensor.name} does not say that it is ${from.name}`);
    expect(shown.getBoundingClientRect().height < 60, `${tensor.name} takes ${shown.getBoundingClientRect().height} pixels`);
  }
  expect(lines > 3, `${lines} tensors are passed on`);
}

// A weight, why it changes, and the rule by which it was chosen.
function checkLearning() {
  const card = document.getElementById("step-14");
  expect(run().backward && Math.abs(run().backward.gradient) > 1e-12, `the gradient is ${run().backward?.gradient}`);
  expect(card.querySelectorAll(".terms tr").length > 1, "step 14 has no terms");
  expect(card.textContent.includes(run().backward?.weight), "step 14 names no weight");
  expect(card.textContent.includes(wordsOf("backward.chosen", stepNumbers)), "step 14 does not say why this weight");
}

// Each position can be chosen, and says what comes next.
function checkPositions() {
  const words = document.querySelectorAll(".hero .word[data-position]");
  expect(words.length === run().tokens.length, `${words.length} positions of ${run().tokens.length}`);
  for (let row = 0; row < words.length; ++row) {
    document.querySelector(`.hero .word[data-position="${row}"]`).click();
    const shown = document.querySelector(".hero .rows.one .row");
    expect(Number(shown.dataset.row) === row, `position ${row} shows ${shown.dataset.row}`);
    expect(shown.querySelector(".label").textContent === vocabularyLabels[run().likeliest[row][0][0]], `position ${row} shows ${shown.textContent}`);
    for (const tensor of run().attentions()) if (tensor.axes[2] === "token") expect(rowAt(placeOf(tensor.name)) === row, `${tensor.name} stays at ${rowAt(placeOf(tensor.name))}`);
  }
}

function openAll() {
  for (const one of document.querySelectorAll("details.group")) { one.open = true; one.fill(); }
  for (const one of document.querySelectorAll("details")) one.open = true;
}

// Another language changes words where they stand: matrices and drawings are the same elements, and all is as if made in that language.
function checkSwitching() {
  askWhy({ name: "encoder.0.self.scores", index: [0, 0, 1, 2] });
  openAll();
  const kept = [...document.querySelectorAll(".matrix, #heads svg, .beams svg, .hero .word, #why .terms")];
  expect(kept.length > 50, `${kept.length} drawings`);
  const title = (one) => one.getAttribute("aria-label");
  for (const lang of ["tr", "ko", "az", "en"]) {
    [...document.querySelectorAll("#bar button")].find((one) => one.textContent === lang.toUpperCase()).click();
    expect(kept.every((one) => one.isConnected), `${lang}: drawings are made again`);
    const seen = [walk.innerText, drawer.innerText, document.getElementById("steps").innerText, ...[...document.querySelectorAll("[aria-label]")].map(title), document.title];
    redraw();
    openAll();
    answer();
    const made = [walk.innerText, drawer.innerText, document.getElementById("steps").innerText, ...[...document.querySelectorAll("[aria-label]")].map(title), document.title];
    const at = made.findIndex((one, i) => one !== seen[i]);
    const lines = at < 0 ? [] : [seen[at], made[at]].map((one) => one.split("\n"));
    const line = lines[0]?.findIndex((one, i) => one !== lines[1][i]);
    expect(at < 0, `${lang}: ${lines[0]?.slice(line - 9, line + 1).join(" ")} | ${lines[1]?.slice(line - 9, line + 1).join(" ")}`);
    kept.splice(0, kept.length, ...document.querySelectorAll(".matrix, #heads svg, .beams svg, .hero .word, #why .terms"));
  }
  closeWhy();
}

// All words change, and no key of the catalogue is left where its text should be; names of tensors stay.
function checkLanguages() {
  const seen = new Set();
  for (const lang of ["TR", "AZ", "KO", "EN"]) {
    [...document.querySelectorAll("#bar button")].find((one) => one.textContent === lang).click();
    seen.add(document.querySelector("h1").textContent);
    const left = /\b(page|label|message|term|step|operation|cell|backward|variant|role|slip)\.[a-z_]+\.?\w*\b/.exec(walk.innerText.replace(/\bvariant\.\w+\.\w+\.(encoder|decoder)\.\S+/g, ""));
    expect(!left, `${lang}: ${left?.[0]}`);
    const unfilled = /\{\w+(\|\w+)?\}/.exec(document.body.innerText);
    expect(!unfilled, `${lang}: ${unfilled?.[0]}`);
    expect(document.querySelectorAll(".card[data-step]").length === 14, `${lang}: steps are missing`);
  }
  expect(seen.size === 4, "languages look the same");
}

function checkTheme() {
  const before = getComputedStyle(document.body).backgroundColor;
  document.querySelector("#bar .round").click();
  expect(getComputedStyle(document.body).backgroundColor !== before, "light and dark look the same");
}

// Nothing of a formula is lost when it is set.
function checkFormulas() {
  const plain = (source) => source.replace(/ᵀ/g, "T").replace(/ᵗ/g, "t").replace(/[_^()\s]/g, "");
  for (const key of Object.keys(data.texts.en).filter((one) => one.startsWith("formula."))) {
    const made = formulaOf(key.slice("formula.".length)).textContent;
    expect(plain(made) === plain(wordsOf(key)), `${key} is set as ${made}`);
  }
}

// What a step without numbers says, what a scaled number is shown as, and which tables have a running sum.
function checkAnswers() {
  const all = run().tensors;
  run().tensors = all.filter((tensor) => tensor.step !== 11);
  const absent = card(11);
  run().tensors = all;
  expect(absent.querySelector(".absent") && !absent.querySelector(".note, .slip"), "a step that is absent says too much");
  expect(card(11).querySelector(".slip"), "step 11 has no slip");
  const asked = (name) => {
    askWhy({ name, index: run().find(name).shape.map(() => 0) });
    return drawer.querySelector(".terms").textContent;
  };
  expect(asked("encoder.0.self.scaled_scores").includes("×"), "a scaled score is shown without its factor");
  expect(!asked("encoder.0.self.row_max").includes(wordsOf("label.running")), "a maximum has a running sum");
  expect(asked("encoder.0.self.row_sum").includes(wordsOf("label.running")), "a sum has no running sum");
  state.lang = "tr";
  expect(prose(9.5e-7, 2) === "9,5e-7", `${prose(9.5e-7, 2)} in Turkish`);
  expect(String(percent(0.6)) === "%60", `${percent(0.6)} in Turkish`);
  state.lang = "en";
  const combined = (name) => {
    askWhy({ name, index: run().find(name).shape.map(() => 0) });
    return drawer.textContent;
  };
  expect(combined("encoder.0.self.weights").includes(wordsOf("cell.combination.quotient.exponential")), "a weight is said to be a sum of terms");
  expect(combined("encoder.0.norm_1.normalized").includes(wordsOf("cell.combination.quotient")), "a normalized number is not a quotient");
}

// What is drawn is what the text speaks of.
function checkHeadsText() {
  for (const lines of [true, false]) {
    state.lines = lines;
    redraw();
    const said = document.querySelector("#heads .text").textContent;
    expect(said === wordsOf(lines ? "heads.lines" : "heads.text"), `${lines ? "lines" : "heat maps"}: ${said}`);
    expect((document.querySelector("#heads .head svg") !== null) === lines, "the other drawing is shown");
  }
  state.lines = true;
  redraw();
}

// Numbers have the decimal sign of the language everywhere: in cells, answers, prose, on the curve and in what the pointer shows.
function checkDecimals() {
  for (const lang of Object.keys(data.texts)) {
    state.lang = lang;
    redraw();
    openAll();
    const answers = ["probabilities", "encoder.0.self.weights", "encoder.0.self.row_max", "encoder.0.norm_1.deviation", "encoder.positions"].map((name) => {
      askWhy({ name, index: run().find(name).shape.map(() => 0) });
      return drawer.textContent;
    });
    const titles = [...document.querySelectorAll("td[title], .measure[title], path title")].map((one) => one.getAttribute("title") ?? one.textContent);
    const seen = [walk.textContent, ...answers, ...titles].join("\n").replace(data.version, "").replace(/\[[\d,]*\]/g, "");
    const sign = data.texts[lang]["language.decimal"];
    const other = (sign === "," ? /.{12}\d\.\d.{6}/ : /.{12}\d,\d.{6}/).exec(seen);
    expect(!other, `${lang}: ${other?.[0]}`);
    expect(sign === "," ? /\d,\d/.test(seen) : /\d\.\d/.test(seen), `${lang} has no decimals`);
  }
  state.lang = "en";
  closeWhy();
  redraw();
}

// The variants that the command line asks for are there before anything is pressed.
function checkAsked() {
  expect(data.asked.length > 0, "no variant is asked for");
  for (const key of data.asked) expect(document.querySelector(`.variants [data-name^="variant.${key}."]`), `${key} is not shown`);
}

// What comes after a moment.
async function found(selector) {
  for (let i = 0; i < 100 && !document.querySelector(selector); ++i) await new Promise((done) => setTimeout(done, 50));
  expect(document.querySelector(selector), `${selector} does not come`);
  return document.querySelector(selector);
}
function panel(name) { document.querySelector(`.tabs [data-panel="${name}"]`).click(); }

// The other panels have every head and the same numbers, in each language, and the walk is there again after them.
async function checkPanels() {
  panel("heads");
  await found(".thumb");
  const drawn = [...document.querySelectorAll(".thumb")].map((one) => one.dataset.head).sort();
  expect(drawn.join() === run().heads.map((one) => one.name).sort().join(), `the map has ${drawn}`);
  const last = document.querySelector(`.thumb[data-head="${run().heads[run().heads.length - 1].name}"]`);
  last.click();
  expect(location.hash.includes(`head=${last.dataset.head}`), `the address is ${location.hash}`);
  for (const lang of ["TR", "AZ", "KO", "EN"]) {
    [...document.querySelectorAll("#bar button")].find((one) => one.textContent === lang).click();
    const left = /\b(studio|page|label|role|place)\.[a-z_]+\.?\w*\b|\{\w+\}/.exec(document.body.innerText);
    expect(!left, `${lang}: ${left?.[0]}`);
  }
  panel("microscope");
  await found("#microscope svg path");
  const score = run().find(`${placeOf(last.dataset.head)}.scores`);
  const shown = [...document.querySelectorAll(".strip-table .ink-q .digits")].length;
  expect(shown === new Explanation({ name: score.name, index: score.shape.map(() => 0) }).terms.length, `the dot product has ${shown} terms`);
  panel("walk");
  expect(document.querySelectorAll(".card[data-step]").length === 14, "the walk does not come back");
}

async function checkAll() {
  let cells = 0;
  try {
    for (state.run = 0; state.run < runs.length; ++state.run) {
      redraw();
      cells += checkCells();
      checkWalk();
    }
    state.run = runs.length - 1;
    redraw();
    checkAsked();
    checkAnswers();
    checkHeadsText();
    checkDecimals();
    checkFormulas();
    checkKeys();
    checkWhyKey();
    checkOrder();
    checkFirstHead();
    checkLabels();
    checkUnchanged();
    checkLearning();
    checkPositions();
    checkSwitching();
    checkLanguages();
    checkTheme();
    await checkPanels();
  } catch (error) {
    wrong.push(String(error.stack));
  }
  report(`cells: ${cells}, wrong: ${wrong.length}\n${wrong.join("\n")}`);
}
checkAll();

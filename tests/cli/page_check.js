// Put at the end of a page by explain_page_test: asks every cell why, walks back from the prediction, and presses what can be pressed.
// What it finds stands in the element #checked.
const wrong = [];
addEventListener("error", (event) => wrong.push(event.message));
function expect(holds, what) { if (!holds && wrong.length < 20) wrong.push(what); }

function indexAt(tensor, offset) {
  const index = [];
  for (let axis = tensor.shape.length - 1, rest = offset; axis >= 0; --axis) {
    index[axis] = rest % tensor.shape[axis];
    rest = Math.floor(rest / tensor.shape[axis]);
  }
  return index;
}

// The terms of each cell combine to the engine's number; its name leads back to it.
function checkCells() {
  let cells = 0;
  for (const tensor of run().all.values()) {
    tensor.values.forEach((value, offset) => {
      const cell = { name: tensor.name, index: indexAt(tensor, offset) };
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
  for (const key of ["]", "[", "n", "p"]) press(key);
  press("?");
  expect(document.getElementById("help").open, "? does not help");
  document.getElementById("help").close();
}

// All words change, and no key of the catalogue is left where its text should be; names of tensors stay.
function checkLanguages() {
  const seen = new Set();
  for (const lang of ["TR", "AZ", "KO", "EN"]) {
    [...document.querySelectorAll("#bar button")].find((one) => one.textContent === lang).click();
    seen.add(document.querySelector("h1").textContent);
    const left = /\b(page|label|message|term|step|operation|cell|backward|variant|role|slip)\.[a-z_]+\.?\w*\b/.exec(walk.innerText.replace(/\bvariant\.\w+\.\w+\.(encoder|decoder)\.\S+/g, ""));
    expect(!left, `${lang}: ${left?.[0]}`);
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
    expect(plain(made) === plain(text(key)), `${key} is set as ${made}`);
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
  expect(!asked("encoder.0.self.row_max").includes(text("label.running")), "a maximum has a running sum");
  expect(asked("encoder.0.self.row_sum").includes(text("label.running")), "a sum has no running sum");
  state.lang = "tr";
  expect(prose(9.5e-7, 2) === "9,5e-7", `${prose(9.5e-7, 2)} in Turkish`);
  state.lang = "en";
}

// The variants that the command line asks for are there before anything is pressed.
function checkAsked() {
  expect(data.asked.length > 0, "no variant is asked for");
  for (const key of data.asked) expect(document.querySelector(`.variants [data-name^="variant.${key}."]`), `${key} is not shown`);
}

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
  checkFormulas();
  checkKeys();
  checkLanguages();
  checkTheme();
} catch (error) {
  wrong.push(String(error.stack));
}
document.body.append(element("pre", { id: "checked" }, `cells: ${cells}, wrong: ${wrong.length}\n${wrong.join("\n")}`));

// What is shared by all of the page: its data and state, elements, words and numbers.
const data = JSON.parse(document.getElementById("data").textContent);

// What is chosen; kept in the address after "#", so that a place in the page can be linked to. Heads and rows by place: those not there are
// the ones that are shown first.
const state = { lang: data.language, theme: "", run: data.runs.length - 1, heads: {}, rows: {}, lines: true, trail: [] };

// Words or numbers that follow the language: where element() puts them, retell() finds them again.
class Told {
  constructor(make) { this.make = make; }
  toString() { return String(this.make()); }
}
function told(make) { return new Told(make); }

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) made.style.setProperty(key, one);
    else setAttribute(made, name, value === true ? "" : value);
  }
  made.append(...present(children));
  return made;
}
function setAttribute(made, name, value) {
  if (value instanceof Told) (made.told ??= {})[name] = value;
  made.setAttribute(name, value);
}
// Children may be lists, and absent where there is nothing to show.
function present(children) { return children.flat(9).filter((child) => child !== undefined && child !== false).map(shown); }
function shown(child) {
  if (!(child instanceof Told)) return child;
  const made = document.createTextNode(child);
  made.told = child;
  return made;
}
function fill(made, ...children) { made.replaceChildren(...present(children)); }

function drawing(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== undefined) setAttribute(made, name, value);
  }
  made.append(...present(children));
  return made;
}

// A long name, which may go on in the next line after its dots and low lines and nowhere else if that can be.
function breakable(name) { return name.split(/(?<=[._])/).flatMap((part, i) => (i === 0 ? [part] : [element("wbr"), part])); }

// Puts all that was told into the chosen language, in its place; matrices stay, but for their decimal signs.
function retell() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => {
    if (node.told instanceof Told) node.data = node.told;
    else for (const name in node.told) node.setAttribute(name, node.told[name]);
    node.retell?.();
    return node.retell ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
  });
  while (walker.nextNode());
}

function has(key) { return key in data.texts[state.lang]; }

// The text of a key in the chosen language, with {name} filled in, and {name|s} for all but one; and the same where it is shown.
function wordsOf(key, values) {
  return (data.texts[state.lang][key] ?? data.texts.en[key] ?? key).replace(/\{(\w+)(?:\|(\w+))?\}/g, (whole, name, ending) => {
    if (values?.[name] === undefined) return whole;
    return ending === undefined ? values[name] : String(values[name]) === "1" ? "" : ending;
  });
}
function text(key, values) { return told(() => wordsOf(key, values)); }

// "tensor.self.output" for "encoder.self.output": the longest end of the name that has a text.
function textByEnd(prefix, name) {
  const parts = name.split(".");
  for (let begin = 0; begin < parts.length; ++begin) {
    const key = prefix + parts.slice(begin).join(".");
    if (has(key)) return text(key);
  }
  return name;
}

// Numbers that are read have the language's decimal sign, wherever they stand.
function localized(digits) { return digits.replace(".", wordsOf("language.decimal")); }
// What stands between numbers of a list, so that 0,5 and 0,25 are not read as one.
function between() { return wordsOf("language.decimal") === "," ? "; " : ", "; }
function percent(share) { return text("language.percent", { number: Math.round(100 * share) }); }
function special(x) {
  if (x === undefined) return "?";
  if (Number.isNaN(x)) return "NaN";
  return x < 0 ? "−∞" : "∞";
}
function short(x) {
  if (!Number.isFinite(x)) return special(x);
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e5) return signed(String(size), x);
  if (size >= 1e5 || size < 5e-4) return signed(size.toExponential(0), x);
  return signed(size.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3), x);
}
function long(x) {
  if (!Number.isFinite(x)) return special(x);
  return signed(String(Number(Math.abs(x).toPrecision(7))), x);
}
function decimals(x, digits) { return signed(Math.abs(x).toFixed(digits), x); }
function signed(digits, x) { return (x < 0 ? "−" : "") + localized(digits); }
// Numbers in prose; small ones are written as 1e-5.
function prose(x, digits = 4) {
  if (!Number.isFinite(x)) return special(x);
  const size = Number(Math.abs(x).toPrecision(digits));
  return signed(size !== 0 && size < 1e-4 ? size.toExponential() : String(size), x);
}

// The same where it is shown.
function number(x, write = long) { return told(() => write(x)); }

function button(label, attributes) { return element("button", { type: "button", ...attributes }, label); }

// A choice of which one is pressed: [{label, title, value}].
function choice(name, options, chosen, choose) {
  return element("span", { class: "choice", role: "group", "aria-label": name }, options.map((option) =>
    button(option.label, { "aria-pressed": String(option.value === chosen), title: option.title, click: () => choose(option.value) })));
}

// Why a cell has its value: the rule of its operation, which comes with the data, followed for one cell in double precision.
class Explanation {
  constructor(cell) {
    this.cell = cell;
    this.at = cell.index;
    this.tensor = run().find(cell.name);
    this.value = run().value(cell);
    this.rule = data.operations[this.tensor.operation] ?? { ingredients: [], terms: [], combinations: [] };
    this.terms = [];
    this.ingredients = [];
    this.counter = 0;
    this.total = 0;
    this.missing = undefined;
    for (const rule of this.rule.ingredients) if (this.holds(rule)) this.addIngredient(rule);
    for (const rule of this.rule.terms) if (this.holds(rule)) this.addTerms(rule);
    this.way = this.rule.combinations.find((rule) => this.holds(rule));
    this.combination = !this.way ? "nothing" : this.way.key === "sum" && this.terms.length === 1 ? "one" : this.way.key;
    this.combined = this.way ? this.evaluate(this.way.value) : this.value;
  }

  holds(rule) { this.counter = 0; return rule.present === undefined || this.evaluate(rule.present) !== 0; }
  operand(role) {
    const found = this.tensor.operands.find((operand) => operand.role === role);
    return found && run().find(found.name);
  }
  attribute(name) { const value = this.tensor.attributes[name]; return value === true ? 1 : value === false ? 0 : value; }
  known(key) { return this.ingredients.find((one) => one.key === key)?.value ?? 0; }

  cellOf(rule) {
    const tensor = rule.role ? this.operand(rule.role) : run().find(this.tensor.operands[this.counter].name);
    const index = rule.index.flatMap((part) => (part[0] === "index" ? this.at : part[0] === "row" ? this.at.slice(0, -1)
      : part[0] === "offset" ? indexAt(tensor.shape, offsetOf(this.tensor, this.at)) : Math.round(this.evaluate(part))));
    const cell = { name: tensor.name, index };
    const value = run().value(cell);
    if (value === undefined) this.missing = tensor.name;
    return { cell, value };
  }
  addIngredient(rule) {
    const { cell, value } = rule.cell ? this.cellOf(rule.cell) : { value: this.evaluate(rule.value) };
    this.ingredients.push({ key: rule.key, value, cell });
  }
  addTerms(rule) {
    const count = rule.count === undefined ? 1 : Math.round(this.evaluate(rule.count));
    for (this.counter = 0; this.counter < count; ++this.counter) {
      const factors = rule.factors.map((factor) => this.cellOf(factor));
      this.factors = factors;
      const constant = rule.constant === undefined ? 1 : this.evaluate(rule.constant);
      const value = rule.value === undefined ? factors.reduce((product, factor) => product * factor.value, constant) : this.evaluate(rule.value);
      this.total += value;
      this.terms.push({ key: rule.key, factors, constant, value, running: this.total });
    }
  }

  // Expressions are numbers or ["kind", ...].
  evaluate(expression) {
    if (typeof expression === "number") return expression;
    const [kind, a, b, c] = expression;
    if (kind === "if") return this.evaluate(this.evaluate(a) !== 0 ? b : c);
    if (kind === "and") return this.evaluate(a) !== 0 && this.evaluate(b) !== 0 ? 1 : 0;
    if (kind === "or") return this.evaluate(a) !== 0 || this.evaluate(b) !== 0 ? 1 : 0;
    if (kind in functions) return functions[kind](...expression.slice(1).map((one) => this.evaluate(one)));
    return this.lookUp(kind, a, b);
  }
  lookUp(kind, a, b) {
    switch (kind) {
      case "at": return this.at[a < 0 ? this.at.length + a : a];
      case "counter": return this.counter;
      case "attribute": return this.attribute(a) ?? this.evaluate(b);
      case "is": return this.attribute(a) === b[0] ? 1 : 0;
      case "has": return this.operand(a) ? 1 : 0;
      case "size": {
        if (a === "operands") return this.tensor.operands.length;
        const { shape } = a === "result" ? this.tensor : this.operand(a);
        return shape[b < 0 ? shape.length + b : b];
      }
      case "ingredient": return this.known(a);
      case "factor": return this.factors[a].value;
      case "first": return this.terms[0].factors[0].value;
      case "sum": return this.total;
      case "largest": return Math.max(...this.terms.map((term) => term.value));
      default: return -Infinity;
    }
  }

  // The last step with its numbers, where it is more than a sum.
  filled() {
    if (!this.way || this.way.key === "sum" || this.way.key === "hidden") return undefined;
    if (this.way.value[0] === "largest") return `max(${this.terms.slice(0, 12).map((term) => short(term.value)).join(between())}${this.terms.length > 12 ? `${between()}…` : ""})`;
    return this.written(this.way.shown ?? this.way.value);
  }
  written(expression, inside = false) {
    if (typeof expression === "number") return long(expression);
    const [kind, a, b, c] = expression;
    const wrap = (text) => (inside ? `(${text})` : text);
    if (kind === "if") return this.written(this.evaluate(a) !== 0 ? b : c, inside);
    if (kind === "function") return `${this.attribute(a)}(${this.written(b)})`;
    if (kind === "sqrt") return `√(${this.written(a)})`;
    if (kind in signs) return wrap(`${this.written(a, signs[kind].binds)} ${signs[kind].sign} ${this.written(b, true)}`);
    if (kind in functions) return `${kind}(${expression.slice(1).map((one) => this.written(one)).join(between())})`;
    const value = this.evaluate(expression);
    return inside && value < 0 ? `(${long(value)})` : long(value);
  }
}

const signs = { "+": { sign: "+" }, "-": { sign: "−" }, "*": { sign: "·", binds: true }, "/": { sign: "/", binds: true } };
const functions = {
  "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b,
  "<": (a, b) => Number(a < b), "<=": (a, b) => Number(a <= b), "==": (a, b) => Number(a === b), not: (a) => Number(a === 0),
  div: (a, b) => Math.floor(a / b), mod: (a, b) => a - b * Math.floor(a / b), erf: errorFunction,
  exp: Math.exp, sqrt: Math.sqrt, sin: Math.sin, cos: Math.cos, tanh: Math.tanh, abs: Math.abs, min: Math.min, max: Math.max, pow: Math.pow,
};

function bracketed(x) { return x < 0 ? `(${long(x)})` : long(x); }
function lastOf(list) { return list[list.length - 1]; }
function indexAt(shape, offset) {
  const index = [];
  for (let axis = shape.length - 1; axis >= 0; --axis) {
    index.unshift(offset % shape[axis]);
    offset = Math.floor(offset / shape[axis]);
  }
  return index;
}

function errorFunction(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  // The series that has terms of one sign only.
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); ++n) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

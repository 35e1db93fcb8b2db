// Why a cell has its value: the operation of each tensor, carried out for one cell in double precision.
class Explanation {
  constructor(cell) {
    this.cell = cell;
    this.tensor = run().find(cell.name);
    this.value = run().value(cell);
    this.terms = [];
    this.ingredients = [];
    this.combination = "sum";
    this.missing = undefined;
    (operations[this.tensor.operation] ?? operations.given).call(this, cell.index);
    if (this.combination === "sum" && this.terms.length === 1) this.combination = "one";
    this.combined = this.combine();
  }

  attribute(name, otherwise = 0) { return this.tensor.attributes[name] ?? otherwise; }
  operand(role) {
    const found = this.tensor.operands.find((operand) => operand.role === role);
    return found && run().find(found.name);
  }
  factor(tensor, index) {
    const cell = { name: tensor.name, index };
    const value = run().value(cell);
    if (value === undefined) this.missing = tensor.name;
    return { cell, value };
  }
  term(key, factors, value, constant = 1) {
    const before = this.terms.length ? this.terms[this.terms.length - 1].running : 0;
    this.terms.push({ key, factors, constant, value, running: before + value });
  }
  single(key, factor) { this.term(key, [factor], factor.value); }
  scaled(factor, constant) { this.term("value", [factor], factor.value * constant, constant); }
  product(key, a, b) { this.term(key, [a, b], a.value * b.value); }
  ingredient(key, value) { this.ingredients.push({ key, value }); return value; }
  ingredientCell(key, tensor, index) {
    const { cell, value } = this.factor(tensor, index);
    this.ingredients.push({ key, value, cell });
    return value;
  }
  known(key) { return this.ingredients.find((one) => one.key === key)?.value; }
  sum() { return this.terms.length ? this.terms[this.terms.length - 1].running : this.value; }

  combine() {
    const sum = this.sum();
    switch (this.combination) {
      case "mean": return sum / this.known("count");
      case "root": {
        const mean = sum / this.known("count");
        return this.attribute("outside") ? Math.sqrt(mean) + this.known("epsilon") : Math.sqrt(mean + this.known("epsilon"));
      }
      case "quotient": {
        const divisor = this.known("deviation") || this.known("sum");
        return divisor ? sum / divisor : 0;
      }
      case "maximum": return Math.max(...this.terms.map((term) => term.value));
      case "sine": return Math.sin(sum);
      case "cosine": return Math.cos(sum);
      case "activation": return activations[this.attribute("function")]?.(sum) ?? sum;
      case "hidden": return -Infinity;
      case "nothing": return this.value;
      default: return sum;
    }
  }

  // The last step with its numbers, where it is more than a sum.
  filled() {
    const sum = long(this.sum());
    const known = (key) => long(this.known(key));
    switch (this.combination) {
      case "mean": return `${sum} / ${known("count")}`;
      case "root": return this.attribute("outside") ? `√(${sum} / ${known("count")}) + ${known("epsilon")}` : `√(${sum} / ${known("count")} + ${known("epsilon")})`;
      case "quotient": return this.known("sum") === undefined ? `(${sum}) / ${known("deviation")}`
        : `exp(${long(this.terms[0].factors[0].value)} − ${bracketed(this.known("maximum"))}) / ${known("sum")}`;
      case "sine": return `sin(${known("position")} · ${known("rate")})`;
      case "cosine": return `cos(${known("position")} · ${known("rate")})`;
      case "activation": return `${this.attribute("function")}(${sum})`;
      case "maximum": return `max(${this.terms.slice(0, 12).map((term) => short(term.value)).join(", ")}${this.terms.length > 12 ? ", …" : ""})`;
      default: return undefined;
    }
  }
}

function bracketed(x) { return x < 0 ? `(${long(x)})` : long(x); }

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
const activations = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => (x / 2) * (1 + errorFunction(x / Math.SQRT2)),
  gelu_new: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
};

function counted(size, each) { for (let i = 0; i < size; ++i) each(i); }
function lastOf(list) { return list[list.length - 1]; }

// Each fills an Explanation for the cell at `at`; headlight/explain/operation.h says what they mean.
const operations = {
  given() { this.combination = "nothing"; },
  parameter() { this.combination = "nothing"; },
  copy(at) { this.tensor.operands.forEach((operand) => this.single("value", this.factor(run().find(operand.name), at))); },
  add(at) { operations.copy.call(this, at); },
  table(at) {
    const ids = this.operand("ids");
    const start = this.attribute("start");
    const row = ids ? this.ingredientCell("id", ids, [at[0], at[1]]) + start : this.ingredient("position", at[1] + start);
    const scale = this.attribute("scale", 1);
    if (scale !== 1) this.ingredient("factor", scale);
    this.scaled(this.factor(this.operand("table"), [row, at[2]]), scale);
  },
  sinusoid(at) {
    const half = lastOf(this.tensor.shape) / 2;
    const halves = this.attribute("order") === "halves";
    const column = at[2];
    const pair = halves ? column % half : Math.floor(column / 2);
    const exponent = (this.attribute("index") === "column" ? column : pair) / (this.attribute("divisor") === "half_minus_one" ? half - 1 : half);
    this.combination = (halves ? column < half : column % 2 === 0) ? "sine" : "cosine";
    const position = this.ingredient("position", at[1] + this.attribute("start"));
    this.term("angle", [], position * this.ingredient("rate", this.attribute("base") ** -exponent));
  },
  linear(at) {
    const input = this.operand("input");
    const weight = this.operand("weight");
    const outIn = this.attribute("layout") === "out_in";
    const output = lastOf(at) + this.attribute("weight_begin");
    const repeats = this.attribute("repeat", 1);
    counted(repeats, (repeat) => counted(lastOf(input.shape), (i) => {
      const whole = repeats > 1 || at.length < input.shape.length;
      this.product("product", this.factor(input, whole ? [at[0], repeat, i] : [...at.slice(0, -1), i]),
        this.factor(weight, outIn ? [output, i] : [i, output]));
    }));
    const bias = this.operand("bias");
    if (bias) this.single("bias", this.factor(bias, [lastOf(at) + this.attribute("bias_begin")]));
  },
  cut(at) { this.single("value", this.factor(this.operand("input"), [...at.slice(0, -1), lastOf(at) + this.attribute("begin")])); },
  split(at) { this.single("value", this.factor(this.operand("input"), [at[0], at[2], at[1] * lastOf(this.tensor.shape) + at[3]])); },
  scores(at) {
    const query = this.operand("query");
    const key = this.operand("key");
    const keyHead = Math.floor(at[1] / (query.shape[1] / key.shape[1]));
    counted(query.shape[3], (d) => this.product("product", this.factor(query, [at[0], at[1], at[2], d]), this.factor(key, [at[0], keyHead, at[3], d])));
  },
  scale(at) {
    this.scaled(this.factor(this.operand("input"), at), this.ingredient("factor", this.attribute("factor")));
  },
  mask(at) {
    if (this.attribute("causal") && at[3] > at[2]) this.combination = "hidden";
    this.single("value", this.factor(this.operand("input"), at));
  },
  row_max(at) {
    this.combination = "maximum";
    const input = this.operand("input");
    counted(lastOf(input.shape), (i) => this.single("value", this.factor(input, [...at, i])));
  },
  row_sum(at) {
    const input = this.operand("input");
    const maximum = this.ingredientCell("maximum", this.operand("maximum"), at);
    counted(lastOf(input.shape), (i) => {
      const entry = this.factor(input, [...at, i]);
      this.term("exponential", [entry], Math.exp(entry.value - maximum));
    });
  },
  softmax(at) {
    this.combination = "quotient";
    const row = at.slice(0, -1);
    const maximum = this.ingredientCell("maximum", this.operand("maximum"), row);
    this.ingredientCell("sum", this.operand("sum"), row);
    const entry = this.factor(this.operand("input"), at);
    this.term("exponential", [entry], Math.exp(entry.value - maximum));
  },
  weigh(at) {
    const value = this.operand("value");
    const head = Math.floor(at[1] / (this.tensor.shape[1] / value.shape[1]));
    this.product("product", this.factor(this.operand("weights"), at.slice(0, -1)), this.factor(value, [at[0], head, at[3], at[4]]));
  },
  sum_keys(at) {
    const input = this.operand("input");
    counted(input.shape[3], (j) => this.single("value", this.factor(input, [at[0], at[1], at[2], j, at[3]])));
  },
  merge(at) {
    const input = this.operand("input");
    const width = lastOf(input.shape);
    const head = Math.floor(at[2] / width);
    const value = this.factor(input, [at[0], head, at[1], at[2] % width]);
    const gates = this.operand("gates");
    if (gates) this.product("product", value, this.factor(gates, gates.shape.length === 2 ? [at[0], head] : [head]));
    else this.single("value", value);
  },
  mean(at) {
    this.combination = "mean";
    const input = this.operand("input");
    this.ingredient("count", lastOf(input.shape));
    counted(lastOf(input.shape), (i) => this.single("value", this.factor(input, [...at, i])));
  },
  deviation(at) {
    this.combination = "root";
    const input = this.operand("input");
    const mean = this.ingredientCell("mean", this.operand("mean"), at);
    this.ingredient("count", lastOf(input.shape) - Number(this.attribute("sample")));
    this.ingredient("epsilon", this.attribute("epsilon"));
    counted(lastOf(input.shape), (i) => {
      const entry = this.factor(input, [...at, i]);
      this.term("square", [entry], (entry.value - mean) ** 2);
    });
  },
  normalize(at) {
    this.combination = "quotient";
    const row = at.slice(0, -1);
    this.single("value", this.factor(this.operand("input"), at));
    const mean = this.factor(this.operand("mean"), row);
    this.term("minus_mean", [mean], -mean.value);
    this.ingredientCell("deviation", this.operand("deviation"), row);
  },
  scale_shift(at) {
    this.product("product", this.factor(this.operand("input"), at), this.factor(this.operand("weight"), [lastOf(at)]));
    const bias = this.operand("bias");
    if (bias) this.single("bias", this.factor(bias, [lastOf(at)]));
  },
  activation(at) {
    this.combination = "activation";
    this.single("value", this.factor(this.operand("input"), at));
  },
};

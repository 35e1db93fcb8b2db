// Why a cell has its value: the rule of its operation, which comes with the document, followed for one cell in double precision.
import type { CellRule, Expression, Rule, Tensor } from "../api/types";
import { lastOf } from "../draw/element";
import type { Cell } from "../state/state";
import { between, long, short } from "../texts/numbers";
import { data, run } from "./document";
import { indexAt, offsetOf } from "./run";

export interface Factor { cell: Cell; value: number | undefined }
export interface Term { key: string; factors: Factor[]; constant: number; value: number; running: number }
export interface Ingredient { key: string; value: number | undefined; cell?: Cell }

// What the answer to "why this number?" consists of; the server gives the same for numbers that are not here.
export interface Answer {
  cell: Cell;
  tensor: Tensor;
  value: number | undefined;
  terms: Term[];
  ingredients: Ingredient[];
  combination: string;  // key of how the terms become the value
  combined: number | undefined;
  missing?: string;     // a tensor whose numbers are not here
  filled(): string | undefined;
}

const noRule: Rule = { ingredients: [], terms: [], combinations: [] };

export class Explanation implements Answer {
  readonly tensor: Tensor;
  readonly value: number | undefined;
  readonly terms: Term[] = [];
  readonly ingredients: Ingredient[] = [];
  readonly combination: string;
  readonly combined: number | undefined;
  missing?: string;
  private readonly at: number[];
  private readonly rule: Rule;
  private readonly way: Rule["combinations"][number] | undefined;
  private counter = 0;
  private total = 0;
  private factors: Factor[] = [];

  constructor(readonly cell: Cell) {
    this.at = cell.index;
    this.tensor = run().find(cell.name) as Tensor;
    this.value = run().value(cell);
    this.rule = data.operations[this.tensor.operation] ?? noRule;
    for (const rule of this.rule.ingredients) if (this.holds(rule)) this.addIngredient(rule);
    for (const rule of this.rule.terms) if (this.holds(rule)) this.addTerms(rule);
    this.way = this.rule.combinations.find((rule) => this.holds(rule));
    this.combination = !this.way ? "nothing" : this.way.key === "sum" && this.terms.length === 1 ? "one" : this.way.key;
    this.combined = this.way ? this.evaluate(this.way.value) : this.value;
  }

  private holds(rule: { present?: Expression }): boolean { this.counter = 0; return rule.present === undefined || this.evaluate(rule.present) !== 0; }
  private operand(role: string): Tensor | undefined {
    const found = this.tensor.operands.find((operand) => operand.role === role);
    return found && run().find(found.name);
  }
  private attribute(name: string): any { const value = this.tensor.attributes[name]; return value === true ? 1 : value === false ? 0 : value; }
  private known(key: string): number { return this.ingredients.find((one) => one.key === key)?.value ?? 0; }

  private cellOf(rule: CellRule): Factor {
    const tensor = (rule.role ? this.operand(rule.role) : run().find(this.tensor.operands[this.counter]?.name ?? "")) as Tensor;
    const index = rule.index.flatMap((part) => {
      const kind = typeof part === "number" ? "" : part[0];
      if (kind === "index") return this.at;
      if (kind === "row") return this.at.slice(0, -1);
      return kind === "offset" ? indexAt(tensor.shape, offsetOf(this.tensor, this.at)) : Math.round(this.evaluate(part));
    });
    const cell = { name: tensor.name, index };
    const value = run().value(cell);
    if (value === undefined) this.missing = tensor.name;
    return { cell, value };
  }
  private addIngredient(rule: Rule["ingredients"][number]): void {
    const found: { cell?: Cell; value: number | undefined } = rule.cell ? this.cellOf(rule.cell) : { value: this.evaluate(rule.value as Expression) };
    this.ingredients.push({ key: rule.key, ...found });
  }
  private addTerms(rule: Rule["terms"][number]): void {
    const count = rule.count === undefined ? 1 : Math.round(this.evaluate(rule.count));
    for (this.counter = 0; this.counter < count; ++this.counter) {
      const factors = rule.factors.map((factor) => this.cellOf(factor));
      this.factors = factors;
      const constant = rule.constant === undefined ? 1 : this.evaluate(rule.constant);
      const value = rule.value === undefined ? factors.reduce((product, factor) => product * (factor.value as number), constant) : this.evaluate(rule.value);
      this.total += value;
      this.terms.push({ key: rule.key, factors, constant, value, running: this.total });
    }
  }

  // Expressions are numbers or ["kind", ...].
  private evaluate(expression: Expression): number {
    if (typeof expression === "number") return expression;
    const [kind, a, b, c] = expression;
    if (kind === "if") return this.evaluate(this.evaluate(a) !== 0 ? b : c);
    if (kind === "and") return this.evaluate(a) !== 0 && this.evaluate(b) !== 0 ? 1 : 0;
    if (kind === "or") return this.evaluate(a) !== 0 || this.evaluate(b) !== 0 ? 1 : 0;
    const known = functions[kind];
    if (known) return known(...expression.slice(1).map((one) => this.evaluate(one)));
    return this.lookUp(kind, a, b);
  }
  private lookUp(kind: string, a: any, b: any): number {
    switch (kind) {
      case "at": return this.at[a < 0 ? this.at.length + a : a] as number;
      case "counter": return this.counter;
      case "attribute": return this.attribute(a) ?? this.evaluate(b);
      case "is": return this.attribute(a) === b[0] ? 1 : 0;
      case "has": return this.operand(a) ? 1 : 0;
      case "size": {
        if (a === "operands") return this.tensor.operands.length;
        const { shape } = a === "result" ? this.tensor : (this.operand(a) as Tensor);
        return shape[b < 0 ? shape.length + b : b] as number;
      }
      case "ingredient": return this.known(a);
      case "factor": return this.factors[a]?.value as number;
      case "first": return this.terms[0]?.factors[0]?.value as number;
      case "sum": return this.total;
      case "largest": return Math.max(...this.terms.map((term) => term.value));
      default: return -Infinity;
    }
  }

  // The last step with its numbers, where it is more than a sum.
  filled(): string | undefined {
    if (!this.way || this.way.key === "sum" || this.way.key === "hidden") return undefined;
    if (Array.isArray(this.way.value) && this.way.value[0] === "largest") return maximumOf(this.terms);
    return this.written(this.way.shown ?? this.way.value);
  }
  private written(expression: Expression, inside = false): string {
    if (typeof expression === "number") return long(expression);
    const [kind, a, b, c] = expression;
    const sign = signs[kind];
    if (kind === "if") return this.written(this.evaluate(a) !== 0 ? b : c, inside);
    if (kind === "function") return `${this.attribute(a)}(${this.written(b)})`;
    if (kind === "sqrt") return `√(${this.written(a)})`;
    if (sign) {
      const made = `${this.written(a, sign.binds)} ${sign.sign} ${this.written(b, true)}`;
      return inside ? `(${made})` : made;
    }
    if (kind in functions) return `${kind}(${expression.slice(1).map((one) => this.written(one)).join(between())})`;
    const value = this.evaluate(expression);
    return inside && value < 0 ? `(${long(value)})` : long(value);
  }
}

export function maximumOf(terms: Term[]): string {
  const most = 12;
  return `max(${terms.slice(0, most).map((term) => short(term.value)).join(between())}${terms.length > most ? `${between()}…` : ""})`;
}
export function sumOf(terms: Term[]): number { return terms.length > 0 ? lastOf(terms).running : 0; }

const signs: Record<string, { sign: string; binds?: boolean }> = { "+": { sign: "+" }, "-": { sign: "−" }, "*": { sign: "·", binds: true }, "/": { sign: "/", binds: true } };
type Function = (...numbers: any[]) => number;
const functions: Record<string, Function> = {
  "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b,
  "<": (a, b) => Number(a < b), "<=": (a, b) => Number(a <= b), "==": (a, b) => Number(a === b), not: (a) => Number(a === 0),
  div: (a, b) => Math.floor(a / b), mod: (a, b) => a - b * Math.floor(a / b), erf: errorFunction,
  exp: Math.exp, sqrt: Math.sqrt, sin: Math.sin, cos: Math.cos, tanh: Math.tanh, abs: Math.abs, min: Math.min, max: Math.max, pow: Math.pow,
};

function errorFunction(x: number): number {
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

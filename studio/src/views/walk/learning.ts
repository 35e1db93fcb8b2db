// Learning: from the loss to one weight, and its update.
import type { BackwardWalk, Tensor, WrittenNumbers } from "../../api/types";
import { curveDrawing } from "../../draw/curve";
import { element, fill, told, type Child } from "../../draw/element";
import { figure } from "../../draw/figure";
import { formulaOf } from "../../draw/formula";
import { between, bracketed, long, number, prose } from "../../texts/numbers";
import { text, type Values } from "../../texts/words";
import { data, run, stepNumbers } from "../../trace/document";
import { numbersOf } from "../../trace/run";
import type { Factor, Term } from "../../trace/terms";
import { cellOf } from "../../trace/views";
import { answer, termTable } from "../why";
import { isEncoder } from "./cards";

export function learning(): Child {
  const walk = run().backward;
  const learned = data.losses.length > 0 ? [curveDrawing({ values: data.losses, label: text("term.loss") })] : [];
  if (!walk) return [...learned, ...howToWalkBack()];
  addGradients(walk);
  return [
    learned,
    wayBack("loss", { loss: number(walk.loss, prose) }, "loss"),
    wayBack("error", {}, "error"),
    element("div", { class: "flow" }, figure(run().find("gradient.error") as Tensor, { explained: false })),
    wayBack("gradients", {}),
    gradients(walk),
    wayBack("weight", { weight: walk.weight, value: number(walk.value, (x) => prose(x, 6)) }),
    !run().weight_is_asked && wayBack("chosen", stepNumbers),
    wayBack("terms", {}),
    element("div", { class: "scroll" }, termTable(walk.terms.map((term): Term => ({ ...term, factors: term.factors.map((factor) => ({ ...factor, cell: cellOf(factor.cell) }) as Factor) })))),
    element("p", { class: "filled" }, "∂L/∂w = ", number(walk.gradient)),
    updates(walk.update),
    element("p", { class: "text" }, text("backward.new_value", { value: number(walk.new_value, (x) => prose(x, 6)) })),
    element("p", { class: "text" }, element("b", {}, text("backward.new_loss", { before: number(walk.loss, (x) => prose(x, 5)), after: number(walk.new_loss, (x) => prose(x, 5)) }))),
  ];
}

// Where the page has no way back: what is missing, or the command that shows it.
function howToWalkBack(): HTMLElement[] {
  if (isEncoder()) return [];
  if (run().targets.every((id) => id < 0)) return [element("p", { class: "text" }, text("message.no_target"))];
  return [element("p", { class: "left-out" }, text("page.no_backward"), element("br"), element("code", {}, `${data.command} --backward --only ${stepNumbers.learning}`))];
}

// The rules that were used on the way back, by the operations that they are for.
function gradients(walk: BackwardWalk): HTMLElement {
  const names = walk.gradients.filter((name) => run().find(`gradient.${name}`));
  const tensors = names.map((name) => run().find(name) as Tensor);
  const used = [...new Set(tensors.map((tensor) => data.operations[tensor.operation]?.gradient).filter((rule): rule is string => Boolean(rule)))];
  const made = element("details", { class: "group", "data-place": "gradients" });
  const held = new Set(names.map((name) => `gradient.${name}`));
  made.holds = held;
  made.fill = () => fill(made, element("summary", {}, element("h3", {}, text("label.gradient")), element("code", {}, String(tensors.length))), made.open && [
    element("dl", { class: "rules" }, used.map((rule) => [element("dt", {}, formulaOf(`backward.${rule}`)), element("dd", {}, text(`backward.${rule}`))])),
    element("div", { class: "flow" }, [...held].map((name) => figure(run().find(name) as Tensor, { explained: false })))]);
  made.fill();
  made.addEventListener("toggle", () => { if (made.children.length < 2) { made.fill?.(); answer(); } });
  return made;
}

function wayBack(key: string, values: Values, formulaKey?: string): HTMLElement {
  return element("p", { class: "text" }, text(`backward.${key}`, values), formulaKey !== undefined && [" ", formulaOf(`backward.${formulaKey}`)]);
}

// Gradients become tensors of the run, so that they are drawn and asked like all others. A page holds those that have room; a server all.
function addGradients(walk: BackwardWalk): void {
  const add = (name: string, of: string, values: WrittenNumbers | undefined) => {
    const tensor = run().find(of);
    if (run().find(name) || !tensor) return;
    run().all.set(name, { name, operation: "given", operands: [], attributes: {}, shape: tensor.shape, axes: tensor.axes, formula: "", text: tensor.text, values: numbersOf(values) });
  };
  add("gradient.error", "logits", walk.error);
  for (const name of walk.gradient_values ? Object.keys(walk.gradient_values) : walk.gradients) add(`gradient.${name}`, name, walk.gradient_values?.[name]);
}

function updates(update: Record<string, number>): HTMLElement {
  const at = (name: string) => update[name] as number;
  const lines: [string, () => string][] = [
    ["clip", () => `‖g‖ = ${long(at("gradient_norm"))}${at("clip_limit") > 0 ? `${between()}c = ${long(at("clip_limit"))}` : ""}${between()}g = ${long(at("clipped_gradient"))}`],
    ["moments", () => `m = ${long(at("first_moment"))}${between()}v = ${long(at("second_moment"))}`],
    ["corrected", () => `m̂ = ${long(at("first_corrected"))}${between()}v̂ = ${long(at("second_corrected"))}`],
    ["change", () => `η = ${long(at("learning_rate"))}${between()}Δw = ${long(at("change"))}${at("decay") !== 0 ? ` + ${bracketed(at("decay"))}` : ""}`],
  ];
  return element("div", {}, lines.map(([key, numbers]) => element("div", { class: "step" }, wayBack(key, {}, key), element("p", { class: "filled" }, told(numbers)))));
}

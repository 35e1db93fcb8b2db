// A tensor with its name, its shape, its formula and what it was computed from.
import type { Tensor } from "../api/types";
import { text, textByEnd } from "../texts/words";
import { run } from "../trace/document";
import { inkOf, nearName } from "../trace/views";
import { goTo } from "../views/why";
import { breakable, button, element, told, type Words } from "./element";
import { formulaOf, operationOf } from "./formula";
import { matrix } from "./matrix";

export function titleOf(tensor: Tensor): Words {
  if (tensor.name === "gradient.error") return "p − y";
  const gradient = tensor.name.startsWith("gradient.");
  const own = tensor.operation === "parameter" && !gradient ? tensor.name : textByEnd("tensor.", tensor.text);
  return gradient ? told(() => `∂L/∂ ${own}`) : own;
}

export function figure(tensor: Tensor, { explained = true } = {}): HTMLElement {
  if (tensor.same_as) return unchanged(tensor);
  const operands = tensor.operands.map((operand) => run().find(operand.name)).filter((one): one is Tensor => one !== undefined);
  return element("figure", { class: `figure ink-${inkOf(tensor)}`, "data-name": tensor.name },
    element("figcaption", {},
      nameOf(tensor), nameAndShape(tensor),
      explained && formulaOf(tensor.formula),
      explained && tensor.formula !== "" && element("span", { class: "does" }, operationOf(tensor.formula)),
      operands.length > 0 && element("span", { class: "made" }, text("page.made_of"), " ", operands.map(wayTo))),
    matrix(tensor));
}
function nameOf(tensor: Tensor): HTMLElement { return element("span", { class: "name" }, titleOf(tensor)); }
function nameAndShape(tensor: Tensor): HTMLElement {
  return element("code", {}, tensor.operation !== "parameter" && [breakable(tensor.name), " "], element("span", { class: "shape", title: text("label.shape") }, `(${tensor.shape.join(" × ")})`));
}
function wayTo(tensor: Tensor): HTMLElement { return button(nearName(tensor), { title: tensor.name, class: `ink-${inkOf(tensor)}`, click: () => goTo(tensor.name) }); }

// What is passed on as it is needs no matrix of its own.
function unchanged(tensor: Tensor): HTMLElement {
  return element("p", { class: `figure unchanged ink-${inkOf(tensor)}`, "data-name": tensor.name, tabindex: "-1" }, nameOf(tensor), nameAndShape(tensor), formulaOf(tensor.formula),
    element("span", { class: "made" }, text("page.unchanged"), " ", wayTo(run().find(tensor.same_as as string) as Tensor)));
}

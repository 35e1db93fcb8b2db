// One matrix from scores to weights: the numbers fade from each step into the next in the same cells.
import type { Tensor } from "../../api/types";
import { choice, element, fill, type Child } from "../../draw/element";
import { titleOf } from "../../draw/figure";
import { formulaOf } from "../../draw/formula";
import { table } from "../../draw/matrix";
import { text } from "../../texts/words";
import { run } from "../../trace/document";
import { matrixOf } from "../../trace/views";

const stages = ["scores", "scaled_scores", "capped_scores", "masked_scores", "weights"];
const shownStage = new Map<string, string>();  // by place

export function film(place: string): Child {
  const tensors = stages.map((stage) => run().find(`${place}.${stage}`)).filter((tensor): tensor is Tensor => tensor?.values !== undefined && matrixOf(tensor).isTable);
  if (tensors.length < 3) return undefined;
  const made = element("figure", { class: "figure film ink-a" });
  const show = (tensor: Tensor, from?: HTMLElement) => {
    shownStage.set(place, tensor.name);
    const next = table(matrixOf(tensor));
    next.removeAttribute("data-name");
    fill(made, element("figcaption", {}, element("span", { class: "name" }, text("studio.film")),
      choice(text("studio.film"), tensors.map((one) => ({ label: titleOf(one), value: one })), tensor, (one) => show(one, next)), formulaOf(tensor.formula)), element("div", { class: "scroll" }, next));
    if (from) fadeFrom(from, next);
    if (from) made.querySelector<HTMLElement>("[aria-pressed='true']")?.focus({ preventScroll: true });
  };
  show(tensors.find((one) => one.name === shownStage.get(place)) ?? (tensors[0] as Tensor));
  return made;
}

// The old numbers lie over the new ones and go.
function fadeFrom(old: HTMLElement, next: HTMLElement): void {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  next.animate([{ opacity: 0.15 }, { opacity: 1 }], { duration: 700, easing: "ease-out" });
  const over = old.cloneNode(true) as HTMLElement;
  over.classList.add("fading");
  over.setAttribute("aria-hidden", "true");
  for (const cell of over.querySelectorAll("td")) cell.removeAttribute("tabindex");
  next.after(over);
  over.animate([{ opacity: 1 }, { opacity: 0 }], { duration: 700, easing: "ease-in" }).finished.then(() => over.remove(), () => over.remove());
}

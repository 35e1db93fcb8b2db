// The whole model in small: blocks, the shape on every arrow, and "you are here". A click leads to the block.
import type { Tensor } from "../api/types";
import { button, element, type Child, type Words } from "../draw/element";
import { state } from "../state/state";
import { has, text } from "../texts/words";
import { data, hasRun, run } from "../trace/document";
import { chosenPlace } from "../trace/heads";
import { goTo } from "../views/why";
import { headChanged, remember } from "./page";
import { showCard } from "./side";

interface Block { place: string; label: Words; kind: string; out?: Tensor; steps: string[] }

const mostLayers = 3;  // that are drawn with their blocks; of more, only the one that is looked at

export function diagram(): Child {
  const stacks = ["encoder", "decoder"].filter((stack) => run().tensors.some((tensor) => tensor.name.startsWith(`${stack}.`)));
  return [
    element("h2", {}, text("studio.whole_model")),
    element("div", { class: "stacks" }, stacks.map(stackOf)),
    run().find("logits") && element("div", { class: "stack" }, [blockOf("logits", text("step.prediction.title"), "p", run().find("logits"), ["prediction"])].map(drawBlock)),
  ];
}

function stackOf(stack: string): HTMLElement {
  const layers = [...new Set(run().tensors.map((tensor) => new RegExp(`^${stack}\\.(\\d+)\\.`).exec(tensor.name)?.[1]).filter((layer): layer is string => layer !== undefined))].map(Number).sort((a, b) => a - b);
  const open = layers.length <= mostLayers ? layers : [layerLookedAt(stack, layers)];
  const blocks = [blockOf(`${stack}.sum`, text(`place.${stack}`), "x", run().find(`${stack}.sum`) ?? run().find(`${stack}.embedding`), ["embedding", "positions", "sum"])];
  return element("div", { class: "stack", "data-stack": stack }, blocks.map(drawBlock),
    layers.map((layer) => (open.includes(layer) ? element("div", { class: "layer", "data-layer": layer }, layers.length > 1 && element("small", {}, text("place.layer", { layer })), layerBlocks(stack, layer).map(drawBlock))
      : closedLayer(stack, layer))));
}
function layerLookedAt(stack: string, layers: number[]): number {
  const [chosen, layer] = chosenPlace().split(".");
  return chosen === stack && layers.includes(Number(layer)) ? Number(layer) : (layers[0] as number);
}
function closedLayer(stack: string, layer: number): HTMLElement {
  const place = run().attentions().map((tensor) => tensor.name).find((name) => name.startsWith(`${stack}.${layer}.`))?.replace(/\.\w+$/, "");
  return button(text("place.layer", { layer }), { class: "block closed", "data-place": place, click: () => place !== undefined && jump(place) });
}

function layerBlocks(stack: string, layer: number): Block[] {
  const blocks: Block[] = [];
  for (const kind of ["self", "cross", "ffn"]) {
    const place = `${stack}.${layer}.${kind}`;
    const out = run().find(`${place}.output`) ?? run().tensors.filter((tensor) => tensor.name.startsWith(`${place}.`)).pop();
    if (!out) continue;
    const steps = kind === "ffn" ? ["feed_forward"] : stack === "decoder" && data.runs.length > 0 && run().find("encoder.output") ? ["decoder", "mask", "attention"] : ["attention"];
    blocks.push(blockOf(place, has(`place.${kind}`) ? text(`place.${kind}`) : kind, kind === "ffn" ? "x" : "a", out, steps));
  }
  return blocks;
}
function blockOf(place: string, label: Words, kind: string, out: Tensor | undefined, steps: string[]): Block { return { place, label, kind, out, steps }; }

function drawBlock(block: Block): Child {
  const shape = block.out?.shape.filter((size, axis) => !(block.out?.axes[axis] === "batch" && size === 1)).join("×");
  return [button(block.label, { class: `block ink-${block.kind}`, "data-place": block.place, "data-steps": block.steps.join(" "), title: block.place, click: () => jump(block.place) }),
    shape !== undefined && element("span", { class: "arrow", title: block.out?.name }, "↓ ", shape)];
}

function jump(place: string): void {
  if (run().attentionAt(place)) {
    state.place = place;
    if (state.panel !== "walk") {
      headChanged(place);
      remember();
      return;
    }
  }
  const inside = run().tensors.find((tensor) => tensor.name === place || tensor.name.startsWith(`${place}.`));
  if (inside && goTo(inside.name)) return;
  showCard("step-7");
}

// The block of the card that is read, or of the attention that is looked at.
export function markPlaces(card: string | undefined): void {
  if (!hasRun()) return;
  const step = state.panel === "walk" ? data.steps.find((one) => `step-${one.number}` === card)?.name ?? (card === "heads" ? "attention" : undefined) : undefined;
  const place = chosenPlace();
  for (const block of document.querySelectorAll<HTMLElement>("#here .block")) {
    const isHere = state.panel === "walk" ? step !== undefined && (block.dataset.steps ?? "").split(" ").includes(step) : block.dataset.place === place;
    if (isHere) block.setAttribute("aria-current", "location");
    else block.removeAttribute("aria-current");
  }
}

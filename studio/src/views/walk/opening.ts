// The opening of the walk: the sentence, where the head that is shown first looks, and what the model makes of each position.
import { source } from "../../api/source";
import { beams } from "../../draw/beams";
import { button, element, fill, type Child } from "../../draw/element";
import { canvas } from "../../draw/matrix";
import { tileMap } from "../../draw/tiles";
import { headChanged } from "../../page/page";
import { state } from "../../state/state";
import { percent } from "../../texts/numbers";
import { text } from "../../texts/words";
import { data, run, wordOfId } from "../../trace/document";
import { chosenPlace, headAt, headNumber, shownFirst } from "../../trace/heads";
import { mostCells, placeOf } from "../../trace/run";
import { matrixOf } from "../../trace/views";
import { firstShownText, headPicks, placeTitle, roleBadge } from "../head_parts";
import { predictionAt } from "./cards";

export function opening(): HTMLElement {
  const made = element("section", { class: "card hero", id: "opening", tabindex: "-1" });
  made.fill = () => fill(made, element("h1", {}, text("page.title")), element("p", { class: "lead" }, text("page.lead")),
    run().source_tokens.length > 0 && data.source !== "" && element("p", { class: "says" }, text("message.text", { text: data.source })), picture(),
    run().continuation !== "" && element("p", { class: "says" }, text("message.says", { words: run().continuation })),
    run().likeliest.length > 0 && element("div", { class: "rows one" }, predictionAt(position())));
  made.fill();
  return made;
}

// The row whose next word is shown: the first that the model wrote or should have written, unless another is chosen.
export function position(): number {
  const { tokens, targets, written } = run();
  const first = written > 0 ? tokens.length - written - 1 : targets.findIndex((id) => id >= 0);
  return Math.min(state.position ?? (first < 0 ? tokens.length - 1 : first), tokens.length - 1);
}
function choosePosition(row: number): void {
  state.position = row;
  for (const tensor of run().attentions().filter((one) => one.axes[2] === "token")) {
    state.rows[placeOf(tensor.name)] = row;
    headChanged(placeOf(tensor.name));
  }
  document.getElementById("opening")?.fill?.();
  document.querySelector<HTMLElement>(`#opening [data-position="${row}"]`)?.focus({ preventScroll: true });
}

function picture(): Child {
  const place = shownFirst()?.place ?? chosenPlace();
  const tensor = run().attentionAt(place);
  if (!tensor) return undefined;
  const isHere = run().valueOf(tensor, [0, headAt(place), 0, 0]) !== undefined;
  if (!isHere && !source.isServer) return undefined;
  const heads = run().heads.filter((one) => one.place === place);
  const chosen = heads.find((one) => one.head === headNumber(tensor, headAt(place)));
  const small = (tensor.shape[2] as number) <= mostCells && (tensor.shape[3] as number) <= mostCells;
  const ofTokens = tensor.axes[2] === "token";
  return [
    small && isHere ? wordBeams(place, ofTokens) : element("div", { class: "flow centre" }, element("div", { class: "head" }, isHere ? canvas(matrixOf(tensor), 480) : tileMap(tensor, headAt(place)))),
    element("div", { class: "picks centre" }, element("span", {}, placeTitle(place)), heads.length > 1 && headPicks(place, tensor), chosen && roleBadge(chosen)),
    firstShownText(),
    data.sentences.length > 0 && data.losses.length === 0 && element("p", { class: "note" }, text("page.random")),
    !(small && ofTokens) && run().likeliest.length > 0 && positionStrip(),
  ];
}
function wordBeams(place: string, ofTokens: boolean): Child {
  const tensor = run().attentionAt(place);
  if (!tensor) return undefined;
  const head = headAt(place);
  const from = run().labels(tensor.axes[3]).map((token) => element("span", { class: "word" }, token));
  const to = run().labels(tensor.axes[2]).map((token, row) => (ofTokens && run().likeliest.length > 0 ? positionWord(row) : element("span", { class: "word" }, token)));
  const shown = run();
  return beams(from, to, (row, column) => shown.valueOf(tensor, [0, head, row, column]) ?? 0);
}

function positionStrip(): HTMLElement {
  const made = element("div", { class: "words strip" }, run().tokens.map((_, row) => positionWord(row)));
  requestAnimationFrame(() => {
    const chosen = made.children[position()] as HTMLElement | undefined;
    if (chosen) made.scrollTop = chosen.offsetTop - made.offsetTop - made.clientHeight / 2;
  });
  return made;
}

// A token with the word that the model expects after it.
function positionWord(row: number): HTMLElement {
  const best = run().likeliest[row]?.[0];
  const right = run().targets[row] ?? -1;
  const own = row > run().tokens.length - run().written - 1;
  const verdict = !best || right < 0 ? "" : best[0] === right ? "right" : "wrong";
  return button([element("small", {}, run().tokens[row]), best && [wordOfId(best[0]), element("small", {}, percent(best[1]))]],
    { class: `word ${verdict} ${own ? "own" : ""}`, "data-position": row, "aria-pressed": String(row === position()), title: own ? text("page.written") : text("page.position"),
      click: () => choosePosition(row) });
}

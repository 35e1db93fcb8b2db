// What a training has written, and how it would be begun in a terminal.
import type { JobFacts } from "../../api/jobs";
import { element, fill } from "../../draw/element";
import { at, chosen } from "./parts";
import type { Training } from "./training";

const mostSamples = 200;

// What it wrote at each evaluation, the newest first; the one of the chosen checkpoint is marked.
export function drawSamples(training: Training): void {
  const holder = at("samples");
  if (!holder) return;
  const shown = chosen.step === undefined ? undefined : training.evaluations.findLast((one) => one.step <= (chosen.step as number))?.step;
  const key = `${training.evaluations.length} ${shown}`;
  if (holder.dataset.key === key) return;
  holder.dataset.key = key;
  fill(holder, training.evaluations.filter((one) => one.sample !== "").slice(-mostSamples).reverse().map((one) => element("li", { class: one.step === shown ? "chosen" : "", "data-step": one.step }, element("small", {}, String(one.step)), element("q", {}, one.sample))));
  const marked = holder.querySelector<HTMLElement>(".chosen");
  if (marked) holder.scrollTop = marked.offsetTop - holder.offsetTop - holder.clientHeight / 2;
}

export function commandOf({ request = {}, written, id }: JobFacts): string {
  const quoted = (word: string) => (/^[\w.:+-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);
  const isRead = request.task === "lm" || request.task === "translate";
  return ["headlight train", `--task ${request.task}`, ...(isRead ? ["--data data.txt"] : []), ...Object.entries(request.keys ?? {}).map(([key, value]) => `--${key} ${quoted(String(value))}`), `--out ${quoted(written ?? id)}`].join(" ");
}

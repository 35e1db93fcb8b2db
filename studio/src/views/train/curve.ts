// The curves of a training, with the moments at which heads found their roles.
import type { Chart, ChartMark, Series } from "../../draw/chart";
import { button, choice, element, type Child } from "../../draw/element";
import { keep } from "../../draw/files";
import { text } from "../../texts/words";
import type { FilmChoice } from "./film";
import { chosen, drawn, fillWhenChanged, whats } from "./parts";
import { foundRoles } from "./roles";
import type { Training } from "./training";

export interface CurveEvents { choose(choice: FilmChoice): void; redraw(): void }

export function drawCurve(training: Training, chart: Chart, { choose, redraw }: CurveEvents): void {
  const { steps, evaluations, start, frames } = training;
  fillWhenChanged("curve-picks", `${drawn.what} ${drawn.isLogarithmic}`, () => curvePicks(training, redraw));
  const points = (values: { step: number }[], of: (one: any) => number | null): [number, number][] => values.map((one) => [one.step, of(one) ?? NaN]);
  const series: Series[] = drawn.what === "loss" ? [{ name: "training", label: text("studio.train.train_loss"), points: points(steps, (one) => one.train_loss) }, { name: "validation", label: text("studio.train.valid_loss"), points: points(evaluations, (one) => one.valid_loss), dots: true }]
    : [{ name: "training", label: text(`label.${drawn.what}`), points: points(steps, (one) => one[drawn.what]) }];
  const found = foundRoles(frames);
  chart.draw({ label: text(`label.${drawn.what}`), step: text("label.step"), most: start?.steps ?? 1, series, marks: marksOf(found), isLogarithmic: drawn.isLogarithmic, chosen: chosen.step, choose: (step) => choose({ step }) });
  fillWhenChanged("moments", found.map((one) => Object.values(one).join(" ")).join(), () => [found.length > 0 && [element("h3", {}, text("studio.train.moments")), element("ul", {}, found.map((one) => element("li", {}, button([text("label.step"), ` ${one.step}: `, element("code", {}, one.head), element("span", { class: `role-${one.role}` }, element("i", { class: "dot" }), " ", text(`role.${one.role}`))], { class: "moment", "data-head": one.head, "data-step": one.step, "data-role": one.role, "data-does": one.head, click: () => choose({ step: one.step, head: one.head }) }))))],
    element("p", { class: "note" }, text("studio.train.rule"))]);
}
function curvePicks(training: Training, redraw: () => void): Child {
  return [choice(text("studio.train.curve"), whats.map((value) => ({ label: text(`label.${value}`), value })), drawn.what, (value) => { drawn.what = value; redraw(); }),
    choice(text("studio.train.scale"), [{ label: text("studio.heads.shading.linear"), value: false }, { label: text("studio.heads.shading.logarithmic"), value: true }], drawn.isLogarithmic, (value) => { drawn.isLogarithmic = value; redraw(); }),
    element("span", { class: "keep" }, text("studio.export"), ": ", button("CSV", { id: "curve-csv", click: () => keep(`${training.facts?.written ?? training.id}.csv`, new Blob([curveCsv(training)], { type: "text/csv" })) }))];
}
// A line for each step that was told, with what was told of it.
export function curveCsv({ steps, evaluations }: Training): string {
  const lines = new Map<number, (number | null)[]>(steps.map((one) => [one.step, [one.train_loss, one.learning_rate, one.gradient_norm, null]]));
  for (const one of evaluations) lines.set(one.step, [...(lines.get(one.step) ?? [null, null, null]).slice(0, 3), one.valid_loss]);
  const written = [...lines].sort((a, b) => a[0] - b[0]).map(([step, values]) => [step, ...values.map((value) => value ?? "")].join(","));
  return `${["step,train_loss,learning_rate,gradient_norm,valid_loss", ...written].join("\n")}\n`;
}
// One flag for all heads that find the same role at the same checkpoint.
function marksOf(found: { role: string; step: number }[]): ChartMark[] {
  const counts = new Map<string, number>();
  for (const one of found) counts.set(`${one.step} ${one.role}`, (counts.get(`${one.step} ${one.role}`) ?? 0) + 1);
  return [...counts].map(([key, count]) => { const [step, role] = key.split(" ") as [string, string]; return { step: Number(step), name: `role-${role}`, label: count > 1 ? text("studio.train.several", { role: text(`role.${role}`), count }) : text(`role.${role}`) }; });
}

// Curves by step with axes, marks, and the values under the pointer; keys move along the steps.
import { number, prose, short } from "../texts/numbers";
import { drawing, element, fill, present, setAttribute, told, type Child, type Words } from "./element";

export interface Series { name: string; label: Words; points: [step: number, value: number][]; dots?: boolean }
export interface ChartMark { step: number; name: string; label: Words }
export interface ChartContent { label: Words; step: Words; most: number; series: Series[]; marks: ChartMark[]; isLogarithmic: boolean; chosen?: number; choose(step: number): void }

const [height, left, right, bottom, flagHeight, mostFlagRows] = [250, 52, 14, 26, 18, 4];

// 1, 2 or 5 times a power of ten, at most `count` of them from `low` to `high`.
export function niceTicks(low: number, high: number, count: number): number[] {
  const rough = (high - low) / Math.max(1, count);
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough * (1 - 1e-9)) ?? 10);
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}
function logTicks(low: number, high: number): number[] {
  const ticks: number[] = [];
  const isWide = Math.log10(high / low) > 3;
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) for (const one of isWide ? [1] : [1, 2, 5]) ticks.push(Number((one * 10 ** power).toPrecision(3)));
  return ticks.filter((one) => one >= low && one <= high);
}

export class Chart {
  readonly element: HTMLElement;
  private content?: ChartContent;
  private readonly picture = drawing("svg", { "aria-hidden": "true" });
  private readonly read = element("p", { class: "chart-read" });
  private steps: number[] = [];  // of all points, in order
  private pointed?: number;      // the step under the pointer
  private x = (step: number) => step;

  constructor() {
    this.element = element("div", { class: "chart", role: "slider", tabindex: "0", pointermove: (event: PointerEvent) => this.point(this.nearest(event)), pointerleave: () => this.point(undefined),
      click: (event: PointerEvent) => { const step = this.nearest(event); if (step !== undefined) this.content?.choose(step); }, keydown: (event: KeyboardEvent) => this.pressed(event) }, this.picture, this.read);
    this.element.retell = () => this.draw(this.content);
    new ResizeObserver(() => this.draw(this.content)).observe(this.element);
  }

  draw(content: ChartContent | undefined): void {
    this.content = content;
    const width = this.element.clientWidth;
    if (!content || width === 0) return;
    this.steps = [...new Set(content.series.flatMap((one) => one.points.map(([step]) => step)))].sort((a, b) => a - b);
    const values = content.series.flatMap((one) => one.points.map(([, value]) => value)).filter((one) => Number.isFinite(one) && (!content.isLogarithmic || one > 0));
    const flags = placedFlags(content.marks, (step) => left + ((width - left - right) * step) / Math.max(1, content.most), width);
    const top = 10 + flagHeight * Math.min(mostFlagRows, Math.max(0, ...flags.map((one) => one.row + 1)));
    this.x = (step) => left + ((width - left - right) * step) / Math.max(1, content.most);
    const { low, high, ticks } = rangeOf(values, content.isLogarithmic);
    const scale = (value: number) => (content.isLogarithmic ? Math.log(Math.max(value, low)) : value);
    const y = (value: number) => top + (height - bottom - top) * (1 - (scale(value) - scale(low)) / (scale(high) - scale(low) || 1));
    setAttribute(this.picture, "viewBox", `0 0 ${width} ${height}`);
    setAttribute(this.picture, "height", height);
    fill(this.picture, this.axes(content, width, top, ticks, y),
      content.series.map((one) => drawing("g", { class: `series ${one.name}` }, drawing("path", { d: pathOf(one.points, this.x, y, width) }),
        one.dots && one.points.length < width / 6 && one.points.filter(([, value]) => Number.isFinite(value)).map(([step, value]) => drawing("circle", { cx: this.x(step), cy: y(value), r: 2.6 })))),
      flags.map((flag) => drawing("g", { class: `flag ${flag.name}`, "data-step": flag.step }, drawing("line", { x1: flag.x, x2: flag.x, y1: 6 + flagHeight * flag.row, y2: height - bottom }),
        flag.row < mostFlagRows && [drawing("circle", { cx: flag.x, cy: 8 + flagHeight * flag.row, r: 3.5 }), drawing("text", { x: flag.isLeft ? flag.x - 8 : flag.x + 8, y: 12 + flagHeight * flag.row, "text-anchor": flag.isLeft ? "end" : "start" }, flag.label)])),
      content.chosen !== undefined && drawing("line", { class: "chosen", x1: this.x(content.chosen), x2: this.x(content.chosen), y1: top, y2: height - bottom }), drawing("g", { class: "pointed" }));
    this.tell(y);
    this.point = (step) => { if (step !== this.pointed) { this.pointed = step; this.tell(y); } };
  }
  private point: (step: number | undefined) => void = () => undefined;

  private axes(content: ChartContent, width: number, top: number, ticks: number[], y: (value: number) => number): Child {
    return [ticks.map((tick) => [drawing("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }), drawing("text", { x: left - 7, y: y(tick) + 4, "text-anchor": "end" }, number(tick, (x) => prose(x, 3)))]),
      niceTicks(0, content.most, Math.max(2, Math.floor(width / 110))).map((tick) => [drawing("line", { class: "grid", x1: this.x(tick), x2: this.x(tick), y1: height - bottom, y2: height - bottom + 4 }), drawing("text", { x: this.x(tick), y: height - 8, "text-anchor": "middle" }, String(tick))]),
      drawing("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }), drawing("line", { class: "axis", x1: left, x2: left, y1: top, y2: height - bottom })];
  }

  // The step that is pointed at, or else chosen, with its values.
  private tell(y: (value: number) => number): void {
    const content = this.content as ChartContent;
    const step = this.pointed ?? content.chosen ?? this.steps.at(-1);
    const at = content.series.flatMap((one) => { const found = step === undefined ? undefined : one.points.findLast(([other]) => other <= step); return found ? [{ series: one, value: found[1], step: found[0] }] : []; });
    const words = (): Child[] => [content.step, ` ${step ?? 0}`, at.map(({ series, value }) => [" · ", element("i", { class: `key ${series.name}` }), series.label, " ", element("b", {}, number(value, (x) => short(x)))])];
    fill(this.read, words());
    const pointed = this.picture.querySelector(".pointed");
    if (pointed) pointed.replaceChildren(...present([this.pointed !== undefined && drawing("line", { x1: this.x(this.pointed), x2: this.x(this.pointed), y1: 6, y2: height - bottom }),
      at.filter(({ value }) => Number.isFinite(value)).map((one) => drawing("circle", { class: one.series.name, cx: this.x(one.step), cy: y(one.value), r: 4 }))]));
    for (const [name, value] of Object.entries({ "aria-label": content.label, "aria-valuemin": 0, "aria-valuemax": content.most, "aria-valuenow": step ?? 0, "aria-valuetext": told(() => this.read.textContent) })) setAttribute(this.element, name, value);
  }
  private nearest(event: PointerEvent): number | undefined {
    const at = event.clientX - this.element.getBoundingClientRect().left;
    return this.steps.reduce<number | undefined>((best, step) => (best === undefined || Math.abs(this.x(step) - at) < Math.abs(this.x(best) - at) ? step : best), undefined);
  }
  private pressed(event: KeyboardEvent): void {
    const at = this.steps.indexOf(this.pointed ?? this.nearestBefore(this.content?.chosen));
    const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, PageUp: at + 10, PageDown: at - 10, Home: 0, End: this.steps.length - 1 }[event.key];
    const step = this.steps[Math.max(0, Math.min(this.steps.length - 1, to ?? at))];
    if (event.key === "Enter" && step !== undefined) this.content?.choose(step);
    else if (to !== undefined) this.point(step);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  private nearestBefore(step = Infinity): number { return this.steps.findLast((one) => one <= step) ?? 0; }
}

function rangeOf(values: number[], isLogarithmic: boolean): { low: number; high: number; ticks: number[] } {
  if (values.length === 0) return isLogarithmic ? { low: 0.1, high: 1, ticks: [0.1, 1] } : { low: 0, high: 1, ticks: [0, 1] };
  let [low, high] = [values[0] as number, values[0] as number];
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  if (isLogarithmic) { low /= 1.15; high *= 1.15; return { low, high, ticks: logTicks(low, high) }; }
  const room = 0.06 * (high - low || Math.abs(high) || 1);
  low = low >= 0 ? Math.max(0, low - room) : low - room;
  high += room;
  return { low, high, ticks: niceTicks(low, high, 5) };
}

// Where there are more points than pixels, the least and the largest of each.
function pathOf(points: [number, number][], x: (step: number) => number, y: (value: number) => number, width: number): string {
  let shown = points.filter(([, value]) => Number.isFinite(value));
  if (shown.length > 2 * width) {
    const columns = new Map<number, [number, number][]>();
    for (const point of shown) { const column = Math.round(x(point[0])); columns.set(column, [...(columns.get(column) ?? []), point]); }
    shown = [...columns.values()].flatMap((all) => {
      const byValue = [...all].sort((a, b) => a[1] - b[1]);
      return [byValue[0] as [number, number], byValue.at(-1) as [number, number]].sort((a, b) => a[0] - b[0]);
    });
  }
  return shown.map(([step, value], i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}

// Each mark has a flag, in the first row where there is room for its words; where there is none, only a line.
function placedFlags(marks: ChartMark[], x: (step: number) => number, width: number): (ChartMark & { x: number; row: number; isLeft: boolean })[] {
  const taken: [number, number][][] = Array.from({ length: mostFlagRows }, () => []);
  return marks.map((mark) => {
    const length = 16 + 6.4 * [...String(mark.label)].reduce((sum, letter) => sum + (letter > "\u2e80" ? 1.9 : 1), 0);
    const at = x(mark.step);
    const isLeft = at + length > width - 4;
    const span: [number, number] = isLeft ? [at - length, at + 5] : [at - 5, at + length];
    const free = taken.findIndex((row) => row.every(([begin, end]) => span[1] < begin || span[0] > end));
    if (free >= 0) taken[free]?.push(span);
    return { ...mark, x: at, row: free < 0 ? mostFlagRows : free, isLeft };
  });
}

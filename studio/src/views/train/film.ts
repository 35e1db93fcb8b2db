// The film of the heads: a row for each head, a picture for each checkpoint; the one that is chosen is shown large.
import type { HeadsFrame } from "../../api/jobs";
import type { MappedHead } from "../../api/source";
import { alphaOf, colour, type Colour } from "../../draw/colour";
import { button, element, fill } from "../../draw/element";
import { axisLabels } from "../../draw/matrix";
import { number, percent, prose } from "../../texts/numbers";
import { text } from "../../texts/words";
import { floatsOf } from "../../trace/run";
import { placeTitle } from "../head_parts";
import { foundRoles, type FoundRole } from "./roles";

const [gap, labelWidth, roleWidth, leastSide, mostSide, mostOpenHeads] = [3, 84, 168, 22, 36, 24];

export interface FilmChoice { step?: number; head?: string }

export class Film {
  readonly element = element("div", { class: "film-sheet" });
  readonly detail = element("div", { class: "film-head" });
  private frames: HeadsFrame[] = [];
  private shown: HeadsFrame[] = [];  // that there is room for
  private found = new Map<string, FoundRole>();
  private drawn = "";
  private side = leastSide;          // of a picture
  private chosen: FilmChoice = {};

  constructor(private readonly choose: (choice: FilmChoice) => void) { new ResizeObserver(() => this.draw(this.frames, this.chosen, true)).observe(this.element); }

  draw(frames: HeadsFrame[], chosen: FilmChoice, anew = false): void {
    this.frames = frames;
    this.chosen = chosen;
    this.found = new Map(foundRoles(frames).map((one) => [one.head, one]));
    this.shown = this.framesWithRoom();
    const last = frames.at(-1);
    if (!last || this.element.clientWidth === 0) return fill(this.detail);
    // Rows are made once; pictures are painted again.
    const key = `${last.heads.map((one) => one.name).join()}`;
    if (key !== this.drawn) this.makeRows(last);
    this.drawn = key;
    for (const row of this.element.querySelectorAll<HTMLElement>(".film-row")) this.paintRow(row, anew);
    this.drawDetail();
  }
  // The step of the picture that stands for it.
  frameAt(step: number | undefined): HeadsFrame | undefined { return step === undefined ? this.frames.at(-1) : this.frames.findLast((one) => one.step <= step) ?? this.frames[0]; }
  // The head that is looked at: the chosen one, or the first that found a role, or the first.
  headName(): string | undefined {
    const names = this.frames.at(-1)?.heads.map((one) => one.name) ?? [];
    return this.chosen.head !== undefined && names.includes(this.chosen.head) ? this.chosen.head : [...this.found.values()].find((one) => one.role === "induction")?.head ?? [...this.found.keys()][0] ?? names[0];
  }
  heads(): string[] { return this.frames.at(-1)?.heads.map((one) => one.name) ?? []; }

  // All, if they fit; else the first and the last, those where a role was found, the chosen one, and others evenly between.
  private framesWithRoom(): HeadsFrame[] {
    const isNarrow = innerWidth <= 640;
    const width = this.element.clientWidth - (isNarrow ? 62 : labelWidth + roleWidth);
    const count = this.frames.length;
    this.side = Math.max(leastSide, Math.min(mostSide, Math.floor(width / Math.max(1, count)) - gap));
    const room = Math.max(2, Math.floor(width / (this.side + gap)));
    if (count <= room) return this.frames;
    const telling = [this.frames[0], this.frames.at(-1), this.frameAt(this.chosen.step), ...[...this.found.values()].map((one) => this.frameAt(one.step))];
    const kept = new Set(telling.map((one) => this.frames.indexOf(one as HeadsFrame)).slice(0, room));
    while (kept.size < room) kept.add(middleOfLargestGap([...kept].sort((a, b) => a - b)));
    return [...kept].sort((a, b) => a - b).map((i) => this.frames[i] as HeadsFrame);
  }

  private makeRows(last: HeadsFrame): void {
    let count = 0;
    fill(this.element, element("div", { class: "film-steps", "aria-hidden": "true" }), last.places.map((place) => {
      const heads = last.heads.filter((one) => one.place === place.name);
      count += heads.length;
      return element("details", { class: "film-place", open: count <= mostOpenHeads || count === heads.length, toggle: () => this.draw(this.frames, this.chosen) }, element("summary", { title: place.name }, placeTitle(place.name)), heads.map((head) => this.makeRow(head)));
    }));
  }
  private makeRow(head: MappedHead): HTMLElement {
    const canvas = element("canvas", { "aria-hidden": "true", click: (event: MouseEvent) => {
      const frame = this.shown[Math.floor(event.offsetX / (this.side + gap))];
      if (frame) this.choose({ step: frame.step, head: head.name });
    } });
    return element("div", { class: "film-row", "data-head": head.name }, button("", { class: "film-name", click: () => this.choose({ head: head.name }) }), canvas, element("span", { class: "film-role" }));
  }

  private paintRow(row: HTMLElement, anew: boolean): void {
    const name = row.dataset.head as string;
    const of = (frame: HeadsFrame) => frame.heads.find((one) => one.name === name);
    const chosen = this.frameAt(this.chosen.step);
    const current = chosen && of(chosen);
    const found = this.found.get(name);
    const isChosen = name === this.headName();
    row.className = `film-row role-${current?.role ?? "none"}`;
    row.toggleAttribute("data-found", found !== undefined && chosen !== undefined && chosen.step >= found.step);
    const label = row.querySelector(".film-name") as HTMLElement;
    fill(label, text("place.head", { head: name.slice(name.lastIndexOf(".") + 1) }));
    label.setAttribute("aria-pressed", String(isChosen));
    fill(row.querySelector(".film-role") as Element, current && [element("i", { class: "dot" }), text(`role.${current.role}`), " ", percent(current.measure)]);
    const canvas = row.querySelector("canvas") as HTMLCanvasElement;
    const key = `${this.shown.map((one) => one.step).join()} ${isChosen ? chosen?.step : ""} ${chosen?.step} ${found?.step}`;
    if (!anew && canvas.dataset.key === key) return;
    canvas.dataset.key = key;
    this.paintFrames(canvas, this.shown.map((frame) => ({ head: of(frame), mark: frame === chosen ? (isChosen ? "text" : "soft") : undefined, isFound: frame === this.frameAt(found?.step ?? -1) && found !== undefined })));
  }
  private paintFrames(canvas: HTMLCanvasElement, frames: { head: MappedHead | undefined; mark?: string; isFound: boolean }[]): void {
    const { side } = this;
    const ratio = Math.max(1, Math.round(devicePixelRatio || 1));
    const width = frames.length * (this.side + gap);
    Object.assign(canvas, { width: width * ratio, height: (this.side + gap) * ratio });
    Object.assign(canvas.style, { width: `${width}px`, height: `${this.side + gap}px` });
    const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
    pen.scale(ratio, ratio);
    const [ink, line, beam] = [colour("a"), colour("line"), colour("beam")];
    frames.forEach(({ head, mark, isFound }, i) => {
      const x = i * (side + gap) + 1.5;
      pen.strokeStyle = `rgb(${line.join()})`;
      pen.lineWidth = 1;
      pen.strokeRect(x, 1.5, side, side);
      // A cell is a whole number of points, so that each is as wide as the others.
      if (head) {
        const whole = (count: number) => { const cell = Math.floor(((side - 2) * ratio) / count) / ratio; return cell > 0 ? cell * count : side - 2; };
        const [w, h] = [whole(head.thumbnail.cols), whole(head.thumbnail.rows)];
        paintHead(pen, head, ink, x + Math.round((side - w) / 2 - 0.5) + 0.5, 2 + Math.round((side - h) / 2 - 0.5), w, h);
      }
      if (isFound) { pen.strokeStyle = `rgb(${beam.join()})`; pen.lineWidth = 3; pen.strokeRect(x, 1.5, side, side); }
      if (mark) { pen.strokeStyle = `rgb(${colour(mark).join()})`; pen.lineWidth = mark === "text" ? 2 : 1; pen.strokeRect(x, 1.5, side, side); }
    });
  }

  private drawDetail(): void {
    const frame = this.frameAt(this.chosen.step);
    const name = this.headName();
    const head = frame?.heads.find((one) => one.name === name);
    const steps = this.element.querySelector(".film-steps") as HTMLElement;
    steps.style.setProperty("--side", `${this.side + gap}px`);
    fill(steps, this.shown.map((one, i) => (i % Math.ceil(this.shown.length / 8) === 0 || one === frame) && element("span", { class: one === frame ? "now" : "", style: { left: `${i * (this.side + gap)}px` } }, String(one.step))));
    if (!frame || !head || name === undefined) return fill(this.detail);
    const found = this.found.get(name);
    fill(this.detail, element("h3", {}, element("code", {}, name)), element("p", { class: "where" }, text("label.step"), ` ${frame.step}`), largePicture(frame, head),
      element("p", { class: `badges role-${head.role}` }, element("span", { class: "badge" }, text(`role.${head.role}`), " ", percent(head.measure))), element("p", { class: "note" }, text(`role.${head.role}.text`)),
      found && element("p", { class: "note" }, text("studio.train.since", { step: found.step })), element("p", { class: "note" }, text("label.entropy"), " ", number(head.entropy, (x) => prose(x, 3))));
  }
}

function middleOfLargestGap(sorted: number[]): number {
  let [at, most] = [0, 0];
  for (let i = 0; i + 1 < sorted.length; ++i) { const gap = (sorted[i + 1] as number) - (sorted[i] as number); if (gap > most) [at, most] = [i, gap]; }
  return Math.floor(((sorted[at] as number) + (sorted[at + 1] as number)) / 2);
}

// With the tokens beside it, where each has its own row and column.
function largePicture(frame: HeadsFrame, head: MappedHead): HTMLElement {
  const { rows, cols, row_step, col_step } = head.thumbnail;
  const cell = Math.max(4, Math.floor(208 / Math.max(rows, cols)));
  const canvas = element("canvas", { class: "film-large", width: cols * cell, height: rows * cell, role: "img", "aria-label": text("studio.heads.one", { head: head.name, role: text(`role.${head.role}`), share: percent(head.measure) }) });
  paintHead(canvas.getContext("2d") as CanvasRenderingContext2D, head, colour("a"), 0, 0, cols * cell, rows * cell);
  const looking = head.stack === "encoder" ? frame.source_tokens : frame.tokens;
  const seen = head.kind === "cross" || head.stack === "encoder" ? frame.source_tokens : frame.tokens;
  const [rowLabels, columnLabels] = [row_step === 1 ? looking : [], col_step === 1 ? (seen.length > 0 ? seen : frame.tokens) : []];
  return element("div", { class: "labelled" }, element("span"), axisLabels("columns", columnLabels, cols, cell), axisLabels("rows", rowLabels.length > 0 ? rowLabels : columnLabels, rows, cell), canvas);
}

// What a head looks at.
function paintHead(pen: CanvasRenderingContext2D, head: MappedHead, ink: Colour, x: number, y: number, width: number, height = width): void {
  const { rows, cols } = head.thumbnail;
  if (typeof head.thumbnail.values === "string") head.thumbnail.values = floatsOf(head.thumbnail.values);
  const pixels = new ImageData(cols, rows);
  head.thumbnail.values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    pixels.data.set(ink, 4 * i);
    pixels.data[4 * i + 3] = alphaOf(value);
  });
  const small = element("canvas", { width: cols, height: rows });
  small.getContext("2d")?.putImageData(pixels, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, x, y, width, height);
}

// Two runs beside each other: the first step that differs, by how much, and the numbers of both.
import type { TensorDifference } from "../../api/compare";
import { button, breakable, choice, element, fill, type Child } from "../../draw/element";
import { keep } from "../../draw/files";
import { titleOf } from "../../draw/figure";
import { waitingFor } from "../../draw/waiting";
import { remember } from "../../page/page";
import { modelInfo } from "../../page/session";
import { markHere } from "../../page/side";
import { state } from "../../state/state";
import { number, prose, short } from "../../texts/numbers";
import { text } from "../../texts/words";
import { hasRun, runs } from "../../trace/document";
import type { View } from "../view";
import { headsOf, matrices, placeIn, shownOf, type Shown } from "./matrices";
import { chosen, choices, compare, fileName, forget, otherModels, takeFile, tolerances, wanted, type Against, type Comparison } from "./sides";

let found: Comparison | undefined;
let failure: { key: string | undefined; message: string } | undefined;
let running: { key: string; control: AbortController } | undefined;
let listTop = 0;

export const compareView: View = {
  name: "compare",
  needs: "server",
  show(holder) {
    if (!hasRun()) return fill(holder, element("section", { class: "card" }, element("p", { class: "absent" }, text("message.absent"))));
    if (!choices().includes(chosen.against)) chosen.against = "sentence";
    fill(holder, element("section", { class: "card", id: "compare" }, element("h1", { class: "panel-title" }, text("studio.panel.compare")), element("p", { class: "text" }, text("studio.compare.text")), referenceBadge(), form(),
      element("p", { class: "said", id: "compare-said", role: "status" })), element("div", { id: "compared" }));
    draw();
    markHere();
    run();
  },
  leave() { running?.control.abort(); running = undefined; },
  headChanged() { /* The head that is compared is chosen here. */ },
  moveStep(step) {
    const names = listed().map((one) => one.name);
    const next = names[Math.max(0, Math.min(names.length - 1, names.indexOf(shownName() ?? "") + step))];
    if (next !== undefined) chooseTensor(next);
  },
  moveHead(step) {
    const tensor = found?.a.run?.find(shownName() ?? "");
    const heads = tensor ? headsOf(tensor) : [];
    if (heads.length > 0) chooseHead(heads[(heads.indexOf(shownHead() ?? -1) + step + heads.length) % heads.length] as number);
  },
  moveLayer(step) {
    const other = (shownName() ?? "").replace(/\.(\d+)\./, (_, layer) => `.${Number(layer) + step}.`);
    if (found?.told.tensors.some((one) => one.name === other)) chooseTensor(other);
  },
  remember(params) {
    const put = (name: string, value: string | number, usual: string | number) => { if (value !== usual) params.set(name, String(value)); };
    put("against", chosen.against, "sentence");
    if (chosen.against === "sentence") put("other", chosen.text, "");
    if (chosen.against === "model") put("other", chosen.model, "");
    if (chosen.against === "run") put("other", chosen.run, "");
    put("tolerance", chosen.tolerance, 0);
    put("look", chosen.tensor ?? "", "");
    put("of_head", chosen.head ?? "", "");
    put("different", chosen.onlyDifferent ? 1 : 0, 0);
  },
  recall(params) {
    const against = params.get("against") ?? "sentence";
    const other = params.get("other") ?? "";
    chosen.against = (["sentence", "model", "run", "file"] as const).find((one) => one === against) ?? "sentence";
    if (chosen.against === "sentence") chosen.text = other;
    if (chosen.against === "model") chosen.model = other;
    if (chosen.against === "run") chosen.run = Number(other) || 0;
    const tolerance = Number(params.get("tolerance") ?? 0);
    chosen.tolerance = tolerances.includes(tolerance) ? tolerance : 0;
    chosen.tensor = params.get("look") ?? undefined;
    chosen.head = /^\d{1,5}$/.test(params.get("of_head") ?? "") ? Number(params.get("of_head")) : undefined;
    chosen.onlyDifferent = params.get("different") === "1";
  },
};

// How near the engine is to numbers that came with the model.
function referenceBadge(): Child {
  const reference = modelInfo()?.reference;
  if (reference?.error !== undefined) return element("p", { class: "problem" }, reference.error);
  return reference && element("p", {}, element("span", { class: "badge reference", title: reference.file }, text("studio.compare.reference", { difference: number(reference.relative, (x) => prose(x, 2)), count: reference.compared })));
}

function form(): HTMLElement {
  const set = <T extends Against>(against: T) => { chosen.against = against; if (against === "run") chosen.run = state.run === 0 ? 1 : 0; if (against === "model" && !otherModels().includes(chosen.model)) chosen.model = otherModels()[0] ?? ""; changed(); compareView.show(document.getElementById("walk") as HTMLElement); document.querySelector<HTMLElement>("#compare .choice [aria-pressed=true]")?.focus(); };
  const tolerance = element("select", { id: "tolerance", "aria-label": text("studio.compare.tolerance"), change: () => { chosen.tolerance = Number(tolerance.value); run(); remember(); } }, tolerances.map((one) => element("option", { value: one }, number(one, prose))));
  tolerance.value = String(chosen.tolerance);
  return element("form", { class: "picks compare-form", submit: (event: Event) => { event.preventDefault(); submitted(); } },
    choice(text("studio.compare.against"), choices().map((value) => ({ label: text(`studio.compare.against.${value}`), value })), chosen.against, set), given(), element("label", {}, text("studio.compare.tolerance"), " ", tolerance));
}
function submitted(): void {
  const sentence = document.getElementById("other-sentence") as HTMLInputElement | null;
  if (sentence) chosen.text = sentence.value;
  changed();
  run();
}
function changed(): void { Object.assign(chosen, { tensor: undefined, head: undefined }); remember(); }
function given(): Child {
  if (chosen.against === "sentence") {
    const submit = button(text("studio.compare.go"), { class: "go" });
    submit.type = "submit";
    return [element("input", { id: "other-sentence", type: "text", autocomplete: "off", spellcheck: "false", value: chosen.text || state.text, "aria-label": text("studio.compare.other_sentence"), maxlength: 4000 }), submit];
  }
  if (chosen.against === "model") {
    const models = element("select", { id: "other-model", "aria-label": text("studio.compare.other_model"), change: () => { chosen.model = models.value; changed(); run(); } }, otherModels().map((id) => element("option", { value: id }, id)));
    models.value = chosen.model;
    return models;
  }
  if (chosen.against === "run") return element("span", {}, text(runs[state.run]?.key ?? ""), " ↔ ", text(runs[chosen.run === state.run ? (state.run + 1) % runs.length : chosen.run]?.key ?? ""));
  const files = element("input", { id: "other-file", type: "file", accept: ".safetensors", "aria-label": text("studio.compare.other_file"), change: () => {
    const file = files.files?.[0];
    if (file) takeFile(file).then(() => { changed(); run(); }, (error) => say(String(error.message)));
  } });
  return [files, fileName() !== undefined && element("code", {}, fileName())];
}
function say(message: Child): void { const said = document.getElementById("compare-said"); if (said) fill(said, message); }

async function run(isAgain = false): Promise<void> {
  const key = wanted();
  if (key === undefined || key === found?.key || key === running?.key) { draw(); return; }
  running?.control.abort();
  const own = (running = { key, control: new AbortController() });
  failure = undefined;
  draw();
  try {
    const told = await compare(own.control.signal);
    if (running !== own) return;
    found = told;
  } catch (error) {
    if (running !== own || own.control.signal.aborted) return;
    if ((error as { status?: number }).status === 404 && !isAgain) { forget(); running = undefined; return run(true); }
    failure = { key, message: String((error as Error).message) };
    found = undefined;
  }
  running = undefined;
  draw();
}

function current(): Comparison | undefined { return found?.key === wanted() ? found : undefined; }
function shownName(): string | undefined {
  const told = current()?.told;
  if (!told) return undefined;
  const names = [...told.tensors.map((one) => one.name), ...told.other_shapes.map((one) => one.name)];
  return chosen.tensor !== undefined && names.includes(chosen.tensor) ? chosen.tensor : told.first?.name ?? names[0];
}
function differenceAt(name: string | undefined): TensorDifference | undefined { return current()?.told.tensors.find((one) => one.name === name); }
function shownHead(): number | undefined { return chosen.head ?? placeIn(differenceAt(shownName())?.at).head; }
function isDifferent(one: TensorDifference): boolean { return one.largest_difference === null || one.largest_difference > chosen.tolerance; }
function listed(): TensorDifference[] { return (current()?.told.tensors ?? []).filter((one) => !chosen.onlyDifferent || isDifferent(one)); }

function chooseTensor(name: string): void {
  Object.assign(chosen, { tensor: name, head: undefined });
  draw();
  document.querySelector<HTMLElement>(`.difference[data-name="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
  remember();
}
function chooseHead(head: number): void {
  chosen.head = head;
  draw();
  document.querySelector<HTMLElement>("#compare-matrices .choice [aria-pressed=true]")?.focus({ preventScroll: true });
  remember();
}

function draw(): void {
  const holder = document.getElementById("compared");
  if (!holder) return;
  listTop = holder.querySelector(".differences")?.scrollTop ?? listTop;
  say(failure && failure.key === wanted() ? failure.message : running ? text("studio.compare.running") : undefined);
  const comparison = current();
  fill(holder, comparison && [summary(comparison), element("section", { class: "card", id: "compare-list" }, element("h2", {}, text("studio.compare.tensors")), list(comparison)), numbersCard(comparison)]);
  const rows = holder.querySelector<HTMLElement>(".differences");
  const row = rows?.querySelector<HTMLElement>("[aria-pressed=true]");
  if (!rows) return;
  rows.scrollTop = listTop;
  if (row && (row.offsetTop < rows.scrollTop || row.offsetTop + row.offsetHeight > rows.scrollTop + rows.clientHeight)) rows.scrollTop = row.offsetTop - rows.clientHeight / 2;
}

// The first step that differs, and by how much.
function summary({ told, a, b }: Comparison): HTMLElement {
  const { first } = told;
  const tensor = first && a.run?.find(first.name);
  return element("section", { class: "card", id: "compare-first", "aria-live": "polite" }, element("p", { class: "pair" }, element("b", {}, "A "), a.title, element("b", {}, " B "), b.title),
    first ? [element("h2", {}, text("studio.compare.first"), " ", element("button", { type: "button", class: "first-name", click: () => chooseTensor(first.name) }, tensor ? titleOf(tensor) : first.name), " ", element("code", {}, first.name)),
      element("p", {}, text("studio.compare.by", { difference: number(first.largest_difference ?? Infinity, (x) => prose(x, 4)), relative: number(first.relative ?? Infinity, (x) => prose(x, 3)), step: first.step })),
      element("p", { class: "readout" }, first.at, "  A ", number(first.a ?? NaN), "  B ", number(first.b ?? NaN))]
      : element("h2", {}, text("studio.compare.equal", { tolerance: number(told.tolerance, prose) })),
    element("p", { class: "note" }, text("studio.compare.counts", { equal: told.equal, compared: told.compared }), told.other_shapes.length > 0 && [" ", text("studio.compare.other_shapes", { count: told.other_shapes.length })]),
    b.file && told.compared > 0 && element("p", {}, element("span", { class: "badge reference" }, agreement(told.tensors))));
}
// "agrees to 6 digits".
function agreement(tensors: TensorDifference[]): Child {
  const largest = tensors.reduce((most, one) => Math.max(most, one.relative ?? Infinity), 0);
  if (largest === 0) return text("studio.compare.agrees_exactly", { count: tensors.length });
  const digits = Number.isFinite(largest) ? Math.max(0, Math.floor(-Math.log10(largest))) : 0;
  return text("studio.compare.agrees", { digits, difference: number(largest, (x) => prose(x, 2)), count: tensors.length });
}

// All tensors in the order in which they are computed; bars count powers of ten, from 1e-8 to 1.
function list(comparison: Comparison): Child {
  const { told, a } = comparison;
  const name = shownName();
  const rows = listed();
  const different = element("input", { type: "checkbox", id: "only-different", change: () => { chosen.onlyDifferent = different.checked; draw(); document.getElementById("only-different")?.focus(); remember(); } });
  different.checked = chosen.onlyDifferent;
  const row = (one: TensorDifference) => {
    const relative = one.relative ?? Infinity;
    const width = one.largest_difference === 0 ? 0 : Math.max(0.02, Math.min(1, (Math.log10(relative) + 8) / 8));
    const tensor = a.run?.find(one.name);
    return button([element("span", { class: "step-number" }, String(one.step)), element("span", { class: "label" }, tensor && titleOf(tensor), " ", element("code", {}, breakable(one.name))), element("span", { class: "track" }, element("i", { style: { width: `${(100 * width).toFixed(1)}%` } })),
      element("span", { class: "share" }, one.largest_difference === 0 ? "=" : number(one.largest_difference ?? Infinity, (x) => prose(x, 3)))],
    { class: `difference${isDifferent(one) ? " beyond" : ""}${one.name === told.first?.name ? " first" : ""}`, "data-name": one.name, "aria-pressed": String(one.name === name), click: () => chooseTensor(one.name) });
  };
  const made = element("div", { class: "differences", role: "group", "aria-label": text("studio.compare.tensors"), keydown: moveInList }, rows.map(row),
    told.other_shapes.map((one) => button([element("span", { class: "label" }, element("code", {}, breakable(one.name))), element("span", { class: "share shapes" }, `${one.a.join("×")} ↔ ${one.b.join("×")}`)],
      { class: "difference other-shape", "data-name": one.name, "aria-pressed": String(one.name === name), click: () => chooseTensor(one.name) })));
  const others = (key: string, names: string[]) => names.length > 0 && element("details", { class: "sink" }, element("summary", {}, text(key, { count: names.length })), element("p", { class: "note" }, names.map((one) => [element("code", {}, one), " "])));
  return [element("div", { class: "picks" }, element("label", { class: "check-box" }, different, " ", text("studio.compare.only_different")), element("span", { class: "keep" }, text("studio.export"), ": ", button("CSV", { "data-keep": "list", click: () => keep("comparison.csv", new Blob([listCsv(told.tensors)], { type: "text/csv" })) }))),
    made, others("studio.compare.only_a", told.only_a), others("studio.compare.only_b", told.only_b)];
}
export function listCsv(tensors: TensorDifference[]): string {
  return `${["name,step,largest_difference,relative,at,a,b", ...tensors.map((one) => [one.name, one.step, one.largest_difference, one.relative, `"${one.at}"`, one.a, one.b].join(","))].join("\n")}\n`;
}
function moveInList(event: KeyboardEvent): void {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (step === undefined) return;
  const rows = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".difference")];
  rows[rows.indexOf(event.target as HTMLElement) + step]?.focus();
  event.preventDefault();
  event.stopPropagation();
}

function numbersCard(comparison: Comparison): Child {
  const name = shownName();
  const tensor = name === undefined ? undefined : comparison.a.run?.find(name);
  if (name === undefined || !tensor) return undefined;
  const one = differenceAt(name);
  const heads = headsOf(tensor);
  let shown: Shown | undefined;
  return element("section", { class: "card", id: "compare-matrices" }, element("h2", {}, titleOf(tensor), " ", element("code", {}, name)),
    one && element("p", { class: "readout" }, one.at, "  A ", number(one.a ?? NaN), "  B ", number(one.b ?? NaN), "  |A − B| ", number(one.largest_difference ?? Infinity, short)),
    heads.length > 0 && element("div", { class: "picks" }, text("term.head"), " ", choice(text("term.head"), heads.map((value) => ({ label: String(value), value })), shownHead() ?? heads[0], (value) => chooseHead(value as number))),
    waitingFor(async () => { shown = await shownOf(comparison, name, chosen.head, one?.at); }, () => shown && matrices(shown, [comparison.a.title, comparison.b.title]), 8));
}

// What to train: an example or one's own text, and for those who know, the keys.
import type { JobFacts } from "../../api/jobs";
import { ApiError, source } from "../../api/source";
import { button, element, fill, type Child, type Words } from "../../draw/element";
import { has, text } from "../../texts/words";
import { examples, keysOf, writtenKeys, type Example, type Keys } from "./examples";

const mostText = 32 << 20;  // bytes, as the server takes them
const fields = ["n_layer", "n_head", "n_embd", "block_size", "batch_size", "max_iters", "eval_interval", "learning_rate", "dropout", "seed"];

// What is chosen; texts stay here while one looks at something else.
export const order = { example: examples[0] as Example, keys: {} as Keys, more: undefined as string | undefined, name: undefined as string | undefined, probe: undefined as string | undefined, target: undefined as string | undefined,
  texts: { text: "", pairs: "" } as Record<string, string>, isOpen: false };

export function chooseExample(name: string): void {
  order.example = examples.find((one) => one.name === name) ?? (examples[0] as Example);
  Object.assign(order, { keys: {}, more: undefined, name: undefined, probe: undefined, target: undefined });
}
// The settings of a training that was, for another one.
export function chooseAgain({ request = {}, name }: JobFacts): void {
  const given = Object.fromEntries(Object.entries(request.keys ?? {}).map(([key, value]) => [key, String(value)]));
  const alike = examples.filter((one) => one.task === request.task);
  chooseExample((alike.find((one) => one.name === (name ?? "").replace(/-\d+$/, "")) ?? alike.at(-1) ?? examples[0] as Example).name);
  order.keys = Object.fromEntries(Object.entries(given).filter(([key, value]) => fields.includes(key) && value !== order.example.keys[key]));
  order.more = writtenKeys(Object.fromEntries(Object.entries(given).filter(([key]) => !fields.includes(key))));
  Object.assign(order, { name: name ?? undefined, probe: request.probe, target: request.probe_target, isOpen: true });
}

function value(key: string): string { return order.keys[key] ?? order.example.keys[key] ?? ""; }
function more(): string { return order.more ?? writtenKeys(order.example.more ?? {}); }
function ownText(): string { return order.texts[order.example.name] ?? ""; }
// What is filmed of one's own text is its beginning.
function probe(): string {
  if (order.probe !== undefined || !order.example.isOwn) return order.probe ?? order.example.probe;
  const line = ownText().split("\n").find((one) => one.trim() !== "") ?? "";
  return order.example.name === "pairs" ? line.split("\t")[0] ?? "" : line.slice(0, 24);
}
function target(): string {
  if (order.target !== undefined || order.example.name !== "pairs") return order.target ?? order.example.target ?? "";
  return ownText().split("\n").find((one) => one.trim() !== "")?.split("\t")[1] ?? "";
}

// Numbers as numbers: the server checks them.
export function requestBody(): Record<string, unknown> {
  const typed = (written: string) => (written === "true" || written === "false" ? written === "true" : written.trim() !== "" && Number.isFinite(Number(written)) ? Number(written) : written);
  const own = fields.filter((key) => value(key) !== "").map((key) => [key, value(key)]);
  const keys = Object.fromEntries([...own, ...Object.entries(keysOf(more()) ?? {})].map(([key, written]) => [key as string, typed(written as string)]));
  const data = order.example.data?.() ?? (order.example.isOwn ? ownText() : undefined);
  const name = order.name ?? order.example.name;
  return { kind: "train", task: order.example.task, ...(name !== "" && { name }), ...(data !== undefined && data !== "" && { data_text: data }), ...(probe() !== "" && { probe: probe() }),
    ...(probe() !== "" && order.example.target !== undefined && target() !== "" && { probe_target: target() }), keys };
}

// `begun`: the job that the server has taken.
export function trainForm(begun: (job: JobFacts) => void, changed: () => void): HTMLElement {
  const made = element("form", { class: "train-form", submit: (event: Event) => { event.preventDefault(); void begin(); } });
  const begin = async () => {
    tellProblems(made);
    if (keysOf(more()) === undefined) return tellProblems(made, "keys.more", text("studio.train.more_form"));
    const go = made.querySelector<HTMLButtonElement>(".go");
    if (go) go.disabled = true;
    try {
      begun(await source.ask<JobFacts>("POST", "/api/jobs", requestBody()));
    } catch (error) {
      tellProblems(made, (error instanceof ApiError && error.param) || "", (error as Error).message);
    } finally {
      if (go) go.disabled = false;
    }
  };
  const draw = () => {
    fill(made, exampleCards(() => { draw(); changed(); made.querySelector<HTMLElement>("input:checked")?.focus(); }), order.example.isOwn && ownTextField(),
      element("p", { class: "train-go" }, button(text("studio.train.start"), { class: "go large", id: "train-start", type: "submit" })), element("p", { class: "problem", role: "alert", id: "train-problem", hidden: true }), settings(changed));
  };
  draw();
  return made;
}

function exampleCards(changed: () => void): HTMLElement {
  return element("fieldset", { class: "examples" }, element("legend", {}, text("studio.train.what")), examples.map((one) =>
    element("label", { class: "example" }, element("input", { type: "radio", name: "example", value: one.name, checked: one === order.example, change: () => { chooseExample(one.name); changed(); } }),
      element("b", {}, text(`studio.train.example.${one.name}`)), element("span", {}, text(`studio.train.example_text.${one.name}`)))));
}

function ownTextField(): Child {
  const name = order.example.name;
  const area = element("textarea", { id: "own-text", rows: 6, spellcheck: "false", "data-field": "data_text", "aria-describedby": "problem-data_text", input: () => { order.texts[name] = area.value; refreshProbe(area); } });
  area.value = ownText();
  const file = element("input", { type: "file", accept: "text/*,.txt,.tsv,.md,.csv", change: async () => {
    const chosen = file.files?.[0];
    if (!chosen) return;
    if (chosen.size > mostText) return tellProblems(file.form as HTMLElement, "data_text", text("studio.train.too_long", { most: mostText >> 20 }));
    order.texts[name] = area.value = await chosen.text();
    refreshProbe(area);
  } });
  return element("div", { class: "own-text" }, element("label", { for: "own-text" }, text(`studio.train.own.${name}`)), area, problemOf("data_text"), element("label", { class: "file" }, text("studio.train.file"), " ", file));
}
function refreshProbe(area: HTMLElement): void {
  for (const [field, now] of [["probe", probe()], ["probe_target", target()]] as const) {
    const shown = area.closest("form")?.querySelector<HTMLInputElement>(`[data-field="${field}"]`);
    if (shown) shown.value = now;
  }
}

function settings(changed: () => void): HTMLElement {
  const made = element("details", { class: "group train-settings", open: order.isOpen, toggle: () => { order.isOpen = made.open; } }, element("summary", {}, element("h3", {}, text("studio.train.settings"))),
    element("div", { class: "key-fields" },
      fields.filter((key) => key in order.example.keys || (key === "block_size" && order.example.task === "lm")).map((key) => field(`keys.${key}`, text(`studio.train.key.${key}`), value(key), (now) => { order.keys[key] = now; changed(); }, { inputmode: "decimal", hint: key })),
      field("name", text("studio.train.name"), order.name ?? order.example.name, (now) => { order.name = now; }, {}),
      field("probe", text("studio.train.probe"), probe(), (now) => { order.probe = now; }, { wide: true }),
      order.example.target !== undefined && field("probe_target", text("studio.target"), target(), (now) => { order.target = now; }, { wide: true }),
      field("keys.more", text("studio.train.more"), more(), (now) => { order.more = now; }, { wide: true, hint: "headlight train --help" })));
  return made;
}
function field(name: string, label: Words, now: string, take: (value: string) => void, { inputmode, wide, hint }: { inputmode?: string; wide?: boolean; hint?: string }): HTMLElement {
  const input = element("input", { type: "text", value: now, inputmode, autocomplete: "off", spellcheck: "false", "data-field": name, "aria-describedby": `problem-${name}`, input: () => take(input.value) });
  return element("label", { class: wide ? "key-field wide" : "key-field" }, element("span", {}, label, hint !== undefined && element("code", {}, hint)), input, problemOf(name));
}
function problemOf(name: string): HTMLElement { return element("small", { class: "field-problem", id: `problem-${name}` }); }

// Beside the field that the server names, or else under the button.
function tellProblems(made: HTMLElement, param = "", message: Words = ""): void {
  for (const one of made.querySelectorAll(".field-problem")) fill(one);
  for (const one of made.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
  const general = made.querySelector<HTMLElement>("#train-problem") as HTMLElement;
  const input = made.querySelector<HTMLElement>(`[data-field="${CSS.escape(param)}"]`) ?? (param.startsWith("keys.") ? made.querySelector<HTMLElement>('[data-field="keys.more"]') : null);
  const isSaid = String(message) !== "";
  general.hidden = !isSaid || input !== null;
  fill(general, general.hidden ? "" : message);
  if (!isSaid || !input) return;
  const details = input.closest("details");
  if (details) details.open = true;
  input.setAttribute("aria-invalid", "true");
  fill(made.querySelector(`[id="${input.getAttribute("aria-describedby")}"]`) as Element, message);
  input.focus();
}

// Of the address: "n_layer:3,seed:7".
export function writtenOrder(): string { return Object.entries(order.keys).filter(([key, now]) => now !== order.example.keys[key]).map((pair) => pair.join(":")).join(","); }
export function readOrder(example: string | null, written: string | null): void {
  if (example !== null && example !== order.example.name) chooseExample(example);
  if (written === null) return;
  order.keys = Object.fromEntries(written.split(",").map((one) => one.split(":") as [string, string]).filter(([key, now]) => fields.includes(key) && now !== undefined && /^[\d.e+-]{1,20}$/i.test(now)));
  order.isOpen ||= Object.keys(order.keys).length > 0;
}
export function exampleTitle(name: string | null): Words | undefined {
  const key = `studio.train.example.${(name ?? "").replace(/-\d+$/, "")}`;
  return has(key) ? text(key) : undefined;
}

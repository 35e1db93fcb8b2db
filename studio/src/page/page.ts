// The page as a whole: which view is shown, what is drawn again when something is chosen, and the address that remembers it.
import { source } from "../api/source";
import { repaint } from "../draw/matrix";
import { element, fill, retell } from "../draw/element";
import { state } from "../state/state";
import { addressOf, recallState } from "../state/address";
import { hasLanguage, languages } from "../texts/words";
import { data, hasRun, run } from "../trace/document";
import { loadSmallRun } from "../trace/loading";
import { chosenPlace, headAt } from "../trace/heads";
import { placeOf } from "../trace/run";
import type { View } from "../views/view";
import { answer } from "../views/why";
import { drawBar } from "./bar";
import { loadTexts, openTrace } from "./session";
import { drawSide, markHere, watchCards } from "./side";

export const walk = document.getElementById("walk") as HTMLElement;

let views: View[] = [];
let shown: View | undefined;
let title: () => string = () => "";

// The views that this page can show, and what it is called.
export function setViews(all: View[], named: () => string): void { views = all; title = named; }
// Those that have a tab: all panels.
export function tabViews(): View[] { return views.filter((one) => !["start", "lesson", "report"].includes(one.name)); }
export function viewNames(): string[] { return views.map((one) => one.name); }
export function currentView(): View { return views.find((one) => one.name === state.panel) ?? (views[0] as View); }

export function isDark(): boolean { return state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches; }
export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  drawBar();
  repaint();
}
function applyLanguage(): void {
  document.documentElement.lang = state.lang;
  document.title = `${title()} · Headlight`;
  drawBar();
}
// Words change where they stand; nothing is made again.
export async function chooseLanguage(lang: string): Promise<void> {
  if (!hasLanguage(lang)) await loadTexts(lang);
  state.lang = lang;
  applyLanguage();
  retell();
  remember();
}
export function chooseTheme(): void {
  state.theme = isDark() ? "light" : "dark";
  applyTheme();
  remember();
}
export async function choosePanel(name: string): Promise<void> {
  if (name === state.panel) return;
  // A lesson is another document.
  if (source.isServer && data.lesson && name !== "lesson") await openTrace();
  state.panel = name;
  state.trail = [];
  redraw();
  scrollTo({ top: 0, behavior: "instant" });
  walk.focus({ preventScroll: true });
  remember(true);
}
export async function chooseRun(chosen: number): Promise<void> {
  state.run = chosen;
  if (source.isServer) await loadSmallRun();
  redraw();
  remember();
}

export function redraw(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  const view = currentView();
  if (shown && shown !== view) shown.leave?.();
  shown = view;
  document.body.dataset.panel = view.name;
  applyLanguage();
  drawSide();
  const top = scrollY;
  view.show(walk);
  scrollTo({ top, behavior: "instant" });
  answer();
  watchCards();
}

// The frame of the panel, whose run is still being computed.
export function showWaiting(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  document.body.dataset.panel = state.panel;
  applyLanguage();
  fill(walk, element("section", { class: "card" }, element("div", { class: "waiting", "aria-busy": "true", style: { "--rows": "16" } })));
}

// Another head or query of an attention was chosen.
export function headChanged(place: string): void {
  const view = currentView();
  if (view.headChanged) view.headChanged(place);
  else view.show(walk);
  markHere();
  answer();
}
export function chooseHead(place: string, head: number): void {
  state.heads[place] = head;
  state.place = place;
  headChanged(place);
  drawBar();
  remember();
}
// The next or previous head of all attentions that have it, so that panels agree.
export function moveHead(step: 1 | -1): void {
  const view = currentView();
  if (view.moveHead) return view.moveHead(step);
  if (!hasRun()) return;
  for (const tensor of run().attentions()) {
    const place = placeOf(tensor.name);
    const count = tensor.shape[1] as number;
    state.heads[place] = (((headAt(place) + step) % count) + count) % count;
    headChanged(place);
  }
  remember();
}
export function moveLayer(step: 1 | -1): void {
  const view = currentView();
  if (view.moveLayer) return view.moveLayer(step);
  if (!hasRun()) return;
  const other = chosenPlace().replace(/\.(\d+)\./, (_, layer) => `.${Number(layer) + step}.`);
  if (!run().attentionAt(other)) return;
  state.place = other;
  headChanged(other);
  remember();
}

// `step`: one can come back to what was before with the browser's own key.
export function remember(step = false): void {
  const chosen = addressOf();
  currentView().remember?.(chosen);
  const hash = `#${chosen}`;
  if (hash === location.hash) return;
  if (step) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}
// What the address says becomes the state; the view's own part too.
export function recall(place: string): URLSearchParams {
  const chosen = new URLSearchParams(location.hash.slice(1) || place);
  recallState(chosen, { languages: languages(), panels: viewNames() });
  currentView().recall?.(chosen);
  return chosen;
}

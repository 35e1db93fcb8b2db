// The bar of every page: what is looked at, panels, languages, light or dark, keys.
import { source } from "../api/source";
import { button, choice, drawing, element, fill, type Child } from "../draw/element";
import { state } from "../state/state";
import { languages, nameOfLanguage, text } from "../texts/words";
import { hasRun, runs } from "../trace/document";
import { chooseLanguage, chooseRun, chooseTheme, choosePanel, currentView, isDark, tabViews } from "./page";
import { exportMenu } from "./export";
import { showHelp } from "./help";

let extra: () => Child = () => undefined;
// What a page adds at the end.
export function addToBar(make: () => Child): void { extra = make; }
let besidePanels: () => Child = () => undefined;
// What a page has below its panels, made once.
export function addToPanels(make: () => Child): void { besidePanels = make; }

export function drawBar(): void {
  const mark = drawing("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" },
    drawing("path", { d: "M3 12 L21 4 V20 Z", fill: "rgb(var(--beam) / .55)" }), drawing("circle", { cx: 5, cy: 12, r: 4, fill: "rgb(var(--text))" }));
  const bar = document.getElementById("bar") as HTMLElement;
  const focused = document.activeElement?.closest("#bar") ? document.activeElement : null;
  const held = ["data-key", "data-panel"].map((name) => [name, focused?.getAttribute(name)]).find(([, value]) => value);
  fill(bar,
    source.isServer ? element("a", { class: "brand", href: "#panel=start", click: (event: Event) => { event.preventDefault(); choosePanel("start"); } }, mark, "Headlight") : element("span", { class: "brand" }, mark, "Headlight"),
    tabs(), !source.isServer && runsChoice(),
    choice(text("page.language"), languages().map((lang) => ({ label: lang.toUpperCase(), title: nameOfLanguage(lang), value: lang })), state.lang, chooseLanguage),
    button(isDark() ? "☀" : "☾", { class: "round", title: text("page.theme"), "aria-label": text("page.theme"), click: chooseTheme }),
    extra(), exportMenu(), button("?", { class: "round", title: text("page.help"), "aria-label": text("page.help"), click: showHelp }));
  if (held) bar.querySelector<HTMLElement>(`[${held[0]}="${held[1]}"]`)?.focus({ preventScroll: true });
  drawPanels();
}

function runsChoice(): Child {
  return runs.length > 1 && choice(text("page.numbers"), runs.map((one, i) => ({ label: text(one.key), value: i })), state.run, chooseRun);
}

function tabs(): Child {
  const listed = tabViews();
  return listed.length > 1 && element("nav", { class: "tabs", "aria-label": text("studio.panels") }, listed.map((view) => element("button", { type: "button", class: "tab", "data-panel": view.name,
    "aria-current": view.name === currentView().name ? "page" : undefined, disabled: view.needs === "run" && !hasRun(), click: () => choosePanel(view.name) }, text(`studio.panel.${view.name}`))));
}

// What all panels are about: the model and the sentence, and which run of them.
function drawPanels(): void {
  const holder = document.getElementById("panels") as HTMLElement;
  holder.hidden = !source.isServer;
  if (holder.hidden) return;
  const numbers = holder.querySelector(".numbers") ?? element("div", { class: "numbers" });
  fill(numbers, runsChoice());
  if (!numbers.isConnected) fill(holder, besidePanels(), numbers);
}

// Beside the view: the list of what it has, and the small diagram of the whole model.
import { element, fill, type Words } from "../draw/element";
import { data, hasRun } from "../trace/document";
import { diagram, markPlaces } from "./diagram";
import { currentView, walk } from "./page";

export type SideEntry = [id: string, number: string, title: Words];

let entriesOf: Record<string, () => SideEntry[]> = {};
// What is listed, by view.
export function setEntries(lists: Record<string, () => SideEntry[]>): void { entriesOf = lists; }

export function drawSide(): void {
  const panel = currentView().name;
  const entries = entriesOf[panel]?.() ?? [];
  const steps = document.getElementById("steps") as HTMLElement;
  fill(steps, entries.map(([id, number, title]) =>
    element("a", { href: `#${id}`, "data-to": id, click: (event: Event) => { event.preventDefault(); showCard(id); } }, element("span", { class: "number" }, number), title)));
  steps.hidden = entries.length === 0;
  const here = document.getElementById("here") as HTMLElement;
  const isModel = hasRun() && !data.lesson && !data.report && panel !== "start" && panel !== "lesson";
  here.hidden = !isModel;
  fill(here, isModel && diagram());
}
export function showCard(id: string, behavior: ScrollBehavior = "auto"): void { document.getElementById(id)?.scrollIntoView({ behavior }); }

let observer: IntersectionObserver | undefined;
// The card that is read is marked in the list.
export function watchCards(): void {
  observer?.disconnect();
  observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of document.querySelectorAll<HTMLElement>("#steps a")) {
        if (link.dataset.to === entry.target.id) link.setAttribute("aria-current", "step");
        else link.removeAttribute("aria-current");
      }
      markHere();
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const one of walk.querySelectorAll(".card[id]")) observer.observe(one);
}
// "You are here" in the diagram.
export function markHere(): void { markPlaces(document.querySelector<HTMLElement>("#steps a[aria-current]")?.dataset.to); }

export function moveCard(step: 1 | -1): void {
  const cards = [...walk.querySelectorAll<HTMLElement>(".card")];
  const at = cards.findIndex((one) => one.getBoundingClientRect().bottom > 120);
  const next = cards[Math.min(cards.length - 1, Math.max(0, at + step))];
  next?.scrollIntoView();
  next?.focus({ preventScroll: true });
}

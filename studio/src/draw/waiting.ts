// The place of something that is fetched when it comes near the screen, and then stands there instead.
import { element, fill, present, type Child } from "./element";

const loaders = new WeakMap<Element, () => void>();
const followers = new WeakMap<Element, () => void>();
const watched = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    watched.unobserve(target);
    loaders.get(target)?.();
  }
}, { rootMargin: "400px" });

// `rows` of room are kept free meanwhile.
export function waitingFor(load: () => Promise<void>, draw: () => Child, rows = 4): HTMLElement {
  const made = element("div", { class: "waiting", "aria-busy": "true", style: { "--rows": String(Math.min(rows, 24)) } });
  loaders.set(made, () => {
    load().then(() => {
      if (!made.isConnected) return;
      made.replaceWith(...present([draw()]));
      followers.get(made)?.();
    }, (error) => { made.removeAttribute("aria-busy"); fill(made, String(error.message)); });
  });
  watched.observe(made);
  return made;
}
// What is to be done when that stands there.
export function whenDrawn(made: Element, call: () => void): void { followers.set(made, call); }

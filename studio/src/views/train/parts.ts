// What the parts of this panel have in common: what is chosen, and places that are filled again only when that is needed.
import { fill, type Child } from "../../draw/element";
import type { FilmChoice } from "./film";

export type What = "loss" | "learning_rate" | "gradient_norm";
export const whats: What[] = ["loss", "learning_rate", "gradient_norm"];
export const chosen: FilmChoice = {};
export const drawn = { what: "loss" as What, isLogarithmic: false };

export function at(id: string): HTMLElement | null { return document.getElementById(id); }

// Buttons are made again only when others are there, so that a click meets what it was meant for; who had the focus keeps it.
export function fillWhenChanged(id: string, key: string, content: () => Child): void {
  const holder = at(id) as HTMLElement;
  if (holder.dataset.key === key) return;
  holder.dataset.key = key;
  const active = document.activeElement as HTMLElement | null;
  const held = active && holder.contains(active) ? active.dataset.does ?? "" : undefined;
  fill(holder, content());
  if (held !== undefined) (holder.querySelector<HTMLElement>(`[data-does="${held}"]`) ?? holder.querySelector<HTMLElement>("button"))?.focus({ preventScroll: true });
}


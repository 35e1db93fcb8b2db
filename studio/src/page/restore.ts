// What a link says of the run that is open, and of the view.
import { recallInRun } from "../state/address";
import { hasRun } from "../trace/document";
import { cellOf } from "../trace/views";
import { askWhy, goTo, showCell } from "../views/why";
import { redraw } from "./page";
import { showCard } from "./side";

export function restore(chosen: URLSearchParams): void {
  recallInRun(chosen);
  redraw();
  const written = chosen.get("cell");
  const cell = written !== null && hasRun() ? cellOf(written) : undefined;
  if (cell) {
    askWhy(cell);
    showCell(cell);
  }
  const tensor = chosen.get("tensor");
  if (tensor !== null) goTo(tensor, "instant");
  const at = chosen.get("at");
  if (at !== null) showCard(at, "instant");
}

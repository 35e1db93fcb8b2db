// A sum of products, watched: the two numbers light up where they stand, and meet in the running sum.
import type { Tensor } from "../api/types";
import { button, type Child } from "../draw/element";
import type { Cell } from "../state/state";
import { text } from "../texts/words";
import { run } from "../trace/document";
import { offsetOf } from "../trace/run";
import type { Term } from "../trace/terms";

const stepTime = 550;  // milliseconds
let watching = 0;      // counts, so that an older one stops

export function watchButton(terms: Term[], table: HTMLElement): Child {
  if (terms.length < 2 || !terms.every((term) => term.factors.length === 2)) return undefined;
  return button(text("studio.watch"), { class: "plain watch", click: () => void watch(terms, table) });
}

async function watch(terms: Term[], table: HTMLElement): Promise<void> {
  const own = ++watching;
  const rows = [...table.querySelectorAll("tr")].slice(1);
  for (const [i, term] of terms.entries()) {
    const row = rows[i];
    if (!row?.isConnected || own !== watching) break;
    const lit = [row, ...term.factors.flatMap((factor) => cellsOf(factor.cell))];
    for (const one of lit) one.classList.add("now");
    row.scrollIntoView({ block: "nearest" });
    await new Promise((done) => setTimeout(done, stepTime));
    for (const one of lit) one.classList.remove("now");
  }
}
function cellsOf(cell: Cell): Element[] {
  const offset = offsetOf(run().find(cell.name) as Tensor, cell.index);
  return [...document.querySelectorAll(`main table[data-name="${CSS.escape(cell.name)}"] td[data-o="${offset}"]`)];
}

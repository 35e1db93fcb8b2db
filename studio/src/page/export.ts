// The menu of files to keep: the page, the numbers, and the head that is looked at as a table or a picture.
import { hasKey } from "../api/access";
import { source } from "../api/source";
import { button, element, type Child } from "../draw/element";
import { csvOf, keep, pngOf, svgOf, type KeptMatrix } from "../draw/files";
import { state } from "../state/state";
import { text } from "../texts/words";
import { data, hasRun, run } from "../trace/document";
import { chosenHead, chosenPlace, headAt, headNumber } from "../trace/heads";

const mostKept = 512;  // rows and columns of a picture

export function exportMenu(): Child {
  if (!hasRun() || data.lesson || data.report || run().attentions().length === 0) return undefined;
  const link = (form: "html" | "safetensors", query: Record<string, string> = {}) => {
    const address = source.exportAddress(form, query);
    return address !== undefined && element("a", { href: address, download: "", "data-form": form, click: (event: Event) => { if (hasKey()) { event.preventDefault(); void keepFile(address, form); } } }, text(`studio.export.${form}`));
  };
  const made = element("details", { class: "export" }, element("summary", { class: "plain" }, text("studio.export")), element("div", { class: "menu" },
    link("html", { lang: state.lang }), link("safetensors"), element("small", {}, text("studio.export.head"), " ", element("code", {}, chosenHead())),
    (["csv", "svg", "png"] as const).map((form) => button(form.toUpperCase(), { "data-form": form, click: () => { made.open = false; void keepHead(form); } }))));
  return made;
}

// A link cannot carry a key.
async function keepFile(address: string, form: string): Promise<void> { keep(`${data.id}.${form}`, await source.file(address)); }

async function headMatrix(): Promise<KeptMatrix> {
  const place = chosenPlace();
  const tensor = run().attentionAt(place);
  if (!tensor) throw new Error("no attention");
  const tile = await source.tile({ name: tensor.name, head: headNumber(tensor, headAt(place)), most: mostKept });
  return { name: chosenHead(), rows: tile.height, columns: tile.width, values: tile.max, ink: "a", largest: 1,
    rowLabels: run().labels(tensor.axes[2]).filter((_, i) => i % tile.rowStep === 0), columnLabels: run().labels(tensor.axes[3]).filter((_, i) => i % tile.columnStep === 0) };
}
async function keepHead(form: "csv" | "svg" | "png"): Promise<void> {
  const matrix = await headMatrix();
  const content = form === "csv" ? new Blob([csvOf(matrix)], { type: "text/csv" }) : form === "svg" ? new Blob([svgOf(matrix)], { type: "image/svg+xml" }) : await pngOf(matrix);
  if (content) keep(`${matrix.name}.${form}`, content);
}

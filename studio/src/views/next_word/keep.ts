// What was written as files to keep: the words with their alternatives as a table, and where a head looked while they were written.
import { button, element, type Child } from "../../draw/element";
import { csvOf, keep, pngOf, svgOf, type KeptMatrix } from "../../draw/files";
import { text } from "../../texts/words";
import { attentionOverTime } from "./step";
import type { Writing } from "./writing";

const quoted = (words: string) => (/[",\n]/.test(words) ? `"${words.replace(/"/g, '""')}"` : words);

export function wordsCsv(writing: Writing): string {
  const best = Math.max(0, ...writing.tokens.map((token) => token.best.length));
  const heading = ["position", "id", "token", "probability", "log_probability", ...Array.from({ length: best }, (_, i) => [`word_${i + 1}`, `probability_${i + 1}`]).flat()];
  const lines = writing.tokens.map((token) => [token.position, token.id, quoted(token.token), token.probability, token.log_probability, ...token.best.flatMap((word) => [quoted(word.token), word.probability])].join(","));
  return `${[heading.join(","), ...lines].join("\n")}\n`;
}

export function keepButtons(writing: Writing, place: () => string | undefined, head: () => string): Child {
  const matrix = (): KeptMatrix | undefined => {
    const at = place();
    const made = at !== undefined && writing.start ? attentionOverTime(at, head(), writing.tokens, writing.start) : undefined;
    return made && { name: head(), rowLabels: made.rows, columnLabels: made.columns, rows: made.rows.length, columns: made.columns.length, values: made.weights, ink: "a", largest: 1 };
  };
  const keepAttention = async (form: "csv" | "svg" | "png") => {
    const made = matrix();
    if (!made) return;
    const content = form === "csv" ? new Blob([csvOf(made)], { type: "text/csv" }) : form === "svg" ? new Blob([svgOf(made)], { type: "image/svg+xml" }) : await pngOf(made);
    if (content) keep(`${made.name}.${form}`, content);
  };
  return element("p", { class: "keep" }, element("span", {}, text("studio.export"), ": "), text("studio.next_word.written"), " ",
    button("CSV", { "data-keep": "words", click: () => keep("words.csv", new Blob([wordsCsv(writing)], { type: "text/csv" })) }),
    place() !== undefined && [" · ", text("studio.next_word.attention"), " ", (["csv", "svg", "png"] as const).map((form) => button(form.toUpperCase(), { "data-keep": form, click: () => void keepAttention(form) }))]);
}

// Pictures and tables to keep: the matrix that is looked at as CSV, SVG or PNG.
import { colour } from "./colour";

export interface KeptMatrix { name: string; rowLabels: string[]; columnLabels: string[]; rows: number; columns: number; values: ArrayLike<number>; ink: string; largest: number }

const strengthOf = (matrix: KeptMatrix, value: number) => (Number.isFinite(value) ? Math.min(1, Math.abs(value) / (matrix.largest || 1)) : 0);

// Labels in the first row and column; numbers with all digits of a float32, and the point as decimal sign.
export function csvOf(matrix: KeptMatrix): string {
  const quoted = (label: string) => (/[",\n]/.test(label) ? `"${label.replace(/"/g, '""')}"` : label);
  const label = (labels: string[], i: number) => quoted(labels[i] ?? String(i));
  const digits = (value: number) => (Number.isFinite(value) ? String(Number(value.toPrecision(9))) : value < 0 ? "-inf" : Number.isNaN(value) ? "nan" : "inf");
  const lines = [["", ...Array.from({ length: matrix.columns }, (_, c) => label(matrix.columnLabels, c))].join(",")];
  for (let r = 0; r < matrix.rows; ++r) lines.push([label(matrix.rowLabels, r), ...Array.from({ length: matrix.columns }, (_, c) => digits(matrix.values[r * matrix.columns + c] as number))].join(","));
  return `${lines.join("\n")}\n`;
}

const [side, left, top] = [22, 110, 100];
export function svgOf(matrix: KeptMatrix): string {
  const escaped = (words: string) => words.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const ink = colour(matrix.ink).join(",");
  const parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${left + side * matrix.columns + 10}" height="${top + side * matrix.rows + 10}" font-family="sans-serif" font-size="11">`, `<title>${escaped(matrix.name)}</title>`];
  for (let c = 0; c < matrix.columns; ++c) parts.push(`<text transform="translate(${left + side * (c + 0.65)} ${top - 5}) rotate(-90)">${escaped(matrix.columnLabels[c] ?? String(c))}</text>`);
  for (let r = 0; r < matrix.rows; ++r) {
    parts.push(`<text x="${left - 5}" y="${top + side * (r + 0.68)}" text-anchor="end">${escaped(matrix.rowLabels[r] ?? String(r))}</text>`);
    for (let c = 0; c < matrix.columns; ++c) {
      const value = matrix.values[r * matrix.columns + c] as number;
      parts.push(`<rect x="${left + side * c}" y="${top + side * r}" width="${side - 1}" height="${side - 1}" fill="rgb(${ink})" fill-opacity="${(0.03 + 0.97 * strengthOf(matrix, value)).toFixed(3)}"><title>${Number(value.toPrecision(7))}</title></rect>`);
    }
  }
  return `${parts.join("")}</svg>\n`;
}
export function pngOf(matrix: KeptMatrix): Promise<Blob | null> {
  const made = document.createElement("canvas");
  [made.width, made.height] = [2 * (left + side * matrix.columns + 10), 2 * (top + side * matrix.rows + 10)];
  const context = made.getContext("2d") as CanvasRenderingContext2D;
  context.scale(2, 2);
  context.fillStyle = "white";
  context.fillRect(0, 0, made.width, made.height);
  context.font = "11px sans-serif";
  for (let r = 0; r < matrix.rows; ++r) {
    for (let c = 0; c < matrix.columns; ++c) {
      context.fillStyle = `rgb(${colour(matrix.ink).join(" ")} / ${0.03 + 0.97 * strengthOf(matrix, matrix.values[r * matrix.columns + c] as number)})`;
      context.fillRect(left + side * c, top + side * r, side - 1, side - 1);
    }
  }
  context.fillStyle = "black";
  context.textAlign = "right";
  for (let r = 0; r < matrix.rows; ++r) context.fillText(matrix.rowLabels[r] ?? String(r), left - 5, top + side * (r + 0.68));
  context.textAlign = "left";
  for (let c = 0; c < matrix.columns; ++c) {
    context.save();
    context.translate(left + side * (c + 0.65), top - 5);
    context.rotate(-Math.PI / 2);
    context.fillText(matrix.columnLabels[c] ?? String(c), 0, 0);
    context.restore();
  }
  return new Promise((done) => made.toBlob(done));
}

export function keep(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The document inside an offline page as a source: what a server would pool or sort is computed here, from the same numbers.
import { run } from "../trace/document";
import { headIndex, headNumber } from "../trace/heads";
import { placeOf } from "../trace/run";
import { matrixOf } from "../trace/views";
import { ApiError, type CellAnswer, type EdgesAnswer, type HeadsAnswer, type MappedHead, type Source, type Tile, type TileRequest } from "./source";
import type { Tensor } from "./types";

function refused(): never { throw new ApiError("this page has no server", 404); }

export class Document implements Source {
  readonly isServer = false;

  async tensors() { return new Map(); }

  async tile(request: TileRequest): Promise<Tile> {
    const tensor = run().find(request.name) as Tensor;
    const view = matrixOf(tensor, { head: request.head === undefined ? undefined : headIndex(tensor, request.head) });
    return pooled((r, c) => run().valueOf(tensor, view.index(r, c)) ?? NaN, request.rows ?? [0, view.rows], request.columns ?? [0, view.columns], request.most);
  }

  async cell(): Promise<CellAnswer> { return refused(); }

  async edges({ name, head, mass, limit, rows, skipFirst }: { name: string; head: number; mass: number; limit: number; rows?: number[]; skipFirst?: boolean }): Promise<EdgesAnswer> {
    const tensor = run().find(name) as Tensor;
    const [, , queries = 0, keys = 0] = tensor.shape;
    const looking = rows ?? Array.from({ length: queries }, (_, i) => i);
    const all: [number, number, number][] = [];
    for (const i of looking) {
      for (let j = skipFirst ? 1 : 0; j < keys; ++j) {
        const weight = run().valueOf(tensor, [0, headIndex(tensor, head), i, j]) ?? 0;
        if (weight > 0) all.push([i, j, weight]);
      }
    }
    all.sort((a, b) => b[2] - a[2] || a[0] - b[0] || a[1] - b[1]);
    const total = all.reduce((sum, edge) => sum + edge[2], 0);
    let needed = 0;
    for (let sum = 0; needed < all.length && sum < mass * total; ++needed) sum += (all[needed] as [number, number, number])[2];
    const edges = all.slice(0, Math.min(needed, limit));
    return { name, rows: looking.length, mass, reached: total > 0 ? edges.reduce((sum, edge) => sum + edge[2], 0) / total : 1, total: looking.length * keys, needed, edges };
  }

  async heads({ size = 24 } = {}): Promise<HeadsAnswer> {
    const places = run().attentions().map((tensor) => {
      const [stack = "", layer = "0", kind = ""] = tensor.name.split(".");
      return { tensor, name: placeOf(tensor.name), stack, layer: Number(layer), kind, heads: tensor.shape[1] as number, queries: tensor.shape[2] as number, keys: tensor.shape[3] as number };
    });
    const heads = places.flatMap((place) => Array.from({ length: place.heads }, (_, index) => mapped(place, index, size)).filter((one): one is MappedHead => one !== undefined));
    const own = heads.filter((one) => one.kind === "self");
    return { heads, places: places.map(({ tensor: _, ...rest }) => rest),
      sink: { share: own.reduce((sum, one) => sum + one.first_share, 0) / Math.max(1, own.length), heads: own.filter((one) => one.first_share >= 0.5).length } };
  }
  exportAddress(): undefined { return undefined; }

  models = refused; texts = refused; trace = refused; lessons = refused; lesson = refused; numbers = refused; ask = refused; pushes = refused; stream = refused; file = refused;
}

interface OwnPlace { tensor: Tensor; name: string; stack: string; layer: number; kind: string; heads: number; queries: number; keys: number }
function mapped(place: OwnPlace, index: number, size: number): MappedHead | undefined {
  const { tensor, name, queries, keys } = place;
  const number = headNumber(tensor, index);
  const measured = run().heads.find((one) => one.place === name && one.head === number);
  const weight = (i: number, j: number) => run().valueOf(tensor, [0, index, i, j]) ?? NaN;
  if (!measured || Number.isNaN(weight(0, 0))) return undefined;
  let [first, rows] = [0, 0];
  for (let i = 0; i < queries; ++i) {
    const sees = Array.from({ length: keys }, (_, j) => weight(i, j)).filter((one) => one > 0).length;
    if (sees > 1) { first += weight(i, 0); ++rows; }
  }
  const tile = pooled(weight, [0, queries], [0, keys], size);
  return { ...measured, stack: place.stack, layer: place.layer, kind: place.kind, index, first_share: rows > 0 ? first / rows : 0, importance: null, induction: null, duplicate: null,
    thumbnail: { rows: tile.height, cols: tile.width, row_step: tile.rowStep, col_step: tile.columnStep, values: tile.max } };
}

// At most `most` rows and columns: the largest number and the mean of each block; what is hidden does not count where there is anything else.
export function pooled(value: (r: number, c: number) => number, rows: [number, number], columns: [number, number], most: number): Tile {
  const [rowStep, columnStep] = [Math.max(1, Math.ceil((rows[1] - rows[0]) / most)), Math.max(1, Math.ceil((columns[1] - columns[0]) / most))];
  const [height, width] = [Math.ceil((rows[1] - rows[0]) / rowStep), Math.ceil((columns[1] - columns[0]) / columnStep)];
  const [max, mean] = [new Float32Array(height * width), new Float32Array(height * width)];
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      let [largest, sum, count] = [-Infinity, 0, 0];
      for (let r = rows[0] + y * rowStep; r < Math.min(rows[1], rows[0] + (y + 1) * rowStep); ++r) {
        for (let c = columns[0] + x * columnStep; c < Math.min(columns[1], columns[0] + (x + 1) * columnStep); ++c) {
          const one = value(r, c);
          if (one === -Infinity) continue;
          largest = Math.max(largest, one);
          sum += one;
          ++count;
        }
      }
      max[y * width + x] = largest;
      mean[y * width + x] = count > 0 ? sum / count : -Infinity;
    }
  }
  return { rows, columns, rowStep, columnStep, height, width, max, mean };
}

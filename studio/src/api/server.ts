// The server's API: the only place that sends requests.
import { data } from "../trace/document";
import { state } from "../state/state";
import { endOf, placeOf } from "../trace/run";
import { accessHeaders, askForKey } from "./access";
import { readSafetensors } from "./safetensors";
import { ApiError, type CellAnswer, type EdgesAnswer, type HeadsAnswer, type HeadsRequest, type Lesson, type ModelsAnswer, type PushesAnswer, type ServerEvent, type Source, type TextsAnswer, type Tile, type TileRequest, type TraceRequest } from "./source";
import type { PageDocument } from "./types";

type Query = Record<string, string | number | undefined>;
function addressOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined).map(([key, value]) => [key, String(value)]);
  return given.length > 0 ? `${path}?${new URLSearchParams(given as string[][])}` : path;
}

async function send(method: string, address: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const written: RequestInit = body === undefined ? {} : body instanceof Blob ? { headers: { "Content-Type": "application/octet-stream" }, body } : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const access = accessHeaders();
  const answer = await fetch(address, { method, signal, ...written, headers: { ...written.headers, ...access } });
  if (answer.ok) return answer;
  if (answer.status === 401) {
    await askForKey(access.Authorization);
    return send(method, address, body, signal);
  }
  const told = await answer.json().catch(() => undefined);
  throw new ApiError(told?.error?.message ?? `${answer.status} ${answer.statusText}`, answer.status, told?.error?.param);
}
async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> { return (await send("GET", addressOf(path, query), undefined, signal)).json(); }

const namesAtOnce = 128;  // the server takes 256; addresses stay short

export class Server implements Source {
  readonly isServer = true;
  private readonly requests = new Map<string, TraceRequest>();  // by the id of the trace that came of it

  // Of the trace that is open. A server keeps only so many: one that has left is asked for again, and has the same numbers.
  private async ofTrace(rest: string, query: Query): Promise<Response> {
    const id = data.id as string;
    try {
      return await send("GET", addressOf(`/api/trace/${id}${rest}`, query));
    } catch (error) {
      const request = this.requests.get(id);
      if (!(error instanceof ApiError) || error.status !== 404 || !request) throw error;
      const again = await this.trace(request);
      if (data.id === id) data.id = again.id;
      return send("GET", addressOf(`/api/trace/${again.id}${rest}`, query));
    }
  }

  async tensors(names: string[]) {
    const found = new Map<string, { shape: number[]; values: Float32Array | Float64Array }>();
    for (let from = 0; from < names.length; from += namesAtOnce) {
      const answer = await this.ofTrace("/tensors", { names: names.slice(from, from + namesAtOnce).join(","), run: state.run });
      for (const [name, one] of readSafetensors(await answer.arrayBuffer()).tensors) found.set(name, one);
    }
    return found;
  }

  async tile({ name, head, rows, columns, most }: TileRequest): Promise<Tile> {
    const full = head === undefined ? name : `${placeOf(name)}.head.${head}.${endOf(name)}`;
    const answer = await this.ofTrace("/tensors", { names: full, run: state.run, rows: rows?.join(":"), cols: columns?.join(":"), pool: `${most}x${most}` });
    const { tensors, metadata } = readSafetensors(await answer.arrayBuffer());
    const part = JSON.parse(metadata.tiles ?? "{}")[full];
    const max = tensors.get(full) ?? tensors.get(`${full}:max`);
    if (!max) throw new ApiError(`${full} is not in the answer`, 500);
    const [height = 1, width = 1] = max.shape.slice(-2);
    return { rows: part?.rows ?? rows ?? [0, height], columns: part?.cols ?? columns ?? [0, width], rowStep: part?.row_step ?? 1, columnStep: part?.col_step ?? 1,
      height, width, max: max.values as Float32Array, mean: (tensors.get(`${full}:mean`) ?? max).values as Float32Array };
  }

  async numbers(trace: string, run: number, name: string, rows?: [number, number], columns?: [number, number]) {
    const answer = await send("GET", addressOf(`/api/trace/${trace}/tensors`, { names: name, run, rows: rows?.join(":"), cols: columns?.join(":") }));
    const found = readSafetensors(await answer.arrayBuffer()).tensors.get(name);
    if (!found) throw new ApiError(`${name} is not in the answer`, 500);
    return found;
  }

  async cell(cell: string): Promise<CellAnswer> { return (await this.ofTrace("/cell", { cell, run: state.run })).json(); }
  async edges(request: { name: string; head: number; mass: number; limit: number; rows?: number[]; skipFirst?: boolean }): Promise<EdgesAnswer> {
    const name = `${placeOf(request.name)}.head.${request.head}.${endOf(request.name)}`;
    return (await this.ofTrace("/edges", { name, mass: request.mass, limit: request.limit, rows: request.rows?.join(","), skip_first: request.skipFirst ? 1 : undefined, run: state.run })).json();
  }
  async heads(request: HeadsRequest = {}): Promise<HeadsAnswer> {
    return (await this.ofTrace("/heads", { size: request.size, behaviour: request.behaviour ? 1 : undefined, importance: request.importance ? 1 : undefined, run: state.run })).json();
  }
  async pushes(request: { head: string; at: number; best: number }): Promise<PushesAnswer> { return (await this.ofTrace("/pushes", { ...request, run: state.run })).json(); }
  exportAddress(form: string, query: Record<string, string> = {}): string { return addressOf(`/api/export/${data.id}.${form}`, { run: state.run, ...query }); }

  async file(address: string): Promise<Blob> { return (await send("GET", address)).blob(); }

  models(): Promise<ModelsAnswer> { return get("/api/models"); }
  texts(lang: string): Promise<TextsAnswer> { return get("/api/texts", { lang }); }
  async trace(request: TraceRequest, signal?: AbortSignal): Promise<PageDocument> {
    const document: PageDocument = await (await send("POST", "/api/trace", request, signal)).json();
    if (document.id !== undefined) this.requests.set(document.id, request);
    return document;
  }
  async lessons(lang: string): Promise<Lesson[]> { return (await get<{ lessons: Lesson[] }>("/api/lessons", { lang })).lessons; }
  lesson(name: string): Promise<PageDocument> { return get(`/api/lessons/${name}`, { lang: state.lang }); }

  async ask<T>(method: "GET" | "POST" | "DELETE", path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const answer = await send(method, path, body, signal);
    return answer.status === 204 ? (undefined as T) : answer.json();
  }
  async stream(method: "GET" | "POST", path: string, body: unknown, take: (event: ServerEvent) => void, signal?: AbortSignal): Promise<void> {
    const answer = await send(method, path, body ?? undefined, signal);
    const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream() as any).getReader() as ReadableStreamDefaultReader<string>;
    let held = "";
    for (;;) {
      const { done, value } = await reader.read();
      held += value ?? "";
      const blocks = held.split(/\r?\n\r?\n/);
      held = done ? "" : (blocks.pop() as string);
      for (const block of blocks) {
        const event = eventOf(block);
        if (event) take(event);
      }
      if (done) return;
    }
  }
}

// One block of a stream of server-sent events; comments and blocks without data are none.
export function eventOf(block: string): ServerEvent | undefined {
  const made = { event: "message", id: undefined as string | undefined, lines: [] as string[] };
  for (const line of block.split(/\r?\n/)) {
    const [, field, value = ""] = /^(\w+)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === "event") made.event = value;
    else if (field === "id") made.id = value;
    else if (field === "data") made.lines.push(value);
  }
  return made.lines.length > 0 ? { event: made.event, id: made.id, data: JSON.parse(made.lines.join("\n")) } : undefined;
}

// A stand-in for `headlight serve` while the page is worked on: answers /api from what the command line prints. HEADLIGHT_PROGRAM=… node mock_server.mjs [PORT]
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { compared, predicted } from "./mock_words.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const program = process.env.HEADLIGHT_PROGRAM ?? `${root}build/release/apps/cli/headlight`;
const run = (words) => execFileSync(program, words, { maxBuffer: 2 ** 30, stdio: ["ignore", "pipe", "pipe"] }).toString();
const documentOf = (page) => {
  const mark = '<script type="application/json" id="data">';
  const begin = page.indexOf(mark) + mark.length;
  return JSON.parse(page.slice(begin, page.indexOf("</script>", begin)));
};

const types = { "/": ["studio.html", "text/html"], "/studio.js": ["studio.js", "text/javascript"], "/studio.css": ["studio.css", "text/css"], "/icon.svg": ["icon.svg", "image/svg+xml"] };
const traces = new Map();
let made_traces = 0;
const models = ["worked", "numbers", "stories", "masks"];

function textsOf(language) {
  const texts = {};
  for (const name of [language, "formulas"]) {
    let last;
    for (const line of readFileSync(`${root}headlight/narrate/catalogue/${name}.txt`, "utf8").split("\n")) {
      if (line.startsWith("  ") && last) texts[last] += ` ${line.trim()}`;
      else if (!line.startsWith("#") && line.includes(" = ")) texts[(last = line.slice(0, line.indexOf(" = ")))] = line.slice(line.indexOf(" = ") + 3);
    }
  }
  return texts;
}

function safetensors(tensors, metadata = {}) {
  const header = { __metadata__: metadata };
  let at = 0;
  for (const [name, { shape, values }] of tensors) header[name] = { dtype: "F32", shape, data_offsets: [at, (at += values.length * 4)] };
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...[...tensors.values()].map(({ values }) => Buffer.from(values.buffer, values.byteOffset, values.byteLength))]);
}

const floatsOf = (written) => (Array.isArray(written) ? Float32Array.from(written) : new Float32Array(Uint8Array.from(Buffer.from(written, "base64")).buffer));
function tensorOf(one, name) {
  const headed = /^(.*)\.head\.(\d+)\.(\w+)$/.exec(name);
  const whole = headed ? `${headed[1]}.${headed[3]}` : name;
  const gradient = /^gradient\.(.*)$/.exec(whole)?.[1];
  let tensor = [...one.tensors, ...one.parameters].find((candidate) => candidate.name === (gradient ?? (whole === "error" ? "logits" : whole)));
  if (!tensor) return undefined;
  let source = tensor;
  while (source.same_as) source = one.tensors.find((candidate) => candidate.name === source.same_as);
  const written = gradient ? one.backward?.gradient_values[gradient] : whole === "error" ? one.backward?.error : one.values[source.name];
  if (written === undefined) return undefined;
  const values = floatsOf(written);
  if (!headed) return { shape: tensor.shape, values };
  const index = tensor.head_numbers ? tensor.head_numbers.indexOf(Number(headed[2])) : Number(headed[2]);
  const size = tensor.shape.slice(2).reduce((a, b) => a * b, 1);
  return { shape: [1, ...tensor.shape.slice(2)], values: values.slice(index * size, (index + 1) * size) };
}
function pooled({ shape, values }, rows, cols, most) {
  const [height, width] = shape.slice(-2);
  const [r0, r1] = rows ?? [0, height];
  const [c0, c1] = cols ?? [0, width];
  const [rs, cs] = [Math.ceil((r1 - r0) / most), Math.ceil((c1 - c0) / most)];
  const [h, w] = [Math.ceil((r1 - r0) / rs), Math.ceil((c1 - c0) / cs)];
  const [max, mean] = [new Float32Array(h * w).fill(-Infinity), new Float32Array(h * w)];
  for (let r = r0; r < r1; ++r) for (let c = c0; c < c1; ++c) {
    const at = Math.floor((r - r0) / rs) * w + Math.floor((c - c0) / cs);
    max[at] = Math.max(max[at], values[r * width + c]);
    mean[at] += values[r * width + c] / (rs * cs);
  }
  return { max, mean, shape: [h, w], rows: [r0, r1], cols: [c0, c1], row_step: rs, col_step: cs };
}
const range = (written) => written?.split(":").map(Number);

function readDump(bytes) {
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length));
  return new Map(Object.entries(header).filter(([name]) => name !== "__metadata__").map(([name, { shape, data_offsets: [begin, end] }]) =>
    [name, { shape, values: new Float32Array(Uint8Array.from(bytes.subarray(8 + length + begin, 8 + length + end)).buffer) }]));
}

function headsOf(one, size) {
  const heads = [];
  const places = [];
  for (const tensor of one.tensors.filter((candidate) => candidate.attention && !candidate.variant)) {
    const place = tensor.name.replace(/\.\w+$/, "");
    const [stack, layer, kind] = place.split(".");
    const [, count, queries, keys] = tensor.shape;
    places.push({ name: place, stack, layer: Number(layer), kind, heads: count, queries, keys });
    for (let index = 0; index < count; ++index) {
      const measured = one.heads.find((head) => head.place === place && head.head === index);
      const { max, shape, row_step, col_step } = pooled(tensorOf(one, `${place}.head.${index}.${tensor.name.slice(place.length + 1)}`), undefined, undefined, size);
      heads.push({ ...measured, stack, layer: Number(layer), kind, index, first_share: 0.1, importance: null, induction: null, duplicate: null,
        thumbnail: { rows: shape[0], cols: shape[1], row_step, col_step, values: Buffer.from(max.buffer).toString("base64") } });
    }
  }
  return { heads, places, sink: { share: 0.1, heads: 0 } };
}

function answer(method, url, body) {
  const query = Object.fromEntries(url.searchParams);
  if (url.pathname === "/api/models") {
    return { version: "mock", models: models.map((id) => ({ id, source: "embedded", type: "", purpose: null, can: { predicts: true, embeds: false, fills_masks: id === "masks", translates: ["worked", "numbers"].includes(id), continues_prompt: !["worked", "numbers", "masks"].includes(id) }, tokenizer: { mask: id === "masks" ? "[MASK]" : null },
      reference: id === "numbers" ? { file: "reference.safetensors", compared: 40, largest_difference: 3e-6, relative: 2e-7 } : null,
      example: { numbers: "forty-two", stories: "Anna has two", masks: "Anna [MASK] two [MASK]" }[id] ?? null })),
    worked: { sentences: [{ source: "When you play the game of thrones", target: "you win or you die" }], width: 6, heads: 2, head_width: 4, layers: 1, seed: 1 }, limits: {} };
  }
  if (url.pathname === "/api/texts") return { language: query.lang ?? "en", languages: [["en", "English"], ["tr", "Türkçe"], ["az", "Azərbaycanca"], ["ko", "한국어"]].map(([code, name]) => ({ code, name })), texts: textsOf(query.lang ?? "en") };
  if (url.pathname === "/api/lessons") return { lessons: JSON.parse(run(["lesson", "--json", "--lang", query.lang ?? "en"])).lessons };
  const lesson = /^\/api\/lessons\/([\w-]+)$/.exec(url.pathname);
  if (lesson) return { ...documentOf(run(["lesson", lesson[1], "--format", "html"])), texts: undefined };
  if (url.pathname === "/api/trace" && method === "POST") {
    const words = ["explain", ...(body.model && body.model !== "worked" ? [body.model === "masks" ? "stories" : body.model] : []), "--text", body.model === "masks" ? "Anna has two" : body.text, ...(body.target ? ["--target", body.target] : []), ...(body.train ? ["--train"] : []), "--format", "html"];
    const made = documentOf(run(words));
    const id = String(++made_traces);
    traces.set(id, { made, words });
    return { ...made, id, texts: undefined, runs: made.runs.map((one) => ({ ...one, values: undefined, backward: one.backward && { ...one.backward, error: undefined, gradient_values: undefined } })) };
  }
  if (url.pathname === "/api/predict") return predicted(body, models);
  if (url.pathname === "/api/compare") {
    const runOf = (id, at) => { const made = traces.get(id)?.made; if (!made) throw Object.assign(new Error(`no trace ${id}`), { status: 404 }); return made.runs[at ?? made.runs.length - 1]; };
    const valuesIn = (one) => new Map(one.tensors.filter((tensor) => !tensor.variant && tensor.axes.length < 5).map((tensor) => [tensor.name, { ...tensor, ...tensorOf(one, tensor.name) }]));
    if (Buffer.isBuffer(body)) return compared(valuesIn(runOf(query.a, query.run)), readDump(body), Number(query.tolerance ?? 0));
    return compared(valuesIn(runOf(body.a, body.a_run)), valuesIn(runOf(body.b, body.b_run)), body.tolerance ?? 0);
  }
  const gone = /^\/api\/trace\/(\w+)$/.exec(url.pathname);
  if (gone && method === "DELETE") return void traces.delete(gone[1]);
  const [, id, part] = /^\/api\/trace\/(\w+)\/(\w+)$/.exec(url.pathname) ?? [];
  const trace = traces.get(id);
  if (!trace) throw Object.assign(new Error(`no such trace: ${url.pathname}`), { status: 404 });
  const one = trace.made.runs[Number(query.run ?? trace.made.runs.length - 1)];
  if (part === "heads") return headsOf(one, Number(query.size ?? 24));
  if (part === "cell") return JSON.parse(run([...trace.words.slice(0, -2), "--cell", query.cell, "--json"]));
  if (part === "edges") {
    const { shape, values } = tensorOf(one, query.name);
    const edges = [...values].map((weight, i) => [Math.floor(i / shape[2]), i % shape[2], weight]).filter((edge) => edge[2] > 0 && (!query.rows || query.rows.split(",").includes(String(edge[0])))).sort((a, b) => b[2] - a[2]);
    const total = edges.reduce((sum, edge) => sum + edge[2], 0);
    let needed = 0;
    for (let sum = 0; needed < edges.length && sum < Number(query.mass) * total; ++needed) sum += edges[needed][2];
    const kept = edges.slice(0, Math.min(needed, Number(query.limit)));
    return { name: query.name, rows: shape[1], mass: Number(query.mass), reached: kept.reduce((sum, edge) => sum + edge[2], 0) / total, total: values.length, needed, edges: kept };
  }
  const tensors = new Map();
  const tiles = {};
  for (const name of query.names.split(",")) {
    const found = tensorOf(one, name);
    if (!found) continue;
    if (!query.pool) { tensors.set(name, found); continue; }
    const tile = pooled(found, range(query.rows), range(query.cols), Number(query.pool.split("x")[0]));
    tiles[name] = { rows: tile.rows, cols: tile.cols, row_step: tile.row_step, col_step: tile.col_step };
    if (tile.row_step === 1 && tile.col_step === 1) tensors.set(name, { shape: tile.shape, values: tile.max });
    else { tensors.set(`${name}:max`, { shape: tile.shape, values: tile.max }); tensors.set(`${name}:mean`, { shape: tile.shape, values: tile.mean }); }
  }
  return safetensors(tensors, { tiles: JSON.stringify(tiles) });
}

// Word by word, until the client goes.
async function streamed(response, { tokens, ids, text, log_probability, stopped, ...start }) {
  const send = (event, told) => response.write(`event: ${event}\ndata: ${JSON.stringify(told)}\n\n`);
  response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
  send("start", start);
  for (const token of tokens) {
    await new Promise((done) => setTimeout(done, 15));
    if (response.destroyed) return;
    send("token", token);
  }
  send("done", { ids, text, log_probability, stopped });
  response.end();
}

export function startMock(port = 0) {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    const known = types[url.pathname];
    if (known) {
      response.writeHead(200, { "Content-Type": known[1], "Content-Encoding": "gzip" });
      return response.end(readFileSync(`${root}studio/dist/${known[0]}.gz`));
    }
    const parts = [];
    for await (const part of request) parts.push(part);
    try {
      const bytes = Buffer.concat(parts);
      const body = parts.length === 0 ? undefined : request.headers["content-type"] === "application/octet-stream" ? bytes : JSON.parse(bytes.toString());
      const told = answer(request.method, url, body);
      if (url.pathname === "/api/predict" && body.stream) return streamed(response, told);
      if (told === undefined) return response.writeHead(204).end();
      response.writeHead(200, { "Content-Type": Buffer.isBuffer(told) ? "application/octet-stream" : "application/json" });
      response.end(Buffer.isBuffer(told) ? told : JSON.stringify(told));
    } catch (error) {
      response.writeHead(error.status === 404 ? 404 : 400, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ error: { message: String(error.stderr ?? error.message).trim(), type: "invalid_request_error", param: null, code: null } }));
    }
  });
  return new Promise((done) => server.listen(port, "127.0.0.1", () => done({ address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() })));
}
if (process.argv[1] === fileURLToPath(import.meta.url)) startMock(Number(process.argv[2] ?? 8090)).then(({ address }) => console.log(address));

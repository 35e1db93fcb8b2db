// Predictions and comparisons of the stand-in for a server: of the form that docs/api.md says, by a made-up model whose logits follow from what it has read.

const words = ["<end>", " red", " coin", " and", " she", " gives", " one", " to", " Tom", " the", " apples", ".", " it", " lost", " blue", " ball", "⟨E2⟩", " has", " two", " Anna"];
const numberOf = (seed) => { const x = Math.sin(seed) * 43758.5453; return x - Math.floor(x); };
const letters = (values) => Buffer.from(Float32Array.from(values).buffer).toString("base64");

function logitsAfter(ids, off) {
  const seed = ids.reduce((sum, id, i) => (sum * 7 + id + i) % 9973, 11);
  return words.map((_, id) => 6 * numberOf(seed * (id + 1)) - 3 - (id === 0 ? 2 : 0) + off * 4 * (numberOf(seed + 77 * (id + 1)) - 0.5));
}
function softmax(logits) {
  const most = Math.max(...logits);
  const exps = logits.map((logit) => Math.exp(logit - most));
  const sum = exps.reduce((all, one) => all + one, 0);
  return exps.map((one) => one / sum);
}
const likeliest = (logits) => { const shares = softmax(logits); return words.map((token, id) => ({ id, token, logit: logits[id], probability: shares[id] })).sort((a, b) => b.probability - a.probability); };

function stepAfter(ids, body, draw) {
  const off = (body.heads_off ?? []).length;
  const logits = logitsAfter(ids, off);
  const sorted = likeliest(logits);
  const temperature = body.temperature ?? 0;
  const tempered = logits.map((logit) => (temperature > 0 ? logit / temperature : logit));
  const inK = new Set(sorted.slice(0, body.top_k || words.length).map((one) => one.id));
  const shares = softmax(tempered.map((logit, id) => (inK.has(id) ? logit : -Infinity)));
  const inP = new Set();
  let sum = 0;
  for (const { id } of sorted.filter((one) => inK.has(one.id))) { if (sum >= (body.top_p ?? 1)) break; inP.add(id); sum += shares[id]; }
  const drawn = temperature > 0 ? softmax(tempered.map((logit, id) => (inP.has(id) ? logit : -Infinity))) : words.map((_, id) => (id === sorted[0].id ? 1 : 0));
  let rest = numberOf((body.seed ?? 0) * 13 + draw * 3 + 1);
  let id = sorted[0].id;
  if (temperature > 0) for (const one of sorted) { rest -= drawn[one.id]; if (rest <= 0) { id = one.id; break; } }
  const best = sorted.slice(0, body.best ?? 5);
  const chosen = sorted.find((one) => one.id === id);
  const whole = likeliest(logitsAfter(ids, 0));
  return { id, token: words[id], text: id === 0 ? "" : words[id], probability: chosen.probability, log_probability: Math.log(chosen.probability), is_stop: id === 0, best,
    ...(off > 0 && { with_all_heads: [...best.map((one) => whole.find((other) => other.id === one.id)), ...whole.slice(0, best.length).filter((one) => !best.some((other) => other.id === one.id))] }),
    ...(body.stages && { stages: best.map((one) => ({ id: one.id, token: one.token, logit: one.logit, penalized: one.logit, tempered: tempered[one.id], top_k: inK.has(one.id), top_p: inP.has(one.id) || !inK.has(one.id), min_p: true, drawn_with: drawn[one.id] })), kept: { top_k: inK.size, top_p: inP.size, min_p: inP.size } }),
    ...(body.lens && { lens: { final_norm: "decoder.norm", layers: ["decoder.0.residual_in", "decoder.0.residual_out", "decoder.1.residual_out"].map((layer, i) => {
      const then = likeliest(logitsAfter(ids.slice(i - 2), 0));
      const told = (one) => ({ word: one.token, id: one.id, logit: one.logit, probability: one.probability, rank: then.indexOf(one) + 1 });
      return { layer, words: then.slice(0, 5).map(told), word: told(then.find((one) => one.id === id)) };
    }) } }) };
}

export function predicted(body, models) {
  if (body.model !== undefined && !models.includes(body.model)) throw Object.assign(new Error(`no model ${body.model}`), { status: 404 });
  const isMask = body.model === "masks";
  const source = body.source?.split(" ") ?? [];
  const read = body.source === undefined ? (body.prompt ?? "").split(/(?= )/) : ["<start>"];
  const ids = body.ids ?? read.map((token) => [...token].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 5000, 100));
  const tokens = isMask ? body.prompt?.split(" ") ?? body.ids.map((id, i) => (id < 100 ? words[id] : `${i === 3 ? "[MASK]" : "word"}`)) : [...read, ...(body.append_ids ?? []).map((id) => words[id])];
  const all = [...ids, ...(body.append_ids ?? [])];
  const start = { model: body.model ?? "worked", prompt_ids: [...all], prompt_tokens: tokens, source_ids: source.map((_, i) => i), source_tokens: source, ...(isMask && { masked_at: body.at ?? tokens.indexOf("[MASK]") }) };
  const made = [];
  let stopped = isMask ? "mask" : "limit";
  for (let i = 0; i < (isMask ? 1 : body.max_new_tokens ?? 1); ++i) {
    const step = { position: isMask ? start.masked_at : all.length, ...stepAfter(isMask ? [...all, start.masked_at] : all, isMask ? { ...body, stages: false } : body, i) };
    if (Array.isArray(body.attention)) step.attention = body.attention.map((head) => {
      const keys = head.includes(".cross.") ? source.length : all.length;
      return { head, keys, weights: letters(softmax(Array.from({ length: keys }, (_, key) => 5 * numberOf(key * 3 + head.length + Number(head.split(".").pop()) * 7 + all.length)))) };
    });
    made.push(step);
    all.push(step.id);
    if (step.is_stop && !isMask) { stopped = "end"; break; }
  }
  return { ...start, tokens: made, ids: made.map((one) => one.id), text: made.map((one) => one.text).join(""), log_probability: made.reduce((sum, one) => sum + one.log_probability, 0), stopped };
}

function nameOfCell(tensor, offset) {
  const index = [];
  for (let axis = tensor.shape.length - 1, rest = offset; axis >= 0; rest = Math.floor(rest / tensor.shape[axis]), --axis) index.unshift(rest % tensor.shape[axis]);
  const head = tensor.axes.indexOf("head");
  const places = index.filter((_, axis) => tensor.axes[axis] !== "batch" && (axis !== head || head <= 0));
  const at = tensor.name.lastIndexOf(".");
  return `${head > 0 ? `${tensor.name.slice(0, at)}.head.${index[head]}${tensor.name.slice(at)}` : tensor.name}[${places}]`;
}
export function compared(a, b, tolerance) {
  const tensors = [], other_shapes = [];
  const trimmed = (shape) => shape.filter((size, i) => i > 0 || size !== 1).join();
  for (const [name, one] of a) {
    const other = b.get(name);
    if (!other) continue;
    if (trimmed(one.shape) !== trimmed(other.shape)) { other_shapes.push({ name, a: one.shape, b: other.shape }); continue; }
    let [at, largest, size] = [0, 0, 0];
    one.values.forEach((value, i) => {
      const difference = value === other.values[i] ? 0 : Math.abs(value - other.values[i]);
      if (difference > largest) [at, largest] = [i, difference];
      if (Number.isFinite(value)) size = Math.max(size, Math.abs(value));
    });
    tensors.push({ name, step: one.step ?? 0, largest_difference: largest, relative: largest === 0 ? 0 : largest / size, at: nameOfCell(one, at), a: one.values[at], b: other.values[at] });
  }
  return { tolerance, compared: tensors.length, equal: tensors.filter((one) => one.largest_difference === 0).length, first: tensors.find((one) => one.largest_difference > tolerance) ?? null, tensors, other_shapes,
    only_a: [...a.keys()].filter((name) => !b.has(name)), only_b: [...b.keys()].filter((name) => !a.has(name)) };
}

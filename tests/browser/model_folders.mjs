// Model folders with random weights, of the shapes that people bring: GPT-2's and BERT's, with small vocabularies.
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";

const blockSize = 1 << 20;
// Numbers between -size and size, always the same; a large tensor has them again from another place.
const random = (() => {
  const values = new Float32Array(blockSize);
  let state = 12345;
  for (let i = 0; i < blockSize; ++i) { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; values[i] = state / 2 ** 31 - 1; }
  return values;
})();

// Tensors are [name, shape, size]: random up to that size, or all of one value for { fill }.
function writeWeights(path, tensors) {
  const header = { __metadata__: { format: "pt" } };
  let at = 0;
  for (const [name, shape] of tensors) header[name] = { dtype: "F32", shape, data_offsets: [at, (at += 4 * shape.reduce((a, b) => a * b, 1))] };
  const plain = JSON.stringify(header);
  const text = Buffer.from(plain.padEnd(Math.ceil(Buffer.byteLength(plain) / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const file = openSync(path, "w");
  writeSync(file, length);
  writeSync(file, text);
  let from = 0;
  for (const [, shape, size] of tensors) {
    let left = shape.reduce((a, b) => a * b, 1);
    while (left > 0) {
      const count = Math.min(left, blockSize - from);
      const part = typeof size === "number" ? random.subarray(from, from + count).map((value) => value * size) : new Float32Array(count).fill(size.fill);
      writeSync(file, Buffer.from(part.buffer));
      left -= count;
      from = (from + count + 7919) % blockSize;
    }
  }
  closeSync(file);
}
const norm = (name, width) => [[`${name}.weight`, [width], { fill: 1 }], [`${name}.bias`, [width], { fill: 0 }]];

// The letters that GPT-2 writes bytes with: itself where it can be seen, else one from 256 on.
function byteLetters() {
  const isSeen = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isSeen(byte) ? byte : next++));
}

// A GPT-2 whose tokens are bytes.
export function writeGpt2Shaped(folder, { layers = 12, heads = 12, width = 768, positions = 1024, size = 0.06 } = {}) {
  mkdirSync(folder, { recursive: true });
  const letters = byteLetters();
  writeFileSync(`${folder}/vocab.json`, JSON.stringify(Object.fromEntries([...letters, "<|endoftext|>"].map((letter, id) => [letter, id]))));
  writeFileSync(`${folder}/merges.txt`, "#version: 0.2\n");
  writeFileSync(`${folder}/config.json`, JSON.stringify({ model_type: "gpt2", n_layer: layers, n_head: heads, n_embd: width, vocab_size: 257, n_positions: positions, n_ctx: positions, layer_norm_epsilon: 1e-5, activation_function: "gelu_new" }));
  const tensors = [["wte.weight", [257, width], size], ["wpe.weight", [positions, width], size]];
  for (let layer = 0; layer < layers; ++layer) {
    const name = `h.${layer}.`;
    tensors.push(...norm(`${name}ln_1`, width), [`${name}attn.c_attn.weight`, [width, 3 * width], size], [`${name}attn.c_attn.bias`, [3 * width], { fill: 0 }], [`${name}attn.c_proj.weight`, [width, width], size], [`${name}attn.c_proj.bias`, [width], { fill: 0 }],
      ...norm(`${name}ln_2`, width), [`${name}mlp.c_fc.weight`, [width, 4 * width], size], [`${name}mlp.c_fc.bias`, [4 * width], { fill: 0 }], [`${name}mlp.c_proj.weight`, [4 * width, width], size], [`${name}mlp.c_proj.bias`, [width], { fill: 0 }]);
  }
  tensors.push(...norm("ln_f", width));
  writeWeights(`${folder}/model.safetensors`, tensors);
}

// A BERT that fills masks; "playing" is "play" and "##ing".
export function writeBertShaped(folder, { layers = 4, heads = 4, width = 64, positions = 128, size = 0.3 } = {}) {
  mkdirSync(folder, { recursive: true });
  const words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", "cat", "play", "##ing", "##ed", "##s", "with", "a", "ball", "is", "and", "sleep", "in", "sun", "garden", ".", ","];
  writeFileSync(`${folder}/vocab.txt`, `${words.join("\n")}\n`);
  writeFileSync(`${folder}/config.json`, JSON.stringify({ model_type: "bert", architectures: ["BertForMaskedLM"], vocab_size: words.length, hidden_size: width, num_hidden_layers: layers, num_attention_heads: heads, intermediate_size: 4 * width, max_position_embeddings: positions,
    type_vocab_size: 2, hidden_act: "gelu", layer_norm_eps: 1e-12 }));
  const linear = (name, outputs, inputs) => [[`${name}.weight`, [outputs, inputs], size], [`${name}.bias`, [outputs], { fill: 0 }]];
  const tensors = [["bert.embeddings.word_embeddings.weight", [words.length, width], size], ["bert.embeddings.position_embeddings.weight", [positions, width], size], ["bert.embeddings.token_type_embeddings.weight", [2, width], size], ...norm("bert.embeddings.LayerNorm", width)];
  for (let layer = 0; layer < layers; ++layer) {
    const name = `bert.encoder.layer.${layer}.`;
    for (const part of ["query", "key", "value"]) tensors.push(...linear(`${name}attention.self.${part}`, width, width));
    tensors.push(...linear(`${name}attention.output.dense`, width, width), ...norm(`${name}attention.output.LayerNorm`, width), ...linear(`${name}intermediate.dense`, 4 * width, width), ...linear(`${name}output.dense`, width, 4 * width), ...norm(`${name}output.LayerNorm`, width));
  }
  tensors.push(...linear("cls.predictions.transform.dense", width, width), ...norm("cls.predictions.transform.LayerNorm", width), ["cls.predictions.bias", [words.length], { fill: 0 }]);
  writeWeights(`${folder}/model.safetensors`, tensors);
}

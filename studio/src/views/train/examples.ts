// What can be trained with one click: small enough for a laptop's seconds, and such that heads find roles.

export type Keys = Record<string, string>;
export interface Example {
  name: string;                   // of its texts: studio.train.example.NAME
  task: string;
  keys: Keys;                     // as `headlight train` takes them
  more?: Keys;                    // that have no field of their own
  probe: string;                  // whose heads are filmed
  target?: string;                // of encoder-decoders: what should follow it
  data?(): string;                // made here
  isOwn?: boolean;                // the user brings the data
}

const small: Keys = { n_layer: "1", n_head: "4", n_embd: "64", batch_size: "64", learning_rate: "0.003", dropout: "0", seed: "0" };
const digits = "3 1 4 1 5 8 2 6 7 2";

export const examples: Example[] = [
  { name: "words", task: "lm", data: repeatedWords, probe: "ka lo mi tu se vo na ka lo mi tu se vo na ka lo mi tu",
    keys: { ...small, n_layer: "2", batch_size: "48", block_size: "24", max_iters: "600", eval_interval: "25", learning_rate: "0.002" }, more: { tokenizer: "word", d_ff: "16", tie_embeddings: "false", weight_decay: "0", warmup_iters: "50" } },
  { name: "copy", task: "copy", probe: digits, target: digits, keys: { ...small, max_iters: "300", eval_interval: "15" }, more: { warmup_iters: "30" } },
  { name: "reverse", task: "reverse", probe: "3 1 4 15 9 26 5 35 8", target: "8 35 5 26 9 15 4 1 3", keys: { ...small, max_iters: "1000", eval_interval: "50" }, more: { warmup_iters: "50" } },
  { name: "numbers", task: "numbers", probe: "one hundred forty-two", target: "142", keys: { ...small, n_layer: "2", max_iters: "800", eval_interval: "40" }, more: { warmup_iters: "50" } },
  { name: "text", task: "lm", isOwn: true, probe: "", keys: { ...small, n_layer: "2", batch_size: "32", block_size: "32", max_iters: "600", eval_interval: "30" }, more: { tokenizer: "char", warmup_iters: "50" } },
  { name: "pairs", task: "translate", isOwn: true, probe: "", target: "", keys: { ...small, n_layer: "1", max_iters: "400", eval_interval: "20" }, more: { tokenizer: "word", label_smoothing: "0", warmup_iters: "40" } },
];

// Lines in which meaningless words come again, the same every time. Which words, and in what way, is drawn anew for each line: the next word can be known only from what followed the last one before.
function repeatedWords(): string {
  const [lines, length] = [6000, 24];
  const words = [..."bdfgklmnprst"].flatMap((begin) => [..."aeiou"].map((end) => begin + end)).concat("va", "ve", "vi", "vo", "vu");
  let seed = 1;
  const below = (bound: number) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
  const line = () => {
    for (let i = 0; i + 1 < words.length; ++i) {
      const other = i + below(words.length - i);
      [words[i], words[other]] = [words[other] as string, words[i] as string];
    }
    const kind = below(10);
    // Of ten lines four go to and fro between two words, the shortest way back; three repeat more words in their order, three have phrases in any order.
    const phrases = kind < 4 ? [words.slice(0, 2)] : kind < 7 ? [words.slice(0, 3 + below(10))] : Array.from({ length: 3 + below(4) }, (_, i) => words.slice(4 * i, 4 * i + 2 + below(3)));
    const made: string[] = [];
    while (made.length < length) made.push(...(phrases[below(phrases.length)] as string[]));
    return made.join(" ");
  };
  return Array.from({ length: lines }, line).join("\n");
}

// "d_ff=16, bias=false" as keys; undefined: it is not written so.
export function keysOf(written: string): Keys | undefined {
  const keys: Keys = {};
  for (const one of written.split(/[\s,;]+/).filter(Boolean)) {
    const [, key, value] = /^-{0,2}([\w-]+)=(.+)$/.exec(one) ?? [];
    if (key === undefined || value === undefined) return undefined;
    keys[key.replace(/-/g, "_")] = value;
  }
  return keys;
}
export function writtenKeys(keys: Keys): string { return Object.entries(keys).map(([key, value]) => `${key}=${value}`).join(" "); }

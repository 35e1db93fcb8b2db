// Runs of the model: tensors, their numbers, and how they are cut into matrices.
const mostCells = 24;  // rows and columns of a table of numbers
const mostWords = 40;  // columns of one whose columns are words

// A token of nothing but white space can still be seen.
function visible(token) { return token.replace(/^ | $/g, "␣").replace(/\n/g, "⏎"); }
const vocabularyLabels = data.vocabulary.map(visible);
for (const [id, label] of Object.entries(data.labels)) vocabularyLabels[id] = visible(label);

// Ids are lists; floats are the bytes of float32, the lowest first, in letters of base 64. Of a large tensor there may be only those in
// a row from some places on.
function numbersOf(written) {
  if (written && typeof written === "object" && !Array.isArray(written)) return someNumbersOf(written);
  if (typeof written !== "string") return written && Float64Array.from(written);
  const letters = atob(written);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; ++i) bytes[i] = letters.charCodeAt(i);
  return new Float32Array(bytes.buffer);  // all machines with a browser read them so
}

function someNumbersOf(written) {
  const some = {};
  for (const [place, numbers] of Object.entries(written)) numbersOf(numbers).forEach((value, i) => { some[Number(place) + i] = value; });
  Object.defineProperty(some, Symbol.iterator, { value: () => Object.values(some).values() });
  return some;
}

class Run {
  constructor(described) {
    Object.assign(this, described);
    this.tokens = this.tokens.map(visible);
    this.source_tokens = this.source_tokens.map(visible);
    this.all = new Map();
    for (const tensor of [...this.tensors, ...this.parameters]) this.all.set(tensor.name, tensor);
    for (const tensor of this.all.values()) this.giveNumbers(tensor);
  }

  // When they are first asked for. What is passed on unchanged has those of where it comes from.
  giveNumbers(tensor) {
    Object.defineProperty(tensor, "values", { configurable: true, get: () => {
      const values = tensor.same_as ? this.find(tensor.same_as).values : numbersOf(this.values[tensor.name]);
      Object.defineProperty(tensor, "values", { value: values });
      return values;
    } });
  }

  find(name) { return this.all.get(name); }
  ofStep(number) { return this.tensors.filter((tensor) => !tensor.variant && (tensor.step === number || tensor.also_step === number)); }
  attentions() { return this.tensors.filter((tensor) => tensor.attention && !tensor.variant); }
  attentionAt(place) { return this.attentions().find((tensor) => placeOf(tensor.name) === place); }
  labels(axis, tensor) {
    if (data.lesson) return lessonLabels(axis, tensor);
    return axis === "token" ? this.tokens : axis === "source_token" ? this.source_tokens : axis === "vocabulary" ? vocabularyLabels : [];
  }
  value(cell) {
    const tensor = this.find(cell.name);
    return tensor?.values?.[offsetOf(tensor, cell.index)];
  }
  // The words that the predictions are about, where there are too many to show all.
  wordsShown() {
    this.words ??= [...new Set([...this.targets.filter((id) => id >= 0), ...[0, 1, 2, 3, 4].flatMap((rank) => this.likeliest.map((row) => row[rank]?.[0]))])]
      .filter((id) => id !== undefined).slice(0, mostCells).sort((a, b) => a - b);
    return this.words;
  }
}

const runs = data.runs.map((run) => new Run(run));
function run() { return runs[state.run]; }

// "encoder.0.self" of "encoder.0.self.scores".
function placeOf(name) { return name.slice(0, name.lastIndexOf(".")); }
function endOf(name) { return name.slice(name.lastIndexOf(".") + 1); }

function offsetOf(tensor, index) { return index.reduce((offset, at, axis) => offset * tensor.shape[axis] + at, 0); }

// The heads of a run as they were measured; the one shown first, of a place or of all, is the one whose rows look most clearly at different
// keys, unless it looks everywhere alike.
function shownFirst(place) {
  const heads = run().heads.filter((one) => place === undefined || one.place === place);
  const telling = heads.filter((one) => one.role !== "uniform");
  return (telling.length > 0 ? telling : heads).reduce((best, one) => (best && best.selectivity >= one.selectivity ? best : one), undefined);
}
// Heads that are left after pruning keep their numbers; an index is where one stands among them.
function headNumber(tensor, index) { return tensor?.head_numbers?.[index] ?? index; }
function headIndex(tensor, number) { return tensor?.head_numbers ? tensor.head_numbers.indexOf(number) : number; }
function headAt(place) {
  const first = shownFirst(place);
  return state.heads[place] ?? (first ? headIndex(run().attentionAt(place), first.head) : 0);
}
function rowAt(place) { return state.rows[place] ?? 0; }

// The rows in which tensors of one attention stand; a gradient stands where its tensor does.
const rows = { scores: 3, weights: 4, values: 5 };
function rowOf(tensor) { return run().find(tensor.name.replace(/^gradient\./, ""))?.row ?? 0; }

// Q, K and V and what is made of them keep their colours.
function inkOf(tensor) {
  const name = tensor.name.replace(/^gradient\./, "");
  if (/query|q_proj|W_q/.test(name)) return "q";
  if (/(\.|_)key|k_proj|W_k/.test(name)) return "k";
  if (/value|v_proj|W_v/.test(name) || rowOf(tensor) === rows.values) return "v";
  if (rowOf(tensor) === rows.scores || rowOf(tensor) === rows.weights) return "a";
  if (/^(logits|probabilities|prediction)/.test(name)) return "p";
  return "x";
}

// A tensor as a matrix: all of it, or what is chosen of it (a head, a query, words).
function matrixOf(tensor, { head } = {}) {
  const place = placeOf(tensor.name.replace(/^gradient\./, "").replace(/^variant\.\w+\.\w+\./, ""));
  const fixed = tensor.shape.map(() => undefined);
  const free = [];
  tensor.axes.forEach((axis, i) => {
    if (axis === "batch") fixed[i] = 0;
    else if (axis === "head" && tensor.shape.length > 1) fixed[i] = Math.min(head ?? headAt(place), tensor.shape[i] - 1);
    else free.push(i);
  });
  if (free.length === 3) {
    const queries = free.shift();
    fixed[queries] = Math.min(rowAt(place), tensor.shape[queries] - 1);
  }
  const [row, column] = free.length === 2 ? free : tensor.operation === "parameter" ? [undefined, free[0]] : [free[0], undefined];
  const size = (axis) => (axis === undefined ? 1 : tensor.shape[axis]);
  const words = tensor.axes[column] === "vocabulary" && size(column) > mostWords ? run().wordsShown() : undefined;
  const columnLabels = column === undefined ? undefined : run().labels(tensor.axes[column]);
  return {
    tensor, words, rows: size(row), columns: words?.length ?? size(column), query: free.length === 2 && tensor.axes.length === 5 ? fixed[2] : undefined,
    isTable: size(row) <= mostCells && (words?.length ?? size(column)) <= (tensor.axes[column] === "vocabulary" ? mostWords : mostCells),
    rowLabels: row === undefined ? [] : run().labels(tensor.axes[row]),
    columnLabels: words ? words.map((id) => columnLabels[id] ?? String(id)) : columnLabels,
    index(r, c) {
      const index = fixed.slice();
      if (row !== undefined) index[row] = r;
      if (column !== undefined) index[column] = words ? words[c] : c;
      return index;
    },
  };
}

// "encoder.0.self.head.2.scores[3,5]", as the command line writes it.
function cellText(cell) {
  const tensor = run().find(cell.name);
  const head = tensor.axes.indexOf("head");
  const rest = cell.index.filter((_, axis) => !isOneSequence(tensor, axis) && (axis !== head || tensor.axes.length === 1));
  const name = head > 0 ? `${placeOf(cell.name)}.head.${headNumber(tensor, cell.index[head])}.${endOf(cell.name)}` : cell.name;
  return `${name}[${rest.join(",")}]`;
}
// The axis of a batch of one is not written.
function isOneSequence(tensor, axis) { return tensor.axes[axis] === "batch" && tensor.shape[axis] === 1; }
function cellOf(written) {
  const match = /^(.*)\[([\d,]*)\]$/.exec(written);
  if (!match) return undefined;
  const numbers = match[2].split(",").filter(Boolean).map(Number);
  const headed = /^(.*)\.head\.(\d+)\.(\w+)$/.exec(match[1]);
  const name = headed ? `${headed[1]}.${headed[3]}` : match[1];
  const tensor = run().find(name);
  if (!tensor) return undefined;
  const index = tensor.axes.map((axis, i) =>
    isOneSequence(tensor, i) ? 0 : headed && axis === "head" && i > 0 ? headIndex(tensor, Number(headed[2])) : numbers.shift());
  return index.every((at, i) => at >= 0 && at < tensor.shape[i]) ? { name, index } : undefined;
}
// The words that a cell's row and column stand for.
function cellLabels(cell) {
  const tensor = run().find(cell.name);
  return tensor.axes.map((axis, i) => run().labels(axis, tensor)[cell.index[i]]).filter((label) => label !== undefined);
}

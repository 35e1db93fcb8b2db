// Reads a safetensors file.
export interface StoredTensor { shape: number[]; values: Float32Array | Float64Array }

export function readSafetensors(bytes: ArrayBuffer): { tensors: Map<string, StoredTensor>; metadata: Record<string, string> } {
  const length = Number(new DataView(bytes).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, length)));
  const tensors = new Map<string, StoredTensor>();
  for (const [name, one] of Object.entries<any>(header)) {
    if (name === "__metadata__") continue;
    const [begin, end] = one.data_offsets;
    tensors.set(name, { shape: one.shape, values: numbersAs(one.dtype, bytes.slice(8 + length + begin, 8 + length + end)) });
  }
  return { tensors, metadata: header.__metadata__ ?? {} };
}

function numbersAs(type: string, bytes: ArrayBuffer): Float32Array | Float64Array {
  if (type === "F32") return new Float32Array(bytes);
  if (type === "F64") return new Float64Array(bytes);
  if (type === "BF16") return new Float32Array(Uint32Array.from(new Uint16Array(bytes), (half) => half << 16).buffer);
  if (type === "F16") return Float32Array.from(new Uint16Array(bytes), halfOf);
  if (type === "I32") return Float64Array.from(new Int32Array(bytes));
  if (type === "I64") return Float64Array.from(new BigInt64Array(bytes), Number);
  if (type === "BOOL") return Float64Array.from(new Uint8Array(bytes));
  throw new Error(`safetensors: ${type} is not known here`);
}
// IEEE 754 binary16.
function halfOf(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

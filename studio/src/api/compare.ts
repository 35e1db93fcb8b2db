// What POST /api/compare answers: two runs, tensor by tensor, in the order in which they are computed.

export interface TensorDifference { name: string; step: number; largest_difference: number | null; relative: number | null; at: string; a: number | null; b: number | null }
export interface CompareAnswer {
  tolerance: number; compared: number; equal: number;
  first: TensorDifference | null;
  tensors: TensorDifference[];
  other_shapes: { name: string; a: number[]; b: number[] }[];
  only_a: string[];
  only_b: string[];
}

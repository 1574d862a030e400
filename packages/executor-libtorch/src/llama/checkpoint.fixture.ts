/** A small checkpoint of random weights, as values and as the bytes of a safetensors file. */
import { groupsOf, weightsOf } from "./plan.ts";
import type { TensorValues } from "./reference.fixture.ts";
import type { LlamaShape } from "./shape.ts";

/** Matrices of standard deviation 1 ÷ √inputs, norms around 1: equal seeds, equal values. */
export function randomValues(shape: LlamaShape, seed: number): TensorValues {
  const next = uniform(seed);
  const tensors = groupsOf(shape, 1).flatMap((group) => weightsOf(shape, group).flatMap((unit) => unit.tensors));
  return Object.fromEntries(
    tensors.map(({ name, shape: sizes }) => {
      const count = sizes.reduce((product, size) => product * size, 1);
      const [, inputs] = sizes;
      // The sum of four uniform numbers has a variance of 4 ÷ 12.
      const normal = () => (next() + next() + next() + next() - 2) * Math.sqrt(3);
      const draw = () => (inputs === undefined ? 1 + normal() / 8 : normal() / Math.sqrt(inputs));
      return [name, Float32Array.from({ length: count }, draw)];
    }),
  );
}

export function safetensorsFile(shape: LlamaShape, values: TensorValues): Uint8Array {
  const tensors = groupsOf(shape, 1).flatMap((group) => weightsOf(shape, group).flatMap((unit) => unit.tensors));
  let offset = 0;
  const entries = tensors.map(({ name, shape: sizes }) => {
    const begin = offset;
    offset += 4 * (values[name]?.length ?? 0);
    return [name, { dtype: "F32", shape: sizes, data_offsets: [begin, offset] }];
  });
  const text = JSON.stringify(Object.fromEntries(entries));
  const header = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8));
  const file = new Uint8Array(8 + header.length + offset);
  new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
  file.set(header, 8);
  let at = 8 + header.length;
  for (const { name } of tensors) {
    const floats = values[name] ?? new Float32Array();
    file.set(new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength), at);
    at += floats.byteLength;
  }
  return file;
}

/** In [0, 1). */
export function uniform(seed: number): () => number {
  let state = (seed * 2_654_435_769) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

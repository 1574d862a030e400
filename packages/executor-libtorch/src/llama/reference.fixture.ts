/**
 * The same model in plain numbers of double precision, written from its definition and not from the programs: what they are compared with.
 */
import { embeddingTensor, headTensors, type LlamaShape, layerTensors, type WeightTensor } from "./shape.ts";

/** Values of the tensors by name, row by row. */
export type TensorValues = Readonly<Record<string, Float32Array>>;

type Vector = Float64Array;

/** Takes tokens one by one; each is seen by all after it. */
export class ReferenceLlama {
  readonly #shape: LlamaShape;
  readonly #values: TensorValues;
  /** Per layer, per token so far: keys and values of all KV heads. */
  readonly #keys: Vector[][];
  readonly #cached: Vector[][];

  constructor(shape: LlamaShape, values: TensorValues) {
    this.#shape = shape;
    this.#values = values;
    this.#keys = Array.from({ length: shape.layers }, () => []);
    this.#cached = Array.from({ length: shape.layers }, () => []);
  }

  /** The logits after this token. */
  next(token: number): Vector {
    const { hidden, layers } = this.#shape;
    const table = this.#of(embeddingTensor(this.#shape));
    let x: Vector = Float64Array.from(table.subarray(token * hidden, (token + 1) * hidden));
    for (let layer = 0; layer < layers; layer++) x = this.#layer(layer, x);
    const { norm, head } = headTensors(this.#shape);
    return this.#times(head, this.#norm(x, norm));
  }

  /** Greedy output: so many tokens after the prompt. */
  generate(prompt: readonly number[], count: number): number[] {
    let logits: Vector = new Float64Array();
    for (const token of prompt) logits = this.next(token);
    const tokens = [argmax(logits)];
    while (tokens.length < count) tokens.push(argmax(this.next(tokens[tokens.length - 1] as number)));
    return tokens;
  }

  #layer(layer: number, x: Vector): Vector {
    const tensors = layerTensors(this.#shape, layer);
    const attended = add(x, this.#attention(layer, this.#norm(x, tensors.attentionNorm)));
    const normed = this.#norm(attended, tensors.mlpNorm);
    const up = this.#times(tensors.up, normed);
    const gated = this.#times(tensors.gate, normed).map((gate, i) => (gate / (1 + Math.exp(-gate))) * at(up, i));
    return add(attended, this.#times(tensors.down, gated));
  }

  #attention(layer: number, x: Vector): Vector {
    const { heads, kvHeads, headDim } = this.#shape;
    const tensors = layerTensors(this.#shape, layer);
    const keys = this.#keys[layer] as Vector[];
    const values = this.#cached[layer] as Vector[];
    const position = keys.length;
    keys.push(this.#rotated(this.#times(tensors.key, x), position));
    values.push(this.#times(tensors.value, x));
    const query = this.#rotated(this.#times(tensors.query, x), position);
    const mixed = new Float64Array(heads * headDim);
    for (let head = 0; head < heads; head++) {
      const kvHead = Math.floor(head / (heads / kvHeads));
      const scores = keys.map((key) => {
        let score = 0;
        for (let i = 0; i < headDim; i++) score += at(query, head * headDim + i) * at(key, kvHead * headDim + i);
        return score / Math.sqrt(headDim);
      });
      softmax(scores).forEach((weight, seen) => {
        for (let i = 0; i < headDim; i++) {
          mixed[head * headDim + i] =
            at(mixed, head * headDim + i) + weight * at(values[seen] as Vector, kvHead * headDim + i);
        }
      });
    }
    return this.#times(tensors.attentionOutput, mixed);
  }

  /** Element `i` of a head and element `i + half` are turned together. */
  #rotated(x: Vector, position: number): Vector {
    const { headDim, ropeTheta = 10_000 } = this.#shape;
    const half = headDim / 2;
    return x.map((value, index) => {
      const within = index % headDim;
      const angle = position / ropeTheta ** ((2 * (within % half)) / headDim);
      const other = within < half ? -at(x, index + half) : at(x, index - half);
      return value * Math.cos(angle) + other * Math.sin(angle);
    });
  }

  #norm(x: Vector, tensor: WeightTensor): Vector {
    const meanSquare = x.reduce((sum, value) => sum + value * value, 0) / x.length;
    const scale = 1 / Math.sqrt(meanSquare + (this.#shape.normEpsilon ?? 1e-5));
    const weight = this.#of(tensor);
    return x.map((value, i) => value * scale * at(weight, i));
  }

  #times(tensor: WeightTensor, x: Vector): Vector {
    const [outputs = 0, inputs = 0] = tensor.shape;
    const matrix = this.#of(tensor);
    return new Float64Array(outputs).map((_, row) => {
      let sum = 0;
      for (let i = 0; i < inputs; i++) sum += at(matrix, row * inputs + i) * at(x, i);
      return sum;
    });
  }

  #of({ name }: WeightTensor): Float32Array {
    const values = this.#values[name];
    if (values === undefined) throw new Error(`no values of ${name}`);
    return values;
  }
}

function argmax(values: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (at(values, i) > at(values, best)) best = i;
  return best;
}

function softmax(scores: readonly number[]): number[] {
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

function add(a: Vector, b: Vector): Vector {
  return a.map((value, i) => value + at(b, i));
}

function at(values: ArrayLike<number>, index: number): number {
  return values[index] ?? Number.NaN;
}

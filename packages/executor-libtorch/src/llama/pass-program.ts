/** One operator of a pass as ATen calls: the embedding, decoder layers, the head. */
import { dtypeOf, type Group, type Pass } from "./plan.ts";
import { type BuiltProgram, ProgramBuilder, type Value } from "./program-builder.ts";
import { embeddingTensor, headTensors, type LlamaShape, layerTensors, type WeightTensor } from "./shape.ts";
import { Size } from "./size.ts";

export interface PassProgramOptions {
  readonly shape: LlamaShape;
  readonly group: Group;
  readonly pass: Pass;
  /** Whether the head's logits are fetched beside the token. */
  readonly fetchLogits: boolean;
}

/** What all layers of an operator share. */
interface Context {
  readonly builder: ProgramBuilder;
  readonly shape: LlamaShape;
  readonly pass: Pass;
  /** Tokens in the cache after the pass. */
  readonly total: Size;
  readonly cosines: Value;
  /** With the sign of the rotation: negative for the first half of a head. */
  readonly sines: Value;
  /** What is added to scores; null where there is one token, which sees all. */
  readonly mask: Value | null;
  /** Views of the operator's KV cache [layers, 2, KV heads, tokens, head]: where this pass writes, and what it reads. */
  readonly written: Value;
  readonly cached: Value;
}

/**
 * Reads, as the template declares: `hidden` (not the first operator), `kv` where the cache is continued, `token` (the first operator of a
 * decode), and the external `prompt`. Yields `hidden` or, in the last operator, `token`, and `kv`.
 */
export function passProgram({ shape, group, pass, fetchLogits }: PassProgramOptions): BuiltProgram {
  const builder = new ProgramBuilder();
  const dtype = dtypeOf(shape);
  const cacheShape = kvShape(shape, group);
  const continues = pass.kind !== "prefill";
  const hidden = [pass.tokens, shape.hidden];
  let inputs = 0;
  let x: Value | null = group.isFirst ? null : builder.input(inputs++, hidden, dtype);
  const kv = continues ? builder.input(inputs++, cacheShape, dtype) : zeros(builder, cacheShape, shape);
  if (x === null) {
    const ids =
      pass.kind === "decode" ? builder.input(inputs++, [1], "int64") : builder.feed("prompt", [pass.tokens], "int64");
    const table = weight(builder, shape, embeddingTensor(shape));
    x = builder.fresh("aten::embedding", [table, ids], { shape: hidden, dtype });
  }
  const context = contextOf(builder, shape, pass, kv, group);
  group.layers.forEach((layer, position) => {
    x = decoderLayer(context, layer, position, x as Value);
  });
  if (!group.isLast) return builder.finish([x, kv]);
  const token = head(context, x, fetchLogits);
  builder.fetch("token", token);
  return builder.finish([token, kv]);
}

/** [layers, keys and values, KV heads, capacity, head]. */
export function kvShape(shape: LlamaShape, group: Group): (number | string)[] {
  return [group.layers.length, 2, shape.kvHeads, "capacity", shape.headDim];
}

function contextOf(builder: ProgramBuilder, shape: LlamaShape, pass: Pass, kv: Value, group: Group): Context {
  const total = pass.past.plus(pass.tokens);
  const [layers, two, heads, , width] = kvShape(shape, group) as [number, number, number, string, number];
  return {
    builder,
    shape,
    pass,
    total,
    ...rotation(builder, shape, pass),
    mask: pass.kind === "decode" ? null : causalMask(builder, shape, pass, total),
    // `narrow`, not `slice`: a pass over the capacity fails before it writes, where a slice would be cut short and the token be wrong.
    written: builder.view("aten::narrow", kv, [3, pass.past, pass.tokens], [layers, two, heads, pass.tokens, width]),
    cached: builder.view("aten::narrow", kv, [3, 0, total], [layers, two, heads, total, width]),
  };
}

function zeros(builder: ProgramBuilder, shape: readonly (number | string)[], { dtype = "float32" }: LlamaShape): Value {
  return builder.fresh("aten::zeros", [shape.map(Size.of)], { shape, dtype }, { dtype: { dtype } });
}

/** Cosines and signed sines of the tokens' angles, [tokens, 1, head]: the second half of a head repeats the first. */
function rotation(builder: ProgramBuilder, shape: LlamaShape, pass: Pass): { cosines: Value; sines: Value } {
  const { headDim, ropeTheta = 10_000 } = shape;
  const { tokens, past } = pass;
  const half = headDim / 2;
  const float = { dtype: "float32" } as const;
  const positions = builder.fresh(
    "aten::arange.start",
    [past, past.plus(tokens)],
    { shape: [tokens], ...float },
    { dtype: float },
  );
  const frequencies = builder.fresh("aten::arange", [half], { shape: [half], ...float }, { dtype: float });
  builder.inPlace("aten::mul_.Scalar", frequencies, [-Math.log(ropeTheta) / half]);
  builder.inPlace("aten::exp_", frequencies, []);
  const column = builder.view("aten::unsqueeze", positions, [1], [tokens, 1]);
  const angles = builder.fresh("aten::mul.Tensor", [column, frequencies], { shape: [tokens, half], ...float });
  const cos = builder.fresh("aten::cos", [angles], { shape: [tokens, half], ...float });
  const sin = builder.fresh("aten::sin", [angles], { shape: [tokens, half], ...float });
  const minusSin = builder.fresh("aten::neg", [sin], { shape: [tokens, half], ...float });
  const both = (first: Value, second: Value): Value => {
    const joined = builder.fresh("aten::cat", [[first, second], 1], { shape: [tokens, headDim], ...float });
    const cast = toDtype(builder, joined, shape.dtype ?? "float32");
    return builder.view("aten::unsqueeze", cast, [1], [tokens, 1, headDim]);
  };
  return { cosines: both(cos, cos), sines: both(minusSin, sin) };
}

/** [tokens, total]: 0 where a token of the pass looks, up to `past` and itself, and −∞, the logarithm of 0, where it must not. */
function causalMask(builder: ProgramBuilder, shape: LlamaShape, { tokens, past }: Pass, total: Size): Value {
  const dtype = dtypeOf(shape);
  const mask = builder.fresh("aten::ones", [[tokens, total]], { shape: [tokens, total], dtype }, { dtype: { dtype } });
  builder.inPlace("aten::tril_", mask, [past]);
  builder.inPlace("aten::log_", mask, []);
  return mask;
}

function decoderLayer(context: Context, layer: number, position: number, x: Value): Value {
  const { builder, shape } = context;
  const tensors = layerTensors(shape, layer);
  const attended = attention(context, layer, position, rmsNorm(context, x, tensors.attentionNorm));
  builder.inPlace("aten::add_.Tensor", attended, [x]);
  const normed = rmsNorm(context, attended, tensors.mlpNorm);
  const gate = linear(context, normed, tensors.gate);
  builder.inPlace("aten::silu_", gate, []);
  const up = linear(context, normed, tensors.up);
  builder.inPlace("aten::mul_.Tensor", gate, [up]);
  const down = linear(context, gate, tensors.down);
  builder.inPlace("aten::add_.Tensor", down, [attended]);
  return down;
}

function attention(context: Context, layer: number, position: number, normed: Value): Value {
  const { builder, shape, pass, total } = context;
  const { heads, kvHeads, headDim } = shape;
  const { tokens } = pass;
  const dtype = dtypeOf(shape);
  const group = heads / kvHeads;
  const tensors = layerTensors(shape, layer);
  const key = rotate(context, split(builder, linear(context, normed, tensors.key), kvHeads, headDim));
  store(context, position, 0, key);
  store(context, position, 1, split(builder, linear(context, normed, tensors.value), kvHeads, headDim));
  const query = rotate(context, split(builder, linear(context, normed, tensors.query), heads, headDim));
  builder.inPlace("aten::mul_.Scalar", query, [1 / Math.sqrt(headDim)]);
  // The query heads that share a KV head become rows of one matrix.
  const rows = tokens.times(group);
  const grouped = builder.view(
    "aten::view",
    query,
    [[tokens, kvHeads, group, headDim]],
    [tokens, kvHeads, group, headDim],
  );
  const turned = builder.view("aten::permute", grouped, [[1, 2, 0, 3]], [kvHeads, group, tokens, headDim]);
  const queries = builder.fresh("aten::reshape", [turned, [kvHeads, rows, headDim]], {
    shape: [kvHeads, rows, headDim],
    dtype,
  });
  const keys = builder.view("aten::transpose.int", load(context, position, 0), [1, 2], [kvHeads, headDim, total]);
  const scores = builder.fresh("aten::bmm", [queries, keys], { shape: [kvHeads, rows, total], dtype });
  if (context.mask !== null) {
    const byHead = builder.view("aten::view", scores, [[heads, tokens, total]], [heads, tokens, total]);
    builder.inPlace("aten::add_.Tensor", byHead, [context.mask]);
  }
  const weights = builder.fresh("aten::_softmax", [scores, -1, false], { shape: [kvHeads, rows, total], dtype });
  const values = load(context, position, 1);
  const mixed = builder.fresh("aten::bmm", [weights, values], { shape: [kvHeads, rows, headDim], dtype });
  const back = builder.view(
    "aten::view",
    mixed,
    [[kvHeads, group, tokens, headDim]],
    [kvHeads, group, tokens, headDim],
  );
  const byToken = builder.view("aten::permute", back, [[2, 0, 1, 3]], [tokens, kvHeads, group, headDim]);
  const width = heads * headDim;
  const joined = builder.fresh("aten::reshape", [byToken, [tokens, width]], { shape: [tokens, width], dtype });
  return linear(context, joined, tensors.attentionOutput);
}

/** [tokens, heads · head] as [tokens, heads, head]. */
function split(builder: ProgramBuilder, x: Value, heads: number, headDim: number): Value {
  const [tokens = 1] = x.shape;
  return builder.view("aten::view", x, [[Size.of(tokens), heads, headDim]], [tokens, heads, headDim]);
}

/** Rotates pairs of elements half a head apart by their token's angle, in place. */
function rotate({ builder, shape, cosines, sines }: Context, x: Value): Value {
  const swapped = builder.fresh("aten::roll", [x, [shape.headDim / 2], [-1]], x);
  builder.inPlace("aten::mul_.Tensor", x, [cosines]);
  builder.inPlace("aten::addcmul_", x, [swapped, sines]);
  return x;
}

/** Writes keys (0) or values (1) of the pass into the cache. */
function store(context: Context, position: number, which: 0 | 1, x: Value): void {
  const { builder, shape, pass } = context;
  const { kvHeads, headDim } = shape;
  const slot = select(builder, context.written, position, which);
  const byHead = builder.view("aten::permute", x, [[1, 0, 2]], [kvHeads, pass.tokens, headDim]);
  builder.inPlace("aten::copy_", slot, [byHead]);
}

/** Keys (0) or values (1) of a layer, [KV heads, total, head]. */
function load(context: Context, position: number, which: 0 | 1): Value {
  return select(context.builder, context.cached, position, which);
}

function select(builder: ProgramBuilder, cache: Value, position: number, which: 0 | 1): Value {
  const ofLayer = builder.view("aten::select.int", cache, [0, position], cache.shape.slice(1));
  return builder.view("aten::select.int", ofLayer, [0, which], cache.shape.slice(2));
}

/** The token with the largest logit after the last one. */
function head(context: Context, x: Value, fetchLogits: boolean): Value {
  const { builder, shape, pass } = context;
  const { norm, head: matrix } = headTensors(shape);
  const last = builder.view("aten::slice.Tensor", x, [0, pass.tokens.minus(1), pass.tokens], [1, shape.hidden]);
  const logits = linear(context, rmsNorm(context, last, norm), matrix);
  if (fetchLogits) builder.fetch("logits", logits);
  return builder.fresh("aten::argmax", [logits, -1], { shape: [1], dtype: "int64" });
}

/** x ÷ √(mean of x² + ε) · weight, over the last dimension. */
function rmsNorm({ builder, shape }: Context, x: Value, scale: WeightTensor): Value {
  const [tokens = 1] = x.shape;
  const float = { dtype: "float32" } as const;
  const wide = toDtype(builder, x, "float32");
  const squares = builder.fresh("aten::mul.Tensor", [wide, wide], { shape: x.shape, ...float });
  const mean = builder.fresh("aten::mean.dim", [squares, [-1], true], { shape: [tokens, 1], ...float });
  builder.inPlace("aten::add_.Scalar", mean, [shape.normEpsilon ?? 1e-5]);
  builder.inPlace("aten::rsqrt_", mean, []);
  const normed = toDtype(
    builder,
    builder.fresh("aten::mul.Tensor", [wide, mean], { shape: x.shape, ...float }),
    x.dtype,
  );
  builder.inPlace("aten::mul_.Tensor", normed, [weight(builder, shape, scale)]);
  return normed;
}

function linear({ builder, shape }: Context, x: Value, tensor: WeightTensor): Value {
  const [tokens = 1] = x.shape;
  const [outputs = 1] = tensor.shape;
  return builder.fresh("aten::linear", [x, weight(builder, shape, tensor)], {
    shape: [tokens, outputs],
    dtype: x.dtype,
  });
}

function toDtype(builder: ProgramBuilder, x: Value, dtype: Value["dtype"]): Value {
  return x.dtype === dtype ? x : builder.fresh("aten::to.dtype", [x, { dtype }], { shape: x.shape, dtype });
}

function weight(builder: ProgramBuilder, shape: LlamaShape, { name, shape: sizes }: WeightTensor): Value {
  return builder.weight(name, sizes, dtypeOf(shape));
}

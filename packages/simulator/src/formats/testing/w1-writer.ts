import type { W1Columns } from "../w1-nodes.ts";

/** What a W1 file is made of, node by node; edges from `preds`. */
export interface W1Node {
  readonly resource: number;
  readonly model: number;
  readonly memory: number;
  readonly x: number;
  readonly bytes: number;
  readonly preds: readonly number[];
}

export interface W1Parts {
  readonly accelerators: number;
  readonly requests: number;
  readonly groups: number;
  readonly passes: number;
  readonly nodes: readonly W1Node[];
  readonly a: readonly number[];
  readonly b: readonly number[];
}

export interface W1Shape {
  /** Even. */
  readonly accelerators: number;
  readonly promptTokens: readonly number[];
  readonly passes: number;
  readonly hasKv: boolean;
  /** Of the models, in ms; each request uses one. */
  readonly models: readonly { readonly a: number; readonly b: number }[];
}

const HIDDEN_BYTES = 8192;
const KV_BYTES = 32_768;
const LINK = { a: 0.05, b: 1 / 12e6 };

/** Requests round robin over pairs of accelerators, four groups of layers per pass, as the yardstick lays them. */
export function w1Parts({ accelerators, promptTokens, passes, hasKv, models }: W1Shape): W1Parts {
  const nodes: W1Node[] = [];
  for (const [request, prompt] of promptTokens.entries()) {
    const first = 2 * (request % (accelerators / 2));
    const model = request % models.length;
    const lastOfGroup: number[] = [];
    let previous: number[] = [];
    const add = (node: Omit<W1Node, "preds">, preds: readonly number[]) => {
      nodes.push({ ...node, preds });
      previous = [nodes.length - 1];
    };
    for (let pass = 0; pass < passes; pass++) {
      const tokens = pass === 0 ? prompt : 1;
      for (let group = 0; group < 4; group++) {
        const on = group < 2 ? first : first + 1;
        const hidden = (group === 3 ? 1 : tokens) * HIDDEN_BYTES;
        const before = lastOfGroup[group];
        const x = pass === 0 ? prompt : 1 + (prompt + pass) / 1024;
        const kept = hasKv ? tokens * KV_BYTES : 0;
        const preds = hasKv && before !== undefined ? [before, ...previous] : previous;
        add({ resource: on, model, memory: on, x, bytes: hidden + kept }, [...new Set(preds)]);
        lastOfGroup[group] = nodes.length - 1;
        const isLast = pass === passes - 1;
        const to = group === 1 ? first + 1 : first;
        if (group === 1 || (group === 3 && !isLast))
          add({ resource: accelerators + on, model: models.length, memory: to, x: hidden, bytes: hidden }, previous);
      }
    }
  }
  const all = [...models, LINK];
  return {
    ...{ accelerators, requests: promptTokens.length, groups: 4, passes, nodes },
    ...{ a: all.map(({ a }) => a), b: all.map(({ b }) => b) },
  };
}

type Columns = { readonly [K in keyof W1Columns]: W1Columns[K] extends number ? number : number[] };

function columnsOf({ accelerators, nodes, a, b }: W1Parts): Columns & { predPtr: number[]; pred: number[] } {
  const succs: number[][] = nodes.map(() => []);
  for (const [node, { preds }] of nodes.entries()) for (const pred of preds) succs[pred]?.push(node);
  const offsets = (lists: readonly (readonly number[])[]) => {
    const ends = [0];
    for (const { length } of lists) ends.push((ends.at(-1) ?? 0) + length);
    return ends;
  };
  return {
    ...{ accelerators, nodes: nodes.length, edges: succs.flat().length, models: a.length },
    ...{ res: nodes.map(({ resource }) => resource), est: nodes.map(({ model }) => model) },
    ...{ memAcc: nodes.map(({ memory }) => memory), succPtr: offsets(succs), succ: succs.flat() },
    ...{ predPtr: offsets(nodes.map(({ preds }) => preds)), pred: nodes.flatMap(({ preds }) => preds) },
    ...{ x: nodes.map(({ x }) => x), bytes: nodes.map(({ bytes }) => bytes), a: [...a], b: [...b] },
  };
}

export function writeW1(parts: W1Parts): Uint8Array {
  const { res, est, memAcc, succPtr, succ, predPtr, pred, x, bytes, a, b, nodes, edges, models } = columnsOf(parts);
  const { accelerators, requests, groups, passes } = parts;
  const header = [0x31563157, accelerators, 2 * accelerators, nodes, edges, models, requests, groups, passes, 0];
  const ints = [
    ...header,
    ...new Array(6).fill(0),
    ...res,
    ...est,
    ...memAcc,
    ...succPtr,
    ...succ,
    ...predPtr,
    ...pred,
  ];
  if (ints.length % 2 === 1) ints.push(0);
  const floats = [...x, ...bytes, ...a, ...b];
  const view = new DataView(new ArrayBuffer(4 * ints.length + 8 * floats.length));
  for (const [index, value] of ints.entries()) view.setInt32(4 * index, value, true);
  for (const [index, value] of floats.entries()) view.setFloat64(4 * ints.length + 8 * index, value, true);
  return new Uint8Array(view.buffer);
}

export function writeW1Json(parts: W1Parts): string {
  const { nodes: n, edges: e, res, est, memAcc, succPtr, succ, x, bytes, a, b } = columnsOf(parts);
  const { accelerators: N, requests: R, groups: G, passes: P } = parts;
  return JSON.stringify({ N, R, G, P, kv: false, n, e, res, est, memAcc, succPtr, succ, x, bytes, a, b });
}

import type { Dag, DagOperator } from "../dag.ts";
import { type Link, numberedAccelerators } from "./layout.ts";
import { orderOf } from "./order.ts";
import { checkColumns, type W1Columns, type W1Fail } from "./w1-nodes.ts";

/**
 * The graph of W1 columns: each node of an accelerator becomes the operator "op" + its index; a node of a link becomes the
 * transfer that `simulateDag` plans between its neighbours by itself.
 *
 * `simulateDag` moves the whole output of an operator. Where a node hands on less than it holds (a KV cache stays), the
 * operator is split: the part that stays is the output of "op7", which ends 1 ns early; what moves is its workspace until
 * then, and afterwards the output of "op7:moved", which takes the last nanosecond, is more urgent than all others and reads
 * the same inputs. So starts, ends, transfers and bytes are those of one operator.
 */
export function w1Graph(w1: W1Columns, fail: W1Fail): Dag {
  checkColumns(w1, fail);
  const preds = predecessorsOf(w1);
  const order = orderOf(preds);
  if (!order.acyclic) {
    const cycle = order.cycle;
    const shown = cycle.slice(0, 8).join(" → ");
    const end = cycle.length > 8 ? `… (${cycle.length - 8} more)` : `${cycle[0]}`;
    fail("CYCLE", "succPtr", cycle[0] ?? 0, `the nodes ${shown} → ${end} wait for each other`, { nodes: cycle });
  }
  const movedBytes = movedBytesOf(w1, preds, fail);
  const isSplit = (node: number) => (movedBytes[node] ?? 0) >= 0 && movedBytes[node] !== w1.bytes[node];
  const anySplit = movedBytes.some((_, node) => isSplit(node));
  const operators: DagOperator[] = [];
  for (let node = 0; node < w1.nodes; node++) {
    if (!isOnAccelerator(w1, node)) continue;
    const whole = operatorOf(w1, preds, node, isSplit, fail);
    if (!anySplit) operators.push(whole);
    else if (!isSplit(node)) operators.push({ ...whole, rank: 1 });
    else operators.push(...split(whole, node, movedBytes[node] ?? 0, fail));
  }
  const link = linkOf(w1, fail);
  return { accelerators: numberedAccelerators(w1.accelerators), operators, ...(link === null ? {} : { link }) };
}

function isOnAccelerator(w1: W1Columns, node: number): boolean {
  return (w1.res[node] ?? 0) < w1.accelerators;
}

/** Per node the nodes that it waits for, ascending, each once. */
function predecessorsOf({ nodes, succPtr, succ }: W1Columns): number[][] {
  const preds: number[][] = Array.from({ length: nodes }, () => []);
  for (let node = 0; node < nodes; node++) {
    for (let edge = succPtr[node] ?? 0; edge < (succPtr[node + 1] ?? 0); edge++) {
      const of = preds[succ[edge] ?? 0];
      if (of !== undefined && of.at(-1) !== node) of.push(node);
    }
  }
  return preds;
}

/**
 * Per node the bytes that its transfers move, −1 where it has none. Refuses what `simulateDag` has no words for: an edge
 * between accelerators that costs nothing, a transfer of a transfer, two transfers of one output to one accelerator.
 */
function movedBytesOf(w1: W1Columns, preds: readonly (readonly number[])[], fail: W1Fail): Float64Array {
  const moved = new Float64Array(w1.nodes).fill(-1);
  const destinations = new Set<number>();
  for (let node = 0; node < w1.nodes; node++) {
    const on = w1.memAcc[node] ?? 0;
    if (isOnAccelerator(w1, node)) {
      if (on !== w1.res[node])
        fail("NOT_EXPRESSIBLE", "memAcc", node, `node ${node} runs on ${w1.res[node]} and holds its output on ${on}`);
      for (const pred of preds[node] ?? []) {
        if (w1.memAcc[pred] !== on)
          fail(
            "NOT_EXPRESSIBLE",
            "res",
            node,
            `node ${node} on ${on} reads node ${pred} on ${w1.memAcc[pred]} with no transfer`,
          );
      }
      continue;
    }
    const [from, ...others] = preds[node] ?? [];
    const source = (w1.res[node] ?? 0) - w1.accelerators;
    if (
      from === undefined ||
      others.length > 0 ||
      !isOnAccelerator(w1, from) ||
      w1.res[from] !== source ||
      source === on
    )
      fail(
        "NOT_EXPRESSIBLE",
        "res",
        node,
        `transfer ${node} must follow one node of accelerator ${source} and lead to another accelerator`,
      );
    if (w1.succPtr[node] === w1.succPtr[node + 1])
      fail("NOT_EXPRESSIBLE", "succPtr", node, `nothing reads what transfer ${node} moves`);
    const bytes = w1.bytes[node] ?? 0;
    const before = moved[from] ?? -1;
    const route = from * w1.accelerators + on;
    if (destinations.has(route) || (before !== -1 && before !== bytes) || bytes > (w1.bytes[from] ?? 0))
      fail(
        "NOT_EXPRESSIBLE",
        "bytes",
        node,
        `transfer ${node} moves ${bytes} bytes of the ${w1.bytes[from]} of node ${from}: more than there are, another size than another transfer of it, or a second time to accelerator ${on}`,
      );
    destinations.add(route);
    moved[from] = bytes;
  }
  return moved;
}

function operatorOf(
  w1: W1Columns,
  preds: readonly (readonly number[])[],
  node: number,
  isSplit: (node: number) => boolean,
  fail: W1Fail,
): DagOperator {
  const model = w1.est[node] ?? 0;
  const durationNs = Math.round(1e6 * ((w1.a[model] ?? 0) + (w1.b[model] ?? 0) * (w1.x[node] ?? 0)));
  if (!(Number.isSafeInteger(durationNs) && durationNs >= 1))
    fail(
      "INVALID_DURATION",
      "x",
      node,
      `node ${node} lasts ${durationNs} ns by model ${model}; it must be a whole number from 1 to 2^53 − 1`,
      { node, durationNs },
    );
  const inputs: string[] = [];
  for (const pred of preds[node] ?? []) {
    if (isOnAccelerator(w1, pred)) {
      inputs.push(nameOf(pred));
      if (isSplit(pred)) inputs.push(movedNameOf(pred));
    } else {
      const from = preds[pred]?.[0] ?? 0;
      inputs.push(isSplit(from) ? movedNameOf(from) : nameOf(from));
    }
  }
  const accelerator = String(w1.res[node]);
  return { name: nameOf(node), accelerator, durationNs, inputs, outputBytes: w1.bytes[node] ?? 0 };
}

function nameOf(node: number): string {
  return `op${node}`;
}

function movedNameOf(node: number): string {
  return `op${node}:moved`;
}

function split(whole: DagOperator, node: number, movedBytes: number, fail: W1Fail): DagOperator[] {
  const { durationNs, outputBytes = 0, inputs = [] } = whole;
  if (durationNs < 2)
    fail("NOT_EXPRESSIBLE", "x", node, `node ${node} lasts 1 ns and hands on a part of its output: it cannot be split`);
  return [
    {
      ...whole,
      durationNs: durationNs - 1,
      outputBytes: outputBytes - movedBytes,
      workspaceBytes: movedBytes,
      rank: 1,
    },
    {
      ...whole,
      name: movedNameOf(node),
      durationNs: 1,
      inputs: [...inputs, whole.name],
      outputBytes: movedBytes,
      rank: 0,
    },
  ];
}

/** The one model of all transfers, or `null` without any: a latency in ms and ms per byte become a link. */
function linkOf(w1: W1Columns, fail: W1Fail): Link | null {
  let model = -1;
  for (let node = 0; node < w1.nodes; node++) {
    if (isOnAccelerator(w1, node)) continue;
    const own = w1.est[node] ?? 0;
    if (model !== -1 && own !== model)
      fail(
        "NOT_EXPRESSIBLE",
        "est",
        node,
        `transfer ${node} lasts by model ${own}, another by model ${model}; all links are alike`,
      );
    model = own;
    if (w1.x[node] !== w1.bytes[node])
      fail(
        "NOT_EXPRESSIBLE",
        "x",
        node,
        `transfer ${node} lasts as for ${w1.x[node]} bytes and moves ${w1.bytes[node]}`,
      );
  }
  if (model === -1) return null;
  const latencyNs = Math.round(1e6 * (w1.a[model] ?? 0));
  const bytesPerSecond = 1000 / (w1.b[model] ?? 0);
  if (!Number.isSafeInteger(latencyNs))
    fail("INVALID_NUMBER", "a", model, `the latency of transfers is ${latencyNs} ns; it must be at most 2^53 − 1`);
  if (!(bytesPerSecond > 0 && Number.isFinite(bytesPerSecond)))
    fail(
      "INVALID_NUMBER",
      "b",
      model,
      `transfers move ${bytesPerSecond} bytes per second; it must be above 0 and finite`,
    );
  return { latencyNs, bytesPerSecond };
}

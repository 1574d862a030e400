import { exactMovingNs } from "./exact-link.ts";
import type { W1Parts } from "./w1-writer.ts";

/**
 * W1's own rules, as slowly as they read: every node, transfers too, runs on its resource, first ready first served; its
 * bytes are held from its start until all that follow it are done. Times are rounded to nanoseconds beforehand.
 * @param keepsWhole Whether what a node does not hand on stays until its transfer has ended (W1), or only until its readers on
 * the same accelerator have (as two tensors would).
 */
export function runW1(parts: W1Parts, keepsWhole: boolean): { doneNs: number[]; peakBytes: number[] } {
  const { accelerators, nodes, a, b } = parts;
  const durations = nodes.map(({ model, x, resource, bytes }) => {
    const [constant = 0, slope = 0] = [a[model], b[model]];
    if (resource < accelerators) return Math.round(1e6 * (constant + slope * x));
    return Math.round(1e6 * constant) + exactMovingNs(bytes, 1000 / slope);
  });
  const readers = nodes.map((_, node) => nodes.flatMap(({ preds }, reader) => (preds.includes(node) ? [reader] : [])));
  const isTransfer = (node: number) => (nodes[node]?.resource ?? 0) >= accelerators;
  const transferOf = (node: number) => (readers[node] ?? []).find(isTransfer);
  const moved = nodes.map(({ bytes }, node) => nodes[transferOf(node) ?? -1]?.bytes ?? bytes);
  const readyNs: number[] = nodes.map(({ preds }) => (preds.length === 0 ? 0 : Number.NaN));
  const startNs: number[] = nodes.map(() => Number.NaN);
  const doneNs: number[] = nodes.map(() => Number.NaN);
  const usedBytes = new Array<number>(accelerators).fill(0);
  const peakBytes = new Array<number>(accelerators).fill(0);
  const isDone = (node: number) => !Number.isNaN(doneNs[node]);
  const isFree = (resource: number) =>
    nodes.every((node, index) => node.resource !== resource || Number.isNaN(startNs[index]) || isDone(index));

  const use = (node: number, bytes: number) => {
    const on = nodes[node]?.memory ?? 0;
    usedBytes[on] = (usedBytes[on] ?? 0) + bytes;
    peakBytes[on] = Math.max(peakBytes[on] ?? 0, usedBytes[on]);
  };
  const kept = (node: number) => (nodes[node]?.bytes ?? 0) - (moved[node] ?? 0);
  /** Frees the parts of `node` that wait for nobody any more, now that `ended` is done. */
  const free = (node: number, ended: number) => {
    const all = readers[node] ?? [];
    if (all.every(isDone)) use(node, -(moved[node] ?? 0));
    const local = keepsWhole ? all : all.filter((reader) => !isTransfer(reader));
    const concerns = local.includes(ended) || (local.length === 0 && ended === node);
    if (concerns && local.every(isDone)) use(node, -kept(node));
  };
  const startNext = (resource: number, nowNs: number) => {
    if (!isFree(resource)) return;
    const waiting = nodes.flatMap((node, index) =>
      node.resource === resource && (readyNs[index] ?? Number.NaN) <= nowNs && Number.isNaN(startNs[index])
        ? [index]
        : [],
    );
    const next = waiting.sort((p, q) => (readyNs[p] ?? 0) - (readyNs[q] ?? 0) || p - q)[0];
    if (next === undefined) return;
    startNs[next] = nowNs;
    use(next, nodes[next]?.bytes ?? 0);
  };

  for (let resource = 0; resource < 2 * accelerators; resource++) startNext(resource, 0);
  for (;;) {
    const running = nodes.flatMap((_, node) => (!Number.isNaN(startNs[node]) && !isDone(node) ? [node] : []));
    const endNs = (node: number) => (startNs[node] ?? 0) + (durations[node] ?? 0);
    const kind = (node: number) => (isTransfer(node) ? 1 : 0);
    const node = running.sort((p, q) => endNs(p) - endNs(q) || kind(p) - kind(q) || p - q)[0];
    if (node === undefined) return { doneNs, peakBytes };
    const nowNs = endNs(node);
    doneNs[node] = nowNs;
    for (const pred of nodes[node]?.preds ?? []) free(pred, node);
    free(node, node);
    const readied = (readers[node] ?? []).filter((reader) => (nodes[reader]?.preds ?? []).every(isDone));
    for (const reader of readied) readyNs[reader] = nowNs;
    for (const resource of readied.filter(isTransfer).map((reader) => nodes[reader]?.resource ?? 0))
      startNext(resource, nowNs);
    startNext(nodes[node]?.resource ?? 0, nowNs);
    for (const reader of readied) startNext(nodes[reader]?.resource ?? 0, nowNs);
  }
}

import type { Evaluation } from "./evaluation.ts";
import { forEach, INPUTS, PLACE, PRESENT_AT_BEGIN, TRANSFER, UNDERWAY } from "./nodes.ts";
import type { Planned } from "./planned.ts";
import { doneNs, presentNs, raisedNs, startNs, transferNumber } from "./results.ts";
import type { CriticalStep, SimOperator } from "./types.ts";

/**
 * The chain of operators and transfers behind one node, first to last: each started at the instant at which the one before ended,
 * because of that. Without a node, behind the one that ended last.
 */
export function criticalPathOf(planned: Planned, evaluation: Evaluation, to: number): readonly CriticalStep[] {
  const endings = new Endings(planned, evaluation);
  const path: CriticalStep[] = [];
  let node = to === -1 ? endings.last : to;
  if (node === -1 || Number.isNaN(doneNs(planned, evaluation, node))) return path;
  while (node !== -1) {
    const { waitedFor, sinceNs, before } = cause(planned, evaluation, endings, node);
    const isTransfer = endings.isTransfer(node);
    const sender = isTransfer ? (planned.nodes.i32[(node << 4) + INPUTS] as number) : node;
    path.push({
      operator: planned.operatorOf[node] as SimOperator | -1,
      transfer: isTransfer ? transferNumber(planned, node) : -1,
      accelerator: planned.accelerator(sender),
      sinceNs,
      startNs: startNs(planned, node),
      doneNs: doneNs(planned, evaluation, node),
      waitedFor,
    });
    node = before;
  }
  return path.reverse();
}

interface Cause {
  readonly waitedFor: CriticalStep["waitedFor"];
  /** When it was ready, or an intent. */
  readonly sinceNs: number;
  readonly before: number;
}

function cause(planned: Planned, evaluation: Evaluation, endings: Endings, node: number): Cause {
  const place = planned.nodes.i32[(node << 4) + PLACE] as number;
  const beganNs = startNs(planned, node);
  const isTransfer = (place & TRANSFER) !== 0;
  let input = -1;
  let inputNs = Number.NEGATIVE_INFINITY;
  forEach(planned.nodes, INPUTS, node, (copy) => {
    if (((planned.nodes.i32[(copy << 4) + PLACE] as number) & PRESENT_AT_BEGIN) !== 0) return;
    const maker = planned.producer[copy] === -1 ? copy : (planned.producer[copy] as number);
    const ns = presentNs(planned, evaluation, copy);
    if (ns < inputNs || (ns === inputNs && !endings.isLater(maker, input))) return;
    inputNs = ns;
    input = maker;
  });
  const sinceNs = sinceOf(planned, evaluation, node, isTransfer, inputNs);
  if ((place & UNDERWAY) !== 0 || beganNs <= planned.beginNs) return { waitedFor: "begin", sinceNs, before: -1 };
  if (inputNs === beganNs) return { waitedFor: "input", sinceNs, before: input };
  return isTransfer
    ? { waitedFor: "port", sinceNs, before: endings.lastSharing(node, beganNs) }
    : { waitedFor: "accelerator", sinceNs, before: endings.lastOn(planned.accelerator(node), beganNs) };
}

function sinceOf(planned: Planned, evaluation: Evaluation, node: number, isTransfer: boolean, inputNs: number): number {
  if (isTransfer) return raisedNs(planned, evaluation, node);
  if (inputNs > planned.beginNs) return inputNs;
  const readyNs = planned.problem.operatorReadySinceNs[planned.operatorOf[node] as number] as number;
  return Number.isNaN(readyNs) ? planned.beginNs : readyNs;
}

/** What ended when. */
class Endings {
  /** The node that ended last of all, −1 = none. */
  last = -1;
  readonly #planned: Planned;
  readonly #at = new Map<number, number[]>();

  constructor(planned: Planned, evaluation: Evaluation) {
    this.#planned = planned;
    let lastNs = Number.NEGATIVE_INFINITY;
    const add = (node: number) => {
      const ns = doneNs(planned, evaluation, node);
      if (Number.isNaN(ns)) return;
      const nodes = this.#at.get(ns);
      if (nodes === undefined) this.#at.set(ns, [node]);
      else nodes.push(node);
      if (ns < lastNs || (ns === lastNs && !this.isLater(node, this.last))) return;
      lastNs = ns;
      this.last = node;
    };
    for (let operator = 0; operator < planned.operators; operator++) add(planned.operatorNode[operator] as number);
    for (let transfer = 0; transfer < planned.transfers; transfer++) add(planned.transferNode[transfer] as number);
  }

  isTransfer(node: number): boolean {
    return ((this.#planned.nodes.i32[(node << 4) + PLACE] as number) & TRANSFER) !== 0;
  }

  /** Of two that end at the same instant, whether the first is looked at after the second. */
  isLater(node: number, other: number): boolean {
    if (other === -1) return true;
    const [kind, otherKind] = [this.isTransfer(node), this.isTransfer(other)];
    return kind === otherKind ? node > other : kind;
  }

  lastOn(accelerator: number, ns: number): number {
    return this.#latest(ns, (node) => !this.isTransfer(node) && this.#planned.accelerator(node) === accelerator);
  }

  /** A transfer that freed a port or a link which this one takes; where only its turn came with time, what ended then. */
  lastSharing(node: number, ns: number): number {
    const ports = new Set(this.#portsOf(node));
    const sharing = this.#latest(ns, (it) => this.isTransfer(it) && this.#portsOf(it).some((port) => ports.has(port)));
    return sharing === -1 ? this.#latest(ns, () => true) : sharing;
  }

  #latest(ns: number, matches: (node: number) => boolean): number {
    let latest = -1;
    for (const node of this.#at.get(ns) ?? []) if (matches(node) && this.isLater(node, latest)) latest = node;
    return latest;
  }

  #portsOf(transfer: number): number[] {
    const { nodes, intents } = this.#planned;
    const source = this.#planned.accelerator(nodes.i32[(transfer << 4) + INPUTS] as number);
    const destination = this.#planned.accelerator(transfer);
    const count = intents.ports.portCount(source, destination);
    return Array.from({ length: count }, (_, at) => intents.ports.portAt(source, destination, at));
  }
}

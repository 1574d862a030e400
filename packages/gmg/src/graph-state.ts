import type { ClaimBook, ResidencyLedger, Shortage, TensorId } from "@slicescheduler/memory";
import type { AcceleratorIndex, Cluster, CompiledPartition, Template } from "@slicescheduler/templates";
import type { Frontier } from "./frontier.ts";
import { IllegalMoveError } from "./graph-errors.ts";
import type { IssuedByClass } from "./issued-by-class.ts";
import type {
  InstanceNode,
  OperatorNode,
  RequestId,
  RequestNode,
  TensorCopy,
  TensorNode,
  TransferNode,
} from "./nodes.ts";
import type { InstanceId, InstanceState, IssueNumber, TransferNumber } from "./types.ts";

/** How an instance ended, for good. */
export type Outcome = Exclude<InstanceState, "live">;

/** What a change asks of the outside, in order; `takeEffects` hands it over and starts a new one. */
export interface GraphEffects {
  /** Copies whose hold was dropped. */
  readonly releases: { readonly tensor: TensorId; readonly accelerator: AcceleratorIndex }[];
  /** Copies that are held again. */
  readonly holds: { readonly tensor: TensorId; readonly accelerator: AcceleratorIndex }[];
  /** Issued operators to take back from the executor. */
  readonly withdrawals: IssueNumber[];
  /** Issued operators, not started nor asked back, that are of another priority class now; the last one about an operator counts. */
  readonly reranks: { readonly issueNumber: IssueNumber; readonly rank: number }[];
  /** Intents that are of another priority class now; the last one about a transfer counts. */
  readonly transferReranks: { readonly transfer: TransferNumber; readonly rank: number }[];
  /** Instances that reached their outcome. */
  readonly settled: { readonly instance: InstanceNode; readonly outcome: Outcome }[];
}

/** Everything a graph knows; the modules beside this one change it, `graph.ts` is their only caller. */
export interface GraphState {
  readonly cluster: Cluster;
  readonly ledger: ResidencyLedger;
  readonly claims: ClaimBook<RequestNode>;
  readonly frontier: Frontier;
  readonly templates: Map<string, Template>;
  /** Size of all weights of a name. */
  readonly weightBytes: Map<string, number>;
  readonly requests: Map<RequestId, RequestNode>;
  readonly instances: Map<InstanceId, InstanceNode>;
  readonly tensors: Map<TensorId, TensorNode>;
  /** Operators an executor has, cancelled ones included, by rising issue number. */
  readonly issued: Map<IssueNumber, OperatorNode>;
  readonly transfers: Map<TransferNumber, TransferNode>;
  /** Per accelerator. */
  readonly availability: Availability[];
  /** Accelerators on which nothing is placed anew for now, though they are there. Not part of a snapshot: whoever asked for it asks again. */
  readonly avoided: Set<AcceleratorIndex>;
  /** Requests that wait to be laid elsewhere. */
  readonly relocating: Set<RequestNode>;
  /** `issued` by priority class. */
  readonly issuedByClass: IssuedByClass;
  effects: GraphEffects;
  nextTensor: TensorId;
  nextIssue: IssueNumber;
  nextTransfer: TransferNumber;
}

/** How many of each are in a graph. */
export interface GraphCounts {
  readonly requests: number;
  readonly instances: number;
  readonly tensors: number;
  readonly issuedOperators: number;
  readonly transfers: number;
}

/** Where an operator could be laid, or what is lacking. */
export interface PlacementOption {
  readonly partition: CompiledPartition;
  /** Null when its memory is (or can be) reserved. */
  readonly shortage: Shortage | null;
}

/** `"draining"`: what is placed there runs to its end, and nothing else is placed; `"down"`: it is not there. */
export type Availability = "up" | "draining" | "down";

/** Whether requests may be placed on it: all of its accelerators are there, and none is being drained. */
export function partitionIsUp(state: GraphState, { used }: CompiledPartition): boolean {
  return used.every((accelerator) => state.availability[accelerator] === "up");
}

export function noEffects(): GraphEffects {
  return { releases: [], holds: [], withdrawals: [], reranks: [], transferReranks: [], settled: [] };
}

export function copyOn(tensor: TensorNode, accelerator: AcceleratorIndex): TensorCopy | undefined {
  return tensor.copies.find((copy) => copy.accelerator === accelerator);
}

/** `"forward/layers0 of instance 7"`, for messages. */
export function nameOf(operator: OperatorNode): string {
  const { instance, index } = operator;
  return `${instance.template.name}/${instance.template.operators[index]?.name} of instance ${instance.id}`;
}

/** Throws with what is known of the operator. */
export function illegalMove(operator: OperatorNode, asked: string): never {
  const { state, accelerator, issueNumber, issuedNs, startedNs, doneNs } = operator;
  throw new IllegalMoveError(
    `${nameOf(operator)} is ${state} and cannot be ${asked} (issue ${issueNumber} on accelerator ${accelerator}, issued at ` +
      `${issuedNs} ns, started at ${startedNs} ns, done at ${doneNs} ns)`,
    { instance: operator.instance.id, operator: operator.index, state, asked },
  );
}

/**
 * Whether an unscheduled operator has to wait for news of transfers before it is issued: of its inputs, which may not come; or of
 * its outputs, planned when it was issued before. It was given back, and their end was not heard yet: executors report that they cancelled
 * a transfer where it was to go, so that the two may overtake each other. A tensor's transfers are all of one issue of its producer.
 */
export function isInDoubt({ inputs, outputs }: OperatorNode): boolean {
  return outputs.some(({ transfers }) => transfers.length > 0) || inputs.some(mayNotCome);
}

/**
 * Its producer was asked back; or a planned transfer of it may have been cancelled without the graph knowing yet: a queue that gives an
 * operator back drops the planned transfers nobody else there waits for, and says so next. No further operator may count on it till then.
 */
function mayNotCome(tensor: TensorNode): boolean {
  if (tensor.producer.recalled) return true;
  for (const { state, waiting } of tensor.transfers) {
    if (state === "cancelling") return true;
    if (state !== "planned") continue;
    for (const operator of waiting) if (operator.state !== "issued" || operator.recalled) return true;
  }
  return false;
}

/** Whether later instances may still refer to it. */
export function isAttachable(tensor: TensorNode): boolean {
  const { state } = tensor.producer;
  if (state === "cancelled" || state === "failed") return false;
  if (tensor.retained || state === "unscheduled") return true;
  return tensor.unissuedConsumers > 0 && !isKeptForRecalled(tensor);
}

/** It was released when all that read it had been issued, and stayed only where one of them was asked back: nobody else can have it from there. */
function isKeptForRecalled({ producer, copies }: TensorNode): boolean {
  if (producer.instance.request.relocating || copies.length === 0) return false;
  return copies.every(({ accelerator }) => accelerator !== producer.accelerator);
}

/** Frees every copy, wanted or not, of a tensor that no issued operator and no transfer uses. */
export function giveUpCopies(state: GraphState, tensor: TensorNode): void {
  for (const copy of [...tensor.copies]) {
    copy.held = false;
    state.effects.releases.push({ tensor: tensor.id, accelerator: copy.accelerator });
    state.ledger.release(tensor.id, copy.accelerator);
  }
}

/**
 * Drops the holds on every copy of a tensor that no unissued operator reads and the application does not retain. Until then
 * all are held: a copy an executor may free at any moment could not be given to a further consumer.
 */
export function dropHolds(state: GraphState, tensor: TensorNode): void {
  if (tensor.unissuedConsumers > 0 || tensor.retained) return;
  for (const consumer of tensor.consumers) if (consumer.recalled) return;
  // Releasing may free a copy and so remove it from the list.
  for (const copy of [...tensor.copies]) {
    if (!copy.held) continue;
    copy.held = false;
    state.effects.releases.push({ tensor: tensor.id, accelerator: copy.accelerator });
    state.ledger.release(tensor.id, copy.accelerator);
  }
}

import type { MemoryNeed, Moment, TensorId } from "@slicescheduler/memory";
import type { AcceleratorIndex, Binding, CompiledPartition, Template } from "@slicescheduler/templates";
import type { Origin } from "./lineage.ts";
import type { InstanceId, InstanceState, IssueNumber, OperatorState, TransferNumber } from "./types.ts";

/** Number of a request, unique for the life of a graph, rising by opening. */
export type RequestId = number;

/**
 * A request: a sequence of instances that share results (a prefill and its decode steps) and one memory claim. It is laid
 * on one partition when its first operator is issued and stays there.
 */
export interface RequestNode {
  readonly id: RequestId;
  readonly label: string;
  /** Priority class, 0 is the most urgent. */
  readonly rank: number;
  /** Infinity when there is none. */
  readonly deadlineNs: number;
  readonly openedNs: number;
  /** The largest instances it may submit; null when none were declared: its claim is then what it has submitted. */
  readonly limits: readonly Binding[] | null;
  /** Live instances at the same time that the claim covers. */
  readonly concurrentInstances: number;
  /** Sequences of instances that continue one another, or stand alone, at the same time that the claim covers. */
  readonly chains: number;
  /** Names of partitions it may be laid on; null for all of its templates'. */
  readonly allowedPartitions: readonly string[] | null;
  /** It leaves the graph with its last instance, closed or not. */
  readonly endsWithInstances: boolean;
  /** Name of the partition it is laid on; null before. */
  partition: string | null;
  /** It takes its claim instance by instance, and goes on to its end by itself; otherwise the whole claim is set aside. */
  readonly growing: boolean;
  /** How its instances are counted where it is placed. */
  moment: Moment;
  /** Where its claim is not 0. */
  accelerators: readonly AcceleratorIndex[];
  /** Bytes claimed and used, and the largest workspace, one entry per accelerator of the cluster; 0 before placement. */
  readonly reservedBytes: Float64Array;
  readonly usedBytes: Float64Array;
  readonly workspaceBytes: Float64Array;
  /** Instances that have begun and not ended. */
  begunInstances: number;
  /** Instances in the graph, live or not, by rising id. */
  readonly instances: Set<InstanceNode>;
  /** No further instance will be submitted. */
  closed: boolean;
  /** It lost an accelerator, and waits for all that it had issued to come back before it is laid elsewhere. */
  relocating: boolean;
  /** How often operators of it were displaced by more urgent work. */
  preemptions: number;
}

/** One execution of a template with its symbols bound. */
export interface InstanceNode {
  readonly id: InstanceId;
  readonly request: RequestNode;
  readonly template: Template;
  readonly binding: Binding;
  readonly label: string;
  /** Priority class of its own, as a rule that of its request. */
  readonly rank: number;
  /** Infinity when there is none. */
  readonly deadlineNs: number;
  /** Within its class and deadline the lower goes first, then the older. */
  readonly order: number;
  /** What it can be made from again. */
  readonly origin: Origin;
  /** Names of partitions it may be laid on: that it and its request allow, and where its inputs can reach their readers. */
  allowedPartitions: readonly string[];
  readonly insertedNs: number;
  readonly operators: readonly OperatorNode[];
  /** One per external input slot; null where the input has no bytes and is not bound. Empty once it has ended. */
  inputs: readonly (TensorNode | null)[];
  state: InstanceState;
  /** Why it failed, where the graph itself knows. */
  failure: string | null;
  /** Its outcome was told; one that runs again for results that were lost has no other. */
  told: boolean;
  /** The partition it is laid on; null before its first operator is issued. */
  partition: CompiledPartition | null;
  /** Operators that have not ended, a cancelled one included as long as an executor has it. */
  unfinishedOperators: number;
  /** What it needs on its request's partition; null before the request is placed. */
  need: MemoryNeed | null;
  /** Most bytes it can hold at once, per accelerator, under its partition; null before it is placed. */
  needBytes: Float64Array | null;
  /** The part of its request's claim that was reserved for it, where the request declared no limits; null otherwise. */
  claimedBytes: Float64Array | null;
  /** Buffers with bytes that it caused; empty once it has ended. */
  readonly buffers: Set<BufferNode>;
  /** Tensors of it that the graph still knows. */
  liveTensors: number;
  doneNs: number;
}

/** One operator of one instance. */
export interface OperatorNode {
  readonly instance: InstanceNode;
  /** Position in its template. */
  readonly index: number;
  /** Its own class: that of its instance, or a more urgent one that it was promoted to. */
  ownRank: number;
  /** Its class: its own, or that of the most urgent operator that needs its results and has not ended. Once it has ended, its own. */
  rank: number;
  /** The earliest deadline of those of them, itself included, that are of this class; Infinity when there is none. */
  deadlineNs: number;
  /** Distinct tensors it reads, in declared order. Empty once it has ended, so that it does not keep their instances. */
  inputs: readonly TensorNode[];
  /** The copies it reads, one per input; empty unless an executor has it. */
  reads: readonly TensorCopy[];
  readonly outputs: readonly TensorNode[];
  state: OperatorState;
  /** It was asked back from its executor, which has not answered. */
  recalled: boolean;
  /** Inputs whose producer is unscheduled; in the unscheduled frontier at 0. */
  unscheduledInputs: number;
  /** −1 before it is issued. */
  accelerator: AcceleratorIndex;
  issueNumber: IssueNumber;
  /** Inputs not present on its accelerator; meaningful while issued. */
  missingInputs: number;
  /** −1 where it has not happened. */
  issuedNs: number;
  readyNs: number;
  startedNs: number;
  doneNs: number;
}

/** One output of one operator of one instance. */
export interface TensorNode {
  readonly id: TensorId;
  readonly producer: OperatorNode;
  readonly output: number;
  readonly bytes: number;
  /** The input whose buffer it continues, or null; null too once its producer has ended. */
  aliases: TensorNode | null;
  /** An output continues its buffer; a second one is refused. */
  continued: boolean;
  /** Operators that read it and are not yet issued. */
  unissuedConsumers: number;
  /** The application may still refer to it. */
  retained: boolean;
  /** Operators that read it and have not ended, in the order of their insertion. */
  readonly consumers: Set<OperatorNode>;
  /** Where it is or will be, the producer's accelerator first; empty before its producer is issued. */
  readonly copies: TensorCopy[];
  /** Moves of it that have not ended. */
  readonly transfers: TransferNode[];
}

/** A tensor on an accelerator, present or on its way. */
export interface TensorCopy {
  readonly accelerator: AcceleratorIndex;
  readonly buffer: BufferNode;
  held: boolean;
}

/** Memory of one copy, and of those that continue it in place. It is given back when the last of them has gone. */
export interface BufferNode {
  readonly accelerator: AcceleratorIndex;
  /** Rounded: the largest of the copies that were ever in it. */
  bytes: number;
  /** Copies in it that have not gone. */
  copies: number;
  /** Rounded bytes by the instance that caused them, which has not ended: its need covers them. */
  readonly shares: Map<InstanceNode, number>;
  /** Rounded bytes whose causes have ended: counted against the claim by themselves. */
  endedBytes: number;
}

/** A planned, waiting or running move of a tensor to another accelerator. */
export interface TransferNode {
  readonly number: TransferNumber;
  readonly tensor: TensorNode;
  readonly source: AcceleratorIndex;
  readonly destination: AcceleratorIndex;
  /** Until it is selected, that of the most urgent operator that waits for it; then as it was then. */
  rank: number;
  /**
   * `"starved"`: its receive buffer did not fit; `"selected"`: its receive buffer is being allocated; `"receiving"`: that is there;
   * `"cancelling"`: the executor was told to give it up; `"quarantined"`: its end is overdue, its buffers stay until it is heard.
   */
  state: "planned" | "intended" | "starved" | "cancelling" | "selected" | "receiving" | "sending" | "quarantined";
  /** When it last became an intent; −1 before. */
  intendedNs: number;
  /** When the data began to move; −1 before. */
  sendingNs: number;
  /** Operators on the destination that wait for it, those that are being withdrawn included, by rising issue number. */
  readonly waiting: OperatorNode[];
}

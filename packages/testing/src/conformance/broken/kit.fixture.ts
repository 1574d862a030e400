/** Backends that are the virtual executor but for one thing. */
import type { Clock, Executor, ExecutorEvent, ExecutorInstruction, IssueInstruction } from "@slicescheduler/executor";
import type { ClusterSpec } from "@slicescheduler/gmg";
import { type Relay, relayedExecutor } from "../../relayed-executor.ts";
import type { ConformanceBackend } from "../types.ts";
import { virtualBackend } from "../virtual-backend.fixture.ts";

export interface BrokenBackend {
  /** What is wrong with it. */
  readonly fault: string;
  /** The check that has to fail. */
  readonly check: string;
  /** The rule that its failure has to name, where that is not the check's own. */
  readonly rule?: string;
  /** Part of what its failure has to have seen. */
  readonly seen: RegExp;
  readonly create: () => ConformanceBackend;
}

type Event<Type extends ExecutorEvent["type"]> = Extract<ExecutorEvent, { readonly type: Type }>;
export type Instruction<Type extends ExecutorInstruction["type"]> = Extract<
  ExecutorInstruction,
  { readonly type: Type }
>;

/** Through a relay that is made for each. */
export function relayed(newRelay: (device: Executor) => Relay): () => ConformanceBackend {
  return () => {
    const backend = virtualBackend();
    return { ...backend, executor: relayedExecutor(backend.executor, newRelay(backend.executor)) };
  };
}

/** Instructions are replaced, each by any number. */
function hearing(
  change: (instruction: ExecutorInstruction) => readonly ExecutorInstruction[],
): () => ConformanceBackend {
  return relayed(() => ({ execute: (instructions, pass) => pass(instructions.flatMap(change)) }));
}

/** Issues are changed. */
export function issuing(change: (issue: IssueInstruction) => IssueInstruction): () => ConformanceBackend {
  return hearing((instruction) => [instruction.type === "issue" ? change(instruction) : instruction]);
}

export function deaf(...types: readonly ExecutorInstruction["type"][]): () => ConformanceBackend {
  return hearing((instruction) => (types.includes(instruction.type) ? [] : [instruction]));
}

/** Events are replaced, each by any number. */
export function telling(change: (event: ExecutorEvent) => readonly ExecutorEvent[]): () => ConformanceBackend {
  return relayed(() => ({
    deliver: (event, pass) => {
      for (const told of change(event)) pass(told);
    },
  }));
}

export function retelling<Type extends ExecutorEvent["type"]>(
  type: Type,
  change: (event: Event<Type>) => readonly ExecutorEvent[],
): () => ConformanceBackend {
  const isIt = (event: ExecutorEvent): event is Event<Type> => event.type === type;
  return telling((event) => (isIt(event) ? change(event) : [event]));
}

export function withCluster(change: (cluster: ClusterSpec) => ClusterSpec): () => ConformanceBackend {
  return () => {
    const backend = virtualBackend();
    const executor = relayedExecutor(backend.executor, {});
    const open: Executor["open"] = (context) => backend.executor.open({ ...context, cluster: change(context.cluster) });
    return { ...backend, executor: { ...executor, open } };
  };
}

export function withClock(change: (clock: Clock) => Clock): () => ConformanceBackend {
  return () => {
    const backend = virtualBackend();
    const { executor } = backend;
    return { ...backend, executor: { ...relayedExecutor(executor, {}), clock: change(executor.clock) } };
  };
}

import type { GlobalMappingGraph, InstanceNode, Outcome } from "@slicescheduler/gmg";
import type { Scheduler } from "@slicescheduler/scheduler";
import { InstanceFailedError, type SliceSchedulerError } from "./errors.ts";
import type { Outbox } from "./outbox.ts";
import type { TransferDesk } from "./transfer-desk.ts";

/** Takes what a change of the graph asks for to the executor and to the listeners, and knows why instances failed. */
export class Settlements {
  readonly #graph: GlobalMappingGraph;
  readonly #scheduler: Scheduler;
  readonly #outbox: Outbox;
  readonly #transfers: TransferDesk;
  /**
   * Outputs of live instances that nobody asked to retain: they can be referred to until the instance ends, so that its
   * readers can be submitted right behind it. Its claim covers them all that time.
   */
  readonly #releasedAtEnd = new Map<number, readonly string[]>();
  /** Why instances failed, until their failure is told. */
  readonly #errors = new Map<number, SliceSchedulerError>();

  constructor(graph: GlobalMappingGraph, scheduler: Scheduler, outbox: Outbox, transfers: TransferDesk) {
    this.#graph = graph;
    this.#scheduler = scheduler;
    this.#outbox = outbox;
    this.#transfers = transfers;
  }

  continueFrom(other: Settlements): void {
    for (const [instance, outputs] of other.#releasedAtEnd) this.#releasedAtEnd.set(instance, outputs);
    for (const [instance, error] of other.#errors) this.#errors.set(instance, error);
  }

  releaseAtEnd(instance: number, outputs: readonly string[]): void {
    this.#releasedAtEnd.set(instance, outputs);
  }

  /** Only what is still to be settled will ask for its reason; the first one counts. */
  note({ id, state }: InstanceNode, reason: string | SliceSchedulerError): void {
    if (state !== "live" || this.#errors.has(id)) return;
    this.#errors.set(id, typeof reason === "string" ? new InstanceFailedError(id, reason) : reason);
  }

  carryOut(nowNs: number): void {
    const { releases, holds, withdrawals, reranks, transferReranks, settled } = this.#graph.takeEffects();
    if (settled.length > 0) {
      for (const { instance } of settled) {
        for (const output of this.#releasedAtEnd.get(instance.id) ?? []) this.#graph.releaseOutput(instance.id, output);
        this.#releasedAtEnd.delete(instance.id);
      }
      releases.push(...this.#graph.takeEffects().releases);
    }
    for (const { tensor, accelerator } of releases) this.#outbox.instruct({ type: "release", tensor, accelerator });
    for (const { tensor, accelerator } of holds) this.#outbox.instruct({ type: "hold", tensor, accelerator });
    const takenBack = reranks.filter(({ issueNumber, rank }) => this.#rerank(issueNumber, rank));
    for (const { transfer, rank } of transferReranks) this.#transfers.rerank(transfer, rank);
    for (const issueNumber of withdrawals) this.#outbox.instruct({ type: "withdraw", issueNumber });
    for (const { instance, outcome } of settled) this.#settle(instance, outcome, nowNs);
    if (takenBack.length > 0) this.#takeBack(takenBack, nowNs);
  }

  /** Executors cannot be told to hold back again what they may start: it is issued anew. */
  #takeBack(issues: readonly { readonly issueNumber: number }[], nowNs: number): void {
    for (const { issueNumber } of issues) {
      const operator = this.#graph.issued(issueNumber);
      if (operator?.state === "issued" && operator.startedNs < 0 && !operator.recalled) this.#graph.recall(operator);
    }
    this.carryOut(nowNs);
  }

  /** Tells whether it is to be taken back. */
  #rerank(issueNumber: number, rank: number): boolean {
    this.#outbox.instruct({ type: "rerank", issueNumber, rank });
    const operator = this.#graph.issued(issueNumber);
    return operator !== undefined && this.#scheduler.operatorReranked(operator);
  }

  #settle(instance: InstanceNode, outcome: Outcome, atNs: number): void {
    const { id, request, label, failure } = instance;
    const value = { instance: id, request: request.id, label, atNs };
    const error = this.#errors.get(id);
    this.#errors.delete(id);
    this.#scheduler.tenants.settled(instance);
    if (outcome === "done") this.#outbox.tell("instanceDone", value);
    else if (outcome === "cancelled") this.#outbox.tell("instanceCancelled", value);
    else {
      const reason = failure ?? "an instance whose results it needs ended without them";
      this.#outbox.tell("instanceFailed", { ...value, error: error ?? new InstanceFailedError(id, reason) });
    }
  }
}

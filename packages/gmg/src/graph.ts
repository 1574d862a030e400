import { ClaimBook, type MemorySafety, ResidencyLedger } from "@slicescheduler/memory";
import {
  type AcceleratorIndex,
  type Cluster,
  type CompiledPartition,
  compileTemplate,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/templates";
import {
  drainAccelerator,
  isIdle,
  loseAccelerator,
  retryFailed,
  returnAccelerator,
  setAvoided,
  type WeightLoad,
} from "./availability.ts";
import { forgetCopy } from "./buffers.ts";
import { displaceOperator, unplaceRequest } from "./displace.ts";
import { joinPlaced, requireFeasible } from "./feasible.ts";
import { Frontier } from "./frontier.ts";
import { SubmissionError, unknownTemplate } from "./graph-errors.ts";
import { hashOf } from "./graph-hash.ts";
import {
  type Availability,
  type GraphCounts,
  type GraphEffects,
  type GraphState,
  illegalMove,
  isInDoubt,
  noEffects,
  type PlacementOption,
} from "./graph-state.ts";
import { buildInstance, linkInstance, outputTensors, type Submission } from "./insert.ts";
import { type IssuedOperator, issueOperator } from "./issue.ts";
import { IssuedByClass } from "./issued-by-class.ts";
import type { InstanceNode, OperatorNode, RequestId, RequestNode, TransferNode } from "./nodes.ts";
import { checkOpening, newRequest, type RequestOpening } from "./opening.ts";
import { avoidedFor, mustFollow, placementOptions } from "./placement.ts";
import {
  abortOperator,
  beginReceiving,
  cancelTransfer,
  completeOperator,
  completeTransfer,
  intendTransfer,
  startOperator,
} from "./progress.ts";
import { isBehindQuarantine } from "./quarantine.ts";
import { recallOperator, unissueOperator } from "./recall.ts";
import { finishRelocations, placeWithResults } from "./relocate.ts";
import { SavedGraph } from "./restore.ts";
import { dropReleasedHolds, forgetRequestIfGone, settleInstance } from "./settle.ts";
import type { GraphSnapshot } from "./snapshot.ts";
import { saveGraph } from "./snapshot-save.ts";
import type { InstanceId, IssueNumber, TransferNumber } from "./types.ts";
import { promoteOperator } from "./urgency.ts";
import { validateGraph } from "./validate-graph.ts";
import { loadWeights } from "./weights.ts";

/**
 * The Global Mapping Graph (paper §3.2): templates, requests, instances and operators of a cluster, where their tensors are,
 * and what may be issued next. A plain state machine: every call changes it at once or throws and changes nothing; what a
 * change asks of executors and listeners is collected in `takeEffects`.
 */
export class GlobalMappingGraph {
  readonly cluster: Cluster;
  readonly ledger: ResidencyLedger;
  readonly claims: ClaimBook<RequestNode>;
  /** Operators whose producers are all issued or done, by urgency. */
  readonly unscheduledFrontier: Frontier;
  readonly #state: GraphState;
  #lastRequest: RequestId = -1;
  #lastInstance: InstanceId = -1;

  /** @param memorySafety Default `"guaranteed"`. @param saved For `restore`. */
  constructor(cluster: Cluster, memorySafety: MemorySafety = "guaranteed", saved: SavedGraph | null = null) {
    this.cluster = cluster;
    const onFreed = (tensorId: number, accelerator: AcceleratorIndex) => {
      const tensor = this.#state.tensors.get(tensorId);
      if (tensor !== undefined) forgetCopy(this.#state, tensor, accelerator);
    };
    this.ledger = saved?.openLedger(onFreed) ?? new ResidencyLedger(cluster.accelerators, { onFreed });
    this.claims = new ClaimBook<RequestNode>(cluster, memorySafety);
    this.unscheduledFrontier = new Frontier();
    const issued = new Map<IssueNumber, OperatorNode>();
    this.#state = {
      cluster,
      ledger: this.ledger,
      claims: this.claims,
      frontier: this.unscheduledFrontier,
      templates: new Map(),
      weightBytes: new Map(),
      requests: new Map(),
      instances: new Map(),
      tensors: new Map(),
      issued,
      transfers: new Map(),
      availability: cluster.accelerators.map(({ absent }) => (absent ? "down" : "up")),
      avoided: new Set(),
      relocating: new Set(),
      issuedByClass: new IssuedByClass(issued),
      effects: noEffects(),
      nextTensor: 0,
      nextIssue: 0,
      nextTransfer: 0,
    };
  }

  /**
   * Compiles a template and takes memory for its weights on every partition.
   * Throws TEMPLATE_INVALID, TEMPLATE_EXISTS, WEIGHTS_MISMATCH, NEVER_FITS; nothing is loaded then.
   */
  registerTemplate(spec: TemplateSpec): Template {
    if (this.#state.templates.has(spec.name)) {
      throw new SubmissionError("TEMPLATE_EXISTS", `template ${JSON.stringify(spec.name)} is registered already`, {
        template: spec.name,
      });
    }
    const template = compileTemplate(spec, this.cluster);
    loadWeights(this.#state, template);
    this.#state.templates.set(template.name, template);
    return template;
  }

  hasTemplate(name: string): boolean {
    return this.#state.templates.has(name);
  }

  /** Throws UNKNOWN_TEMPLATE. */
  template(name: string): Template {
    const template = this.#state.templates.get(name);
    if (template === undefined) throw unknownTemplate(name, [...this.#state.templates.keys()]);
    return template;
  }

  /** Throws DUPLICATE_ID, UNKNOWN_TEMPLATE, symbol errors, and NEVER_FITS when no partition could ever hold its claim. */
  openRequest(opening: RequestOpening, nowNs: number): RequestNode {
    if (opening.id <= this.#lastRequest) {
      throw new SubmissionError(
        "DUPLICATE_ID",
        `request number ${opening.id} was used already; the last one is ${this.#lastRequest}`,
        { request: opening.id },
      );
    }
    checkOpening(opening);
    const limits = opening.limits?.map(({ template, symbols }) => this.template(template).bind(symbols)) ?? null;
    const request = newRequest(opening, limits, this.cluster.accelerators.length, nowNs);
    if (limits !== null) requireFeasible(this.#state, request);
    this.#lastRequest = opening.id;
    this.#state.requests.set(request.id, request);
    return request;
  }

  /** Throws UNKNOWN_REQUEST. */
  request(id: RequestId): RequestNode {
    const request = this.#state.requests.get(id);
    if (request !== undefined) return request;
    throw new SubmissionError(
      "UNKNOWN_REQUEST",
      `request ${id} is not in the graph: it was never opened, or it has ended`,
      { request: id },
    );
  }

  /** No further instance follows; the request leaves the graph with its last one. Closing twice changes nothing. */
  closeRequest(id: RequestId): void {
    const request = this.#state.requests.get(id);
    if (request === undefined) return;
    request.closed = true;
    forgetRequestIfGone(this.#state, request);
  }

  /**
   * Adds an instance to a request; linear in its operators. Throws a `SubmissionError` or a symbol error that tells what
   * does not match; a request without limits that is placed must be able to claim the instance now (CLAIM_TOO_LARGE_NOW). One
   * that is not placed and keeps results is placed with them at once, or gives them up to be made again.
   */
  insert(submission: Submission, requestId: RequestId, nowNs: number): InstanceNode {
    const request = this.request(requestId);
    if (request.closed) {
      throw new SubmissionError("REQUEST_CLOSED", `request ${requestId} is closed and takes no further instance`, {
        request: requestId,
      });
    }
    if (submission.id <= this.#lastInstance) {
      throw new SubmissionError(
        "DUPLICATE_ID",
        `instance number ${submission.id} was used already; the last one is ${this.#lastInstance}`,
        { instance: submission.id },
      );
    }
    const template = this.template(submission.template);
    const instance = buildInstance(this.#state, template, submission, request, nowNs);
    if (request.partition !== null) {
      joinPlaced(this.#state, instance, request.partition);
    } else {
      requireFeasible(this.#state, request, instance);
    }
    this.#lastInstance = submission.id;
    linkInstance(this.#state, instance);
    placeWithResults(this.#state, request, nowNs);
    return instance;
  }

  /** Undefined when it has left the graph, or never was there. */
  instance(id: InstanceId): InstanceNode | undefined {
    return this.#state.instances.get(id);
  }

  /**
   * The instance that has to begin before the operator's may: one whose results it reads. What has begun then never waits for
   * anything that may lack memory. Null when there is none.
   */
  mustFollow({ instance }: OperatorNode): InstanceNode | null {
    return mustFollow(instance);
  }

  /** The partitions an operator may be laid on now: the one of its request once that is placed. None while it has to wait for something else. */
  placementOptions(operator: OperatorNode): PlacementOption[] {
    return placementOptions(this.#state, operator);
  }

  /**
   * Unscheduled → issued. The first operator of a request places it and reserves its claim. Throws ILLEGAL_MOVE, changing
   * nothing, when its producers are not issued, its request is laid elsewhere or its memory is not reserved.
   */
  issue(operator: OperatorNode, partition: CompiledPartition, nowNs: number): IssuedOperator {
    const { instance } = operator;
    const { request } = instance;
    if (operator.state !== "unscheduled" || operator.unscheduledInputs > 0) illegalMove(operator, "issued");
    if (request.relocating) illegalMove(operator, "issued before its request is laid elsewhere");
    if (this.mustFollow(operator) !== null)
      illegalMove(operator, "issued before the instances begin that its own reads from");
    if (isInDoubt(operator)) illegalMove(operator, "issued while a transfer of its inputs or outputs may be cancelled");
    if (isBehindQuarantine(operator, partition)) illegalMove(operator, "issued on a transfer that is quarantined");
    if ((request.partition ?? partition.name) !== partition.name) {
      illegalMove(operator, `issued on ${partition.name}: its request is laid on ${request.partition}`);
    }
    if (request.partition === null) {
      const claim = this.claims.claimOn(request, partition.name);
      if (claim === undefined || this.claims.lackToPlace(instance, partition.name, claim) !== null) {
        illegalMove(operator, `issued on ${partition.name}, which has no room for the claim of its request`);
      }
      this.claims.place(request, partition.name, claim);
    } else if (instance.partition === null && this.claims.lackToBegin(instance) !== null) {
      illegalMove(operator, "issued: its memory cannot be granted now");
    }
    if (instance.partition === null) {
      instance.partition = partition;
      this.claims.begin(instance);
    }
    return issueOperator(this.#state, operator, partition, nowNs);
  }

  /** Whether a request is still in the graph. */
  hasRequest(request: RequestNode): boolean {
    return this.#state.requests.get(request.id) === request;
  }

  /** The number the next issue will get. */
  get nextIssueNumber(): IssueNumber {
    return this.#state.nextIssue;
  }

  /** Undefined for an operator that the executor has no longer: the event about it is late. */
  issued(issueNumber: IssueNumber): OperatorNode | undefined {
    return this.#state.issued.get(issueNumber);
  }

  /** Operators that executors have, by rising issue number. */
  issuedOperators(): IterableIterator<OperatorNode> {
    return this.#state.issued.values();
  }

  /** How many of them are of this priority class. */
  issuedOfRank(rank: number): number {
    return this.#state.issuedByClass.countOf(rank);
  }

  /**
   * Issued operators of less urgent classes that have not started and were not asked back: the least urgent class first, in it the latest
   * issued. Valid until something is issued or changes its class; `displace` leaves it valid. The first costs O(classes) as a rule.
   */
  displaceable(rank: number): IterableIterator<OperatorNode> {
    return this.#state.issuedByClass.displaceable(rank);
  }

  transfer(number: TransferNumber): TransferNode | undefined {
    return this.#state.transfers.get(number);
  }

  transfers(): IterableIterator<TransferNode> {
    return this.#state.transfers.values();
  }

  operatorStarted(operator: OperatorNode, nowNs: number): void {
    startOperator(this.#state, operator, nowNs);
  }

  operatorDone(operator: OperatorNode, nowNs: number): void {
    completeOperator(this.#state, operator, nowNs);
    // What is predicted falls with every end, what is claimed only with instances.
    if (this.claims.memorySafety === "predicted") this.claims.changed();
    this.#afterReturn(nowNs);
  }

  /**
   * Fails its instance and whatever needs its results.
   * @param again Lays its request anew instead, and makes again what of it is not retained: it may succeed another time.
   */
  operatorFailed(operator: OperatorNode, nowNs: number, again = false): void {
    if (again) retryFailed(this.#state, operator);
    else abortOperator(this.#state, operator, nowNs, "failed");
    this.#afterReturn(nowNs);
  }

  /**
   * The executor gave an operator back: one that was recalled is unscheduled again, one of an instance that was cancelled or
   * failed has ended.
   * @param refused It was never taken in, since an input of it was lost before.
   */
  operatorWithdrawn(operator: OperatorNode, nowNs: number, refused = false): void {
    if (operator.state === "issued" && operator.recalled) unissueOperator(this.#state, operator, refused);
    else abortOperator(this.#state, operator, nowNs, refused ? "failed" : "withdrawn");
    this.#afterReturn(nowNs);
  }

  /**
   * Issued → unscheduled, of an operator that has not started and of all that is issued and needs its results. The executor is asked to give
   * them back; one that it has started meanwhile ends as usual.
   */
  recall(operator: OperatorNode): void {
    recallOperator(this.#state, operator, true);
  }

  /** As `recall`, counted in `preemptions` of its request. Throws ILLEGAL_MOVE for one that has started or was asked back. */
  displace(operator: OperatorNode): void {
    displaceOperator(this.#state, operator);
  }

  /**
   * Takes a request from its partition, so that its claim is free and it is placed anew in its turn: one of which executors have no operator,
   * no result and no transfer, though parts of it may have run. Throws UNKNOWN_REQUEST, and ILLEGAL_MOVE with what is still there, or
   * where it could be placed nowhere now. Linear in its operators.
   */
  unplace(id: RequestId): void {
    unplaceRequest(this.#state, this.request(id));
  }

  /**
   * Gives an operator, and whatever it still needs, at least this class until its instance ends, against waiting for ever. Among those of a
   * class the order stays what it was. Returns false when it has that class of its own already. Throws ILLEGAL_MOVE when it has ended.
   */
  promote(operator: OperatorNode, rank: number): boolean {
    return promoteOperator(this.#state, operator, rank);
  }

  availability(accelerator: AcceleratorIndex): Availability {
    return this.#state.availability[accelerator] ?? "down";
  }

  /** It is gone with all that it had. Returns the transfers that ended with it. Losing a lost one changes nothing. */
  loseAccelerator(accelerator: AcceleratorIndex, nowNs: number): TransferNumber[] {
    if (this.availability(accelerator) === "down") return [];
    const transfers = loseAccelerator(this.#state, accelerator, nowNs);
    this.#afterReturn(nowNs);
    return transfers;
  }

  /** Nothing more is placed there; what is placed runs to its end. Does nothing to one that is down. */
  drainAccelerator(accelerator: AcceleratorIndex, nowNs: number): void {
    drainAccelerator(this.#state, accelerator, nowNs);
  }

  /** It may be placed on (again). Returns the weights to load there, if it was down. */
  returnAccelerator(accelerator: AcceleratorIndex): WeightLoad[] {
    return returnAccelerator(this.#state, accelerator);
  }

  /**
   * Whether requests are placed there anew; what is placed goes on, and what could be placed nowhere else waits. Returns false when it was so
   * already. A snapshot does not have it.
   */
  avoidAccelerator(accelerator: AcceleratorIndex, avoided: boolean): boolean {
    return setAvoided(this.#state, accelerator, avoided);
  }

  isAvoided(accelerator: AcceleratorIndex): boolean {
    return this.#state.avoided.has(accelerator);
  }

  /** Accelerators that an operator waits for to be avoided no longer; empty when it does not. O(1) while none is. */
  avoidedFor(operator: OperatorNode): AcceleratorIndex[] {
    return avoidedFor(this.#state, operator);
  }

  /** Whether nothing lies there: a drained accelerator can be taken away then. */
  isIdle(accelerator: AcceleratorIndex): boolean {
    return isIdle(this.#state, accelerator);
  }

  #afterReturn(nowNs: number): void {
    if (this.#state.relocating.size > 0) finishRelocations(this.#state, nowNs);
  }

  /** It waits for its ports and links from now on: at first, and again after its receive buffer did not fit. */
  transferIntended(transfer: TransferNode, nowNs: number): void {
    intendTransfer(transfer, nowNs);
  }

  transferReceiving(transfer: TransferNode): void {
    beginReceiving(this.#state, transfer);
  }

  transferDone(transfer: TransferNode, nowNs: number): void {
    completeTransfer(this.#state, transfer, nowNs);
    this.#afterReturn(nowNs);
  }

  transferCancelled(transfer: TransferNode, nowNs: number): void {
    cancelTransfer(this.#state, transfer);
    this.#afterReturn(nowNs);
  }

  /** Its data were lost on the way: whatever waits for them fails. */
  transferFailed(transfer: TransferNode, nowNs: number): void {
    cancelTransfer(this.#state, transfer);
    for (const operator of transfer.waiting) settleInstance(this.#state, operator.instance, "failed", nowNs);
    this.#afterReturn(nowNs);
  }

  /** Settles it at once; what needs its results fails. An ended or unknown instance is left as it is. */
  cancel(id: InstanceId, nowNs: number): void {
    const instance = this.#state.instances.get(id);
    if (instance !== undefined) settleInstance(this.#state, instance, "cancelled", nowNs);
  }

  /** As `cancel`, with the outcome `"failed"`. */
  fail(id: InstanceId, nowNs: number): void {
    const instance = this.#state.instances.get(id);
    if (instance !== undefined) settleInstance(this.#state, instance, "failed", nowNs);
  }

  /** The application will not refer to this output again. Releasing twice changes nothing. Throws UNKNOWN_OUTPUT. */
  releaseOutput(id: InstanceId, output: string): void {
    const instance = this.#state.instances.get(id);
    if (instance === undefined) return;
    for (const tensor of outputTensors(instance, output)) {
      tensor.retained = false;
      dropReleasedHolds(this.#state, tensor);
    }
  }

  /** What the changes since the last call ask for. */
  takeEffects(): GraphEffects {
    const { effects } = this.#state;
    this.#state.effects = noEffects();
    return effects;
  }

  counts(): GraphCounts {
    const { requests, instances, tensors, issued, transfers } = this.#state;
    return {
      requests: requests.size,
      instances: instances.size,
      tensors: tensors.size,
      issuedOperators: issued.size,
      transfers: transfers.size,
    };
  }

  /** All it knows as a plain, versioned value. Throws EFFECTS_PENDING: what changes ask for is taken first. Linear in the graph. */
  snapshot(): GraphSnapshot {
    return saveGraph(this.#state, this.#lastRequest, this.#lastInstance);
  }

  /** A graph that goes on exactly as the saved one would. Throws GRAPH_STATE_INVALID, with every fault of form or the first contradiction. */
  static restore(snapshot: unknown): GlobalMappingGraph {
    const saved = new SavedGraph(snapshot);
    const graph = new GlobalMappingGraph(saved.cluster, saved.memorySafety, saved);
    ({ lastRequest: graph.#lastRequest, lastInstance: graph.#lastInstance } = saved.counters);
    saved.restoreTo(graph.#state);
    saved.requireSame(graph.snapshot());
    return graph;
  }

  /** 64-bit FNV-1a of the snapshot's JSON text, in 16 hex digits. Throws as `snapshot`. */
  hash(): string {
    return hashOf(this.snapshot());
  }

  /** Counts everything again from scratch. Throws INVARIANT_BROKEN. For tests and sampled checks; linear in the graph. */
  validate(): void {
    validateGraph(this.#state);
  }
}

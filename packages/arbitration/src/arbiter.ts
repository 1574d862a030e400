import { loadArbiter, REMEMBERED_GONE, saveArbiter } from "./arbiter-state.ts";
import { Deadlines, deadlineOf, type Overdue } from "./deadlines.ts";
import { ArbitrationError } from "./errors.ts";
import { IntentQueue } from "./intent-queue.ts";
import { failIllegal, failUnknown, holdsPorts, nextState } from "./moves.ts";
import { checkedOptions, isNs } from "./options.ts";
import type {
  ArbiterState,
  ArbitrationOptions,
  Intent,
  LiveState,
  MoveRecord,
  Quarantined,
  Selection,
  Topology,
  TransferMove,
  TransferState,
  TransferView,
  WaitingReport,
} from "./types.ts";
import { checkArbiter } from "./validate.ts";
import { waitingReport } from "./waiting.ts";
import { waitingInWords } from "./waiting-words.ts";

/** One live transfer. Frozen facts in `selection`; the rest moves. */
interface Live extends Overdue {
  readonly selection: Selection;
  rank: number;
  expectedNs: number;
  readonly sinceNs: number;
  /** Its place in the queue while it is an intent; meaningless afterwards. */
  readonly slot: number;
  state: TransferState;
  readonly history: MoveRecord[];
}

const NO_DEADLINE = { deadlineNs: Number.POSITIVE_INFINITY, heapAt: -1 };

/**
 * Decides which transfers may go (paper §3.5.2). The life of one: `intent` raises it; `select` admits it, and it holds its
 * ports from then on; the caller has the receive buffer allocated and says `recvReady`, then the data moves; `done` or
 * `failed` frees the ports. `cancel` is legal at any time. Call `select` after every batch of events.
 *
 * A pure state machine: time is an argument and never steps back (INVALID_TIME).
 *
 * An end that never comes: call `expire` when `nextDeadlineNs` has come. What is overdue is quarantined then, which frees its
 * ports for others. Its buffers, at both ends, may still be read or written, so they stay as they are until the state is `gone`:
 * by `done` or `failed`, however late, or by `acceleratorLost`. Each of these moves it there once. So, if `expire` is called in time,
 * a transfer holds its ports for 2 · deadlineMinNs at most, or deadlineMinNs + deadlineFactor · expectedNs if that is more, whatever
 * the executor does.
 *
 * Nothing starves: with `D` the longest time a transfer holds its ports, an intent raised at t and never of a less urgent rank than
 * r is selected by
 *
 *     t + (r + 2) · agingNs + reserveNs + (k + m + 1) · D
 *
 * where k counts the other intents still pending at T = t + (r + 2) · agingNs + reserveNs that were raised before
 * t + (r + 2) · agingNs, the old ones, and m the calls of `rerank` after T that changed the rank of one of them. Why: an intent raised
 * later has a rank of 0 or more, so its effective rank is always more than that of the victim, by 2 at least. As time goes on
 * the difference of two effective ranks takes two neighbouring values, unless a rank is changed. So between two such changes an old one
 * that precedes the victim at any instant precedes all later ones at every instant. All of these have waited `reserveNs`: later ones
 * take none of their ports. After at most D the ports that later ones had are free; from then on, whenever no old one
 * moves, the first in order of the victim and those old ones fits and is selected. Old ones move for k · D at most, and the m + 1
 * beginnings cost D each. Cancelling, quarantine and a lost accelerator only free ports.
 */
export class Arbiter {
  readonly #options: Required<ArbitrationOptions>;
  readonly #queue: IntentQueue;
  readonly #live = new Map<number, Live>();
  /** Those that hold ports, by deadline. */
  readonly #deadlines = new Deadlines<Live>();
  /** Histories of the last transfers that ended, oldest first: they make errors about late messages readable. */
  readonly #gone = new Map<number, readonly MoveRecord[]>();
  #nowNs = 0;

  /** Throws INVALID_TOPOLOGY and INVALID_OPTIONS, naming every fault. */
  constructor(topology: Topology, options: ArbitrationOptions = {}) {
    this.#options = checkedOptions(options);
    this.#queue = new IntentQueue(topology, options);
  }

  /** Continues from a saved value. Throws UNSUPPORTED_VERSION, INVALID_STATE; INVALID_TOPOLOGY. */
  static load(topology: Topology, state: unknown): Arbiter {
    const { arbiter: loaded, options } = loadArbiter(state);
    const arbiter = new Arbiter(topology, options);
    for (const view of loaded.transfers) arbiter.#restore(view);
    for (const { transfer, history } of loaded.gone) arbiter.#gone.set(transfer, history);
    arbiter.#nowNs = loaded.nowNs;
    return arbiter;
  }

  #restore(view: TransferView): void {
    const { transfer, source, destination, bytes, rank, expectedNs, sinceNs, state } = view;
    this.#checkRoute(view);
    const queue = this.#queue;
    if (holdsPorts(state)) {
      if (!queue.ports.fits(source, destination)) failOversubscribed(view);
      queue.occupy(source, destination);
    }
    const slot = state === "intent" ? queue.add(transfer, source, destination, rank, sinceNs) : -1;
    const selection = { transfer, source, destination, bytes };
    const history = [...view.history];
    const live: Live = { selection, rank, expectedNs, sinceNs, slot, state, history, ...NO_DEADLINE };
    this.#live.set(transfer, live);
    if (holdsPorts(state)) this.#watch(live);
  }

  /**
   * Raises an intent; it waits for `select`.
   * Throws DUPLICATE_TRANSFER while that transfer is live, NO_ROUTE, INVALID_INTENT, INVALID_TIME, TOO_MANY_INTENTS.
   */
  intent(intent: Intent, nowNs: number): void {
    checkIntent(intent);
    const { transfer, source, destination, bytes, rank, expectedNs = 0 } = intent;
    const live = this.#live.get(transfer);
    if (live !== undefined) failDuplicate(live);
    this.#checkRoute(intent);
    this.#advance(nowNs);
    const slot = this.#queue.add(transfer, source, destination, rank, nowNs);
    const selection = { transfer, source, destination, bytes };
    const history: MoveRecord[] = [{ move: "raise", atNs: nowNs }];
    this.#gone.delete(transfer);
    this.#live.set(transfer, {
      selection,
      rank,
      expectedNs,
      sinceNs: nowNs,
      slot,
      state: "intent",
      history,
      ...NO_DEADLINE,
    });
  }

  /**
   * Its urgency has changed; its age stays. True when it is still pending, false when it has been selected: then nothing is left to
   * decide. Throws UNKNOWN_TRANSFER, INVALID_INTENT. O(intents that waited for it to go first).
   */
  rerank(transfer: number, rank: number): boolean {
    if (!isNs(rank)) failIntent([`rank must be a whole number ≥ 0, found ${rank}`]);
    const live = this.#live.get(transfer);
    if (live === undefined) return failUnknown(transfer, "rerank", this.#gone.get(transfer));
    if (live.state !== "intent") return false;
    if (live.rank !== rank) this.#queue.rerank(live.slot, rank);
    live.rank = rank;
    return true;
  }

  /**
   * The receive buffer is there. Returns `sending`: have the data sent; or `quarantined` when this came after its deadline: the ports
   * belong to others by now, so have the transfer given up instead, and say `failed` once it is.
   * @param expectedNs How long its data are predicted to move, when that is known better than at its intent.
   * Throws ILLEGAL_MOVE, UNKNOWN_TRANSFER, INVALID_TIME; INVALID_INTENT for an `expectedNs` that is no whole number ≥ 0.
   */
  recvReady(transfer: number, nowNs: number, expectedNs?: number): "sending" | "quarantined" {
    if (expectedNs !== undefined && !isNs(expectedNs))
      failIntent([`expectedNs must be a whole number ≥ 0, found ${expectedNs}`]);
    const live = this.#move(transfer, "recvReady", nowNs);
    if (live.state !== "sending") return "quarantined";
    live.expectedNs = expectedNs ?? live.expectedNs;
    this.#watch(live);
    return "sending";
  }

  /**
   * The data has arrived: frees the ports, and returns the state that this ended; after `quarantined` its ports were free already.
   * Throws ILLEGAL_MOVE, UNKNOWN_TRANSFER, INVALID_TIME.
   */
  done(transfer: number, nowNs: number): LiveState {
    return this.#end(transfer, "done", nowNs);
  }

  /** The transfer will not go on, at whatever stage; as `done` otherwise. Throws UNKNOWN_TRANSFER, INVALID_TIME. */
  failed(transfer: number, nowNs: number): LiveState {
    return this.#end(transfer, "failed", nowNs);
  }

  /**
   * Cancels at any stage, also when it is gone already, and returns the state that follows: `gone`, or `cancelling` when
   * data is moving, or `quarantined` when that is overdue; then `done` or `failed` must still follow. Throws INVALID_TIME.
   */
  cancel(transfer: number, nowNs: number): "gone" | "cancelling" | "quarantined" {
    if (!this.#live.has(transfer)) {
      this.#advance(nowNs);
      return "gone";
    }
    const { state } = this.#move(transfer, "cancel", nowNs);
    return state === "cancelling" || state === "quarantined" ? state : "gone";
  }

  /** When `expire` will have something to do; Infinity while no transfer holds ports. O(1). */
  get nextDeadlineNs(): number {
    return this.#deadlines.first()?.deadlineNs ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Quarantines every transfer whose deadline has come, in the order of deadlines, then of transfer numbers, and returns them: their
   * ports are free, so call `select`. Throws INVALID_TIME. O(log held) for each.
   */
  expire(nowNs: number): readonly Quarantined[] {
    this.#advance(nowNs);
    const expired: Quarantined[] = [];
    for (let live = this.#deadlines.first(); live !== undefined; live = this.#deadlines.first()) {
      const { state, deadlineNs, selection } = live;
      if (deadlineNs > nowNs || !holdsPorts(state)) break;
      this.#move(selection.transfer, "expire", nowNs);
      expired.push({ ...selection, from: state, deadlineNs });
    }
    return expired;
  }

  /**
   * An accelerator has gone with its memory: every transfer from or to it, quarantined or not, ends as `failed`. Returns them by
   * transfer number. Throws INVALID_TIME. O(live).
   */
  acceleratorLost(accelerator: number, nowNs: number): readonly number[] {
    this.#advance(nowNs);
    const lost: number[] = [];
    for (const { selection } of this.#live.values()) {
      if (selection.source === accelerator || selection.destination === accelerator) lost.push(selection.transfer);
    }
    lost.sort((a, b) => a - b);
    for (const transfer of lost) this.#move(transfer, "failed", nowNs);
    return lost;
  }

  /** Admits a maximal set of intents, in order, by the selection rule. Throws INVALID_TIME. */
  select(nowNs: number): readonly Selection[] {
    this.#advance(nowNs);
    const queue = this.#queue;
    const count = queue.select(nowNs);
    const selections: Selection[] = [];
    for (let at = 0; at < count; at++) {
      const transfer = queue.selected[at] as number;
      const live = this.#live.get(transfer) ?? failUnknown(transfer, "select", undefined);
      live.state = "receiving";
      live.history.push({ move: "select", atNs: nowNs });
      this.#watch(live);
      selections.push(live.selection);
    }
    return selections;
  }

  /** Returns the transfer as it is afterwards. Ports are freed here and nowhere else, on the way out of the states that hold them. */
  #move(transfer: number, move: TransferMove, nowNs: number): Live {
    const live = this.#live.get(transfer);
    if (live === undefined) return failUnknown(transfer, move, this.#gone.get(transfer));
    const before = live.state;
    const after = nextState(before, move) ?? failIllegal(transfer, before, move, live.history);
    this.#advance(nowNs);
    if (after === before) return live;
    live.history.push({ move, atNs: nowNs });
    if (before === "intent") this.#queue.remove(live.slot);
    if (holdsPorts(before) && !holdsPorts(after)) {
      this.#queue.release(live.selection.source, live.selection.destination);
      this.#deadlines.remove(live);
    }
    live.state = after;
    if (after === "gone") this.#forget(transfer, live.history);
    return live;
  }

  /** Returns the state that ended. */
  #end(transfer: number, move: "done" | "failed", nowNs: number): LiveState {
    const state = this.state(transfer);
    this.#move(transfer, move, nowNs);
    return state as LiveState;
  }

  #watch(live: Live): void {
    this.#deadlines.set(live, deadlineOf(live.history, live.expectedNs, this.#options));
  }

  #forget(transfer: number, history: readonly MoveRecord[]): void {
    this.#live.delete(transfer);
    this.#gone.set(transfer, history);
    if (this.#gone.size <= REMEMBERED_GONE) return;
    for (const oldest of this.#gone.keys()) {
      this.#gone.delete(oldest);
      return;
    }
  }

  #advance(nowNs: number): void {
    if (!isNs(nowNs) || nowNs < this.#nowNs) failTime(nowNs, this.#nowNs);
    this.#nowNs = nowNs;
  }

  #checkRoute({ transfer, source, destination }: Intent): void {
    if (this.#queue.ports.hasRoute(source, destination)) return;
    throw new ArbitrationError(
      "NO_ROUTE",
      `Transfer ${transfer} asks for a way ${source} → ${destination}, and the topology of ${this.#queue.ports.accelerators} accelerators has none.`,
      { transfer, source, destination },
    );
  }

  /** `gone` also for a transfer that was never raised. */
  state(transfer: number): TransferState {
    return this.#live.get(transfer)?.state ?? "gone";
  }

  /** Live transfers by transfer number, as copies. O(live · log live). */
  transfers(): readonly TransferView[] {
    const views = Array.from(this.#live.values(), ({ selection, rank, expectedNs, sinceNs, state, history }) => {
      const records = history.map((record) => ({ ...record }));
      return { ...selection, rank, expectedNs, sinceNs, state: state as LiveState, history: records };
    });
    return views.sort((a, b) => a.transfer - b.transfer);
  }

  /** Every pending intent, in the order of selection, and what it waits for. For people: O(pending · live). */
  pending(nowNs: number): readonly WaitingReport[] {
    if (!isNs(nowNs) || nowNs < this.#nowNs) failTime(nowNs, this.#nowNs);
    return waitingReport(this.#queue, this.transfers(), nowNs);
  }

  /** A plain value, see `load`. O(live · log live). */
  save(): ArbiterState {
    return saveArbiter(this.#options, this.#nowNs, this.transfers(), this.#gone);
  }

  /** Who waits for whom, as text for people: O(pending · live). Throws INVALID_TIME. */
  describe(nowNs: number): string {
    return waitingInWords(this.pending(nowNs), this.transfers(), this.#options, nowNs);
  }

  /** Recounts everything from scratch; throws INVARIANT_BROKEN. O(ports + live). */
  validate(): void {
    checkArbiter(this.#queue, this.#live, this.#deadlines, this.#options);
  }
}

function checkIntent({ transfer, bytes, rank, expectedNs = 0 }: Intent): void {
  const faults: string[] = [];
  if (!isNs(transfer)) faults.push(`transfer must be a whole number ≥ 0, found ${transfer}`);
  if (!isNs(bytes)) faults.push(`bytes must be a whole number ≥ 0, found ${bytes}`);
  if (!isNs(rank)) faults.push(`rank must be a whole number ≥ 0, found ${rank}`);
  if (!isNs(expectedNs)) faults.push(`expectedNs must be a whole number ≥ 0, found ${expectedNs}`);
  if (faults.length > 0) failIntent(faults);
}

function failIntent(faults: readonly string[]): never {
  throw new ArbitrationError("INVALID_INTENT", `${faults.join("; ")}.`, { faults });
}

function failDuplicate({ selection, state, history }: Live): never {
  const { transfer, source, destination } = selection;
  throw new ArbitrationError(
    "DUPLICATE_TRANSFER",
    `Transfer ${transfer} is live already: ${source} → ${destination}, state "${state}". Transfer numbers are unique.`,
    { transfer, state, history: [...history] },
  );
}

function failOversubscribed({ transfer, source, destination, state }: TransferView): never {
  throw new ArbitrationError(
    "INVALID_STATE",
    `The saved transfers need more than the topology has: transfer ${transfer} (${state}), ${source} → ${destination}, does not fit.`,
    { transfer, source, destination, state },
  );
}

function failTime(nowNs: number, lastNs: number): never {
  throw new ArbitrationError(
    "INVALID_TIME",
    `Time must be whole nanoseconds and never step back: found ${nowNs} after ${lastNs}.`,
    { nowNs, lastNs },
  );
}

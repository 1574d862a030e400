import { loadArbiter, REMEMBERED_GONE, saveArbiter } from "./arbiter-state.ts";
import { ArbitrationError } from "./errors.ts";
import { IntentQueue } from "./intent-queue.ts";
import { failIllegal, failUnknown, holdsPorts, nextState } from "./moves.ts";
import { isNs } from "./options.ts";
import type {
  ArbiterState,
  ArbitrationOptions,
  Intent,
  MoveRecord,
  Selection,
  Topology,
  TransferMove,
  TransferState,
  TransferView,
  WaitingReport,
} from "./types.ts";
import { waitingReport } from "./waiting.ts";

/** One live transfer. Frozen facts in `selection`; the rest moves. */
interface Live {
  readonly selection: Selection;
  readonly rank: number;
  readonly sinceNs: number;
  /** Its place in the queue while it is an intent; meaningless afterwards. */
  readonly slot: number;
  state: Exclude<TransferState, "gone">;
  readonly history: MoveRecord[];
}

/**
 * Decides which transfers may go (paper §3.5.2). The life of one: `intent` raises it; `select` admits it, and it holds its
 * ports from then on; the caller has the receive buffer allocated and says `recvReady`, then the data moves; `done` or
 * `failed` frees the ports. `cancel` is legal at any time. Call `select` after every batch of events.
 *
 * A pure state machine: time is an argument and never steps back (INVALID_TIME).
 *
 * Nothing starves: with `D` the longest time a transfer holds its ports, an intent of rank r raised at t is selected by
 *
 *     t + (r + 2) · agingNs + reserveNs + (k + 1) · D
 *
 * where k counts the other intents still pending at t + (r + 2) · agingNs + reserveNs that were raised before
 * t + (r + 2) · agingNs. Why: its effective rank is then −2 or less, so whoever is raised later precedes neither it nor
 * anyone who ever precedes it; all of these have waited `reserveNs` and keep their ports from those later ones. Their ports
 * are therefore free after at most D, and then the first of them in order is selected, if nobody else of the k was.
 */
export class Arbiter {
  readonly #queue: IntentQueue;
  readonly #live = new Map<number, Live>();
  /** Histories of the last transfers that ended, oldest first: they make errors about late messages readable. */
  readonly #gone = new Map<number, readonly MoveRecord[]>();
  #nowNs = 0;

  /** Throws INVALID_TOPOLOGY and INVALID_OPTIONS, naming every fault. */
  constructor(topology: Topology, options: ArbitrationOptions = {}) {
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
    const { transfer, source, destination, bytes, rank, sinceNs, state } = view;
    this.#checkRoute(view);
    const queue = this.#queue;
    if (holdsPorts(state)) {
      if (!queue.ports.fits(source, destination)) failOversubscribed(view);
      queue.occupy(source, destination);
    }
    const slot = state === "intent" ? queue.add(transfer, source, destination, rank, sinceNs) : -1;
    const selection = { transfer, source, destination, bytes };
    this.#live.set(transfer, { selection, rank, sinceNs, slot, state, history: [...view.history] });
  }

  /**
   * Raises an intent; it waits for `select`.
   * Throws DUPLICATE_TRANSFER while that transfer is live, NO_ROUTE, INVALID_INTENT, INVALID_TIME, TOO_MANY_INTENTS.
   */
  intent(intent: Intent, nowNs: number): void {
    checkIntent(intent);
    const { transfer, source, destination, bytes, rank } = intent;
    const live = this.#live.get(transfer);
    if (live !== undefined) failDuplicate(live);
    this.#checkRoute(intent);
    this.#advance(nowNs);
    const slot = this.#queue.add(transfer, source, destination, rank, nowNs);
    const selection = { transfer, source, destination, bytes };
    const history: MoveRecord[] = [{ move: "raise", atNs: nowNs }];
    this.#gone.delete(transfer);
    this.#live.set(transfer, { selection, rank, sinceNs: nowNs, slot, state: "intent", history });
  }

  /** The receive buffer is there, the send begins. Throws ILLEGAL_MOVE, UNKNOWN_TRANSFER, INVALID_TIME. */
  recvReady(transfer: number, nowNs: number): void {
    this.#move(transfer, "recvReady", nowNs);
  }

  /** The data has arrived: frees the ports. Throws ILLEGAL_MOVE, UNKNOWN_TRANSFER, INVALID_TIME. */
  done(transfer: number, nowNs: number): void {
    this.#move(transfer, "done", nowNs);
  }

  /** The transfer will not go on, at whatever stage: frees its ports. Throws UNKNOWN_TRANSFER, INVALID_TIME. */
  failed(transfer: number, nowNs: number): void {
    this.#move(transfer, "failed", nowNs);
  }

  /**
   * Cancels at any stage, also when it is gone already, and returns the state that follows: `gone`, or `cancelling` when
   * data is moving; then `done` or `failed` must still follow, and frees the ports. Throws INVALID_TIME.
   */
  cancel(transfer: number, nowNs: number): "gone" | "cancelling" {
    if (!this.#live.has(transfer)) {
      this.#advance(nowNs);
      return "gone";
    }
    return this.#move(transfer, "cancel", nowNs) === "cancelling" ? "cancelling" : "gone";
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
      selections.push(live.selection);
    }
    return selections;
  }

  #move(transfer: number, move: TransferMove, nowNs: number): TransferState {
    const live = this.#live.get(transfer);
    if (live === undefined) return failUnknown(transfer, move, this.#gone.get(transfer));
    const before = live.state;
    const after = nextState(before, move) ?? failIllegal(transfer, before, move, live.history);
    this.#advance(nowNs);
    if (after === before) return after;
    live.history.push({ move, atNs: nowNs });
    if (after === "gone") {
      if (before === "intent") this.#queue.remove(live.slot);
      else this.#queue.release(live.selection.source, live.selection.destination);
      this.#forget(transfer, live.history);
    } else {
      live.state = after;
    }
    return after;
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
    const views = Array.from(this.#live.values(), ({ selection, rank, sinceNs, state, history }) => {
      return { ...selection, rank, sinceNs, state, history: history.map((record) => ({ ...record })) };
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
    return saveArbiter(this.#queue, this.#nowNs, this.transfers(), this.#gone);
  }

  /** Recounts everything from scratch; throws INVARIANT_BROKEN. */
  validate(): void {
    const { ports } = this.#queue;
    const held = new Array<number>(ports.ports).fill(0);
    let pending = 0;
    for (const { selection, state } of this.#live.values()) {
      if (state === "intent") pending++;
      if (!holdsPorts(state)) continue;
      const { source, destination } = selection;
      for (let at = 0; at < ports.portCount(source, destination); at++) {
        const port = ports.portAt(source, destination, at);
        held[port] = (held[port] ?? 0) + 1;
      }
    }
    const faults = held.flatMap((count, port) => {
      const { kind, index } = ports.name(port);
      const found = ports.capacity(port) - ports.left(port);
      return found === count ? [] : [`${kind} ${index} has ${found} claims for ${count} transfers`];
    });
    if (pending !== this.#queue.size)
      faults.push(`the queue has ${this.#queue.size} intents for ${pending} pending ones`);
    if (faults.length > 0) throw new ArbitrationError("INVARIANT_BROKEN", `${faults.join("; ")}.`, { faults });
  }
}

function checkIntent({ transfer, bytes, rank }: Intent): void {
  const faults: string[] = [];
  if (!isNs(transfer)) faults.push(`transfer must be a whole number ≥ 0, found ${transfer}`);
  if (!isNs(bytes)) faults.push(`bytes must be a whole number ≥ 0, found ${bytes}`);
  if (!isNs(rank)) faults.push(`rank must be a whole number ≥ 0, found ${rank}`);
  if (faults.length > 0) throw new ArbitrationError("INVALID_INTENT", `${faults.join("; ")}.`, { faults });
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

import { Worker } from "node:worker_threads";
import { requireBelow, requireWhole, SimulatorError } from "../errors.ts";
import type { SimulatorOptions } from "../types.ts";
import { Arena } from "./arena.ts";
import { Evaluator } from "./evaluator.ts";
import { CANCELLED, type WorkerAnswer, type WorkerOptions, type WorkerTurn } from "./protocol.ts";
import { type RoundResult, readError, readResults } from "./results.ts";
import type { Round } from "./round.ts";
import { boundOf, type RoundLimit } from "./round-evaluator.ts";
import { topologyTable } from "./topology-table.ts";

/** Each worker is a thread with a simulator of its own. */
const WORKERS_MAX = 256;

export interface SimulatorPoolOptions extends Omit<SimulatorOptions, "transferNs"> {
  /** Threads beside the caller's, from 1 to 256; more than there are cores gain nothing. */
  readonly workers: number;
}

export interface PoolLimit extends RoundLimit {
  /** Ends the evaluation with CANCELLED. */
  readonly signal?: AbortSignal;
}

/** The round that is being evaluated. */
interface Current {
  readonly round: number;
  readonly arena: Arena;
  readonly resolve: (result: RoundResult) => void;
  readonly reject: (error: SimulatorError) => void;
}

/**
 * Evaluates the candidates of a round on worker threads, with the results of `RoundEvaluator` to the bit, whatever the number of
 * workers and whichever takes what. Each of them declares and runs the base once per round, then takes candidates from a shared
 * counter. Idle workers do not keep the process alive; `close` ends them.
 */
export class SimulatorPool {
  readonly #options: WorkerOptions;
  readonly #workers: number;
  /** Those alive, with the turns that each has not answered. */
  readonly #crew = new Map<Worker, Map<number, Arena>>();
  readonly #spare: Arena[] = [];
  #rounds = 0;
  #current: Current | null = null;
  #isClosed = false as boolean;

  /** Throws INVALID_OPTION, and the arbitration package's INVALID_TOPOLOGY and INVALID_OPTIONS. O(accelerators²), once. */
  constructor({ workers, topology, agingNs, reserveNs }: SimulatorPoolOptions) {
    requireWhole(workers, 1, "workers", "INVALID_OPTION");
    requireBelow(workers - 1, WORKERS_MAX, "worker", "INVALID_OPTION");
    this.#workers = workers;
    this.#options = { topology: topologyTable(topology), agingNs, reserveNs };
    // What is wrong with them is thrown here, and not by every worker.
    new Evaluator(this.#options);
    this.#recruit();
  }

  /**
   * Evaluates all candidates of a round, which is read before this returns. Rejects with what is wrong with the round or its base; what is wrong with a
   * candidate is its result. Further codes: BUSY while another round is evaluated, CANCELLED when `signal` is aborted (at once; a worker that is
   * inside a candidate goes on to that one's end, and the next round starts behind it), WORKER_LOST when a thread
   * ended (another one takes its place in the next round), CLOSED.
   */
  async evaluate(round: Round, limit: PoolLimit = {}): Promise<RoundResult> {
    const { signal } = limit;
    const abandonAboveScore = boundOf(limit);
    this.#requireFree();
    if (signal?.aborted === true) throw cancelled(signal);
    const written = round.written();
    const count = written.starts.length;
    if (count === 0) return readResults(written.starts, 0, new Map());
    const arena = this.#spare.pop() ?? new Arena();
    const number = this.#rounds++;
    const turn: WorkerTurn = {
      round: number,
      written: arena.fill(written),
      records: arena.records,
      control: arena.control,
      abandonAboveScore,
    };
    this.#recruit();
    let abort = () => {};
    try {
      return await new Promise<RoundResult>((resolve, reject) => {
        this.#current = { round: number, arena, resolve, reject };
        if (signal !== undefined) {
          abort = () => this.#fail(cancelled(signal));
          signal.addEventListener("abort", abort);
        }
        let wanted = count;
        for (const [worker, owed] of this.#crew) {
          if (wanted-- === 0) break;
          owed.set(number, arena);
          worker.ref();
          worker.postMessage(turn);
        }
      });
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Ends all workers; what is being evaluated is rejected with CLOSED. A second call changes nothing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#fail(closed());
    await Promise.all(
      // It keeps the process alive until it has ended.
      [...this.#crew.keys()].map((worker) => worker.terminate()),
    );
  }

  #requireFree(): void {
    if (this.#isClosed) throw closed();
    if (this.#current === null) return;
    const { count, left } = this.#current.arena;
    throw new SimulatorError(
      "BUSY",
      `the pool evaluates a round, ${left} of ${count} candidates are left; await it, or make a second pool`,
      { count, left },
    );
  }

  /** As many workers as there should be. */
  #recruit(): void {
    while (this.#crew.size < this.#workers) {
      const worker = new Worker(new URL("./pool-worker.js", import.meta.url), {
        workerData: this.#options,
        execArgv: [],
      });
      worker.unref();
      this.#crew.set(worker, new Map());
      let cause: unknown;
      worker.on("message", (answer: WorkerAnswer) => this.#hear(worker, answer));
      worker.on("error", (error) => {
        cause = error;
      });
      worker.on("messageerror", (error) => {
        cause = error;
        void worker.terminate();
      });
      worker.on("exit", (exitCode) => this.#lose(worker, exitCode, cause));
    }
  }

  #hear(worker: Worker, { round, taken, errors, baseError }: WorkerAnswer): void {
    const owed = this.#crew.get(worker);
    const arena = owed?.get(round);
    if (owed === undefined || arena === undefined) return;
    owed.delete(round);
    // A late answer may come while `close` waits for the worker's end.
    if (owed.size === 0 && !this.#isClosed) worker.unref();
    const current = this.#current;
    if (current !== null && current.round === round) {
      arena.left -= taken;
      for (const [candidate, error] of errors) arena.errors.set(candidate, error);
      if (baseError !== null) this.#fail(readError(baseError));
      else if (arena.left === 0) {
        this.#current = null;
        current.resolve(readResults(arena.records, arena.count, arena.errors));
      }
    }
    this.#reuse(arena);
  }

  #lose(worker: Worker, exitCode: number, cause: unknown): void {
    const owed = this.#crew.get(worker);
    this.#crew.delete(worker);
    const current = this.#current;
    if (owed === undefined || current === null || !owed.has(current.round)) return;
    const { count, left } = current.arena;
    this.#fail(
      new SimulatorError(
        "WORKER_LOST",
        `a worker ended with code ${exitCode} while ${left} of ${count} candidates were left; evaluate the round again`,
        { exitCode, count, left },
        { cause },
      ),
    );
  }

  #fail(error: SimulatorError): void {
    const current = this.#current;
    if (current === null) return;
    this.#current = null;
    Atomics.store(current.arena.control, CANCELLED, 1);
    current.reject(error);
  }

  /** Once no worker can still look at it. One that was lost may have left an arena behind; it goes with its last reader. */
  #reuse(arena: Arena): void {
    if (this.#spare.length > 0 || this.#current?.arena === arena) return;
    for (const owed of this.#crew.values()) {
      for (const other of owed.values()) if (other === arena) return;
    }
    this.#spare.push(arena);
  }
}

function cancelled(signal: AbortSignal): SimulatorError {
  return new SimulatorError("CANCELLED", "the evaluation was cancelled by its signal", {}, { cause: signal.reason });
}

function closed(): SimulatorError {
  return new SimulatorError("CLOSED", "the pool is closed; make another one");
}

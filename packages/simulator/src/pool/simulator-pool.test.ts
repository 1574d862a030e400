import type { Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { chains, plain, TWO } from "../../test/rounds.ts";
import { SimulatorError } from "../index.ts";
import { Round, RoundEvaluator, SimulatorPool } from "../pool.ts";
import { NEXT_CANDIDATE, type WorkerTurn } from "./protocol.ts";

/** Every worker that was started, so that a test can end one, and those that keep the process alive. */
const started: Worker[] = [];
const keeping = new Set<Worker>();
vi.mock("node:worker_threads", async (original) => {
  const actual = await original<typeof import("node:worker_threads")>();
  return {
    ...actual,
    Worker: class extends actual.Worker {
      constructor(...options: ConstructorParameters<typeof actual.Worker>) {
        super(...options);
        started.push(this);
        keeping.add(this);
      }
      override ref() {
        keeping.add(this);
        super.ref();
      }
      override unref() {
        keeping.delete(this);
        super.unref();
      }
    },
  };
});

const states = [0, 1].map(() => ({ capacityBytes: 1e6, fixedBytes: 0 }));
const code = (promise: Promise<unknown>) =>
  promise.then(
    () => "no error",
    (error: unknown) => (error instanceof SimulatorError ? error.code : error),
  );

let pool: SimulatorPool;
beforeAll(() => {
  pool = new SimulatorPool({ ...TWO, workers: 2 });
});
afterAll(() => pool.close());

/** The pool gives right results. */
async function works(it: SimulatorPool): Promise<void> {
  const round = chains(5, 3);
  const { candidates, best } = await it.evaluate(round);
  const expected = new RoundEvaluator(TWO).evaluate(round);
  expect(plain(candidates)).toEqual(plain(expected.candidates));
  expect([candidates.length, best, candidates[0]?.scoreNs]).toEqual([5, 0, 20 + 10]);
}

describe("a round", () => {
  test("is evaluated as on one thread", () => works(pool));

  test("may be written anew while the one before is evaluated", async () => {
    const round = chains(4, 2);
    const first = pool.evaluate(round);
    round.begin(0, states);
    round.candidate();
    round.addOperator(1, 7, 0, 0, 0);
    expect((await first).candidates.map(({ outcome }) => outcome)).toEqual(new Array(4).fill("finished"));
    expect((await pool.evaluate(round)).candidates).toMatchObject([{ outcome: "finished", scoreNs: 7 }]);
  });

  test("without candidates has no best, nor one whose candidates add no operator", async () => {
    const round = new Round(TWO);
    round.begin(0, states);
    expect(await pool.evaluate(round)).toEqual({ candidates: [], best: -1 });
    round.candidate();
    expect(await pool.evaluate(round)).toMatchObject({
      candidates: [{ outcome: "finished", scoreNs: Number.NaN }],
      best: -1,
    });
  });

  test("that was not begun, or has no number as bound, is refused", async () => {
    expect(await code(pool.evaluate(new Round(TWO)))).toBe("NOT_BEGUN");
    expect(() => new Round(TWO).addTensor(0, 1, true)).toThrow(expect.objectContaining({ code: "NOT_BEGUN" }));
    expect(await code(pool.evaluate(chains(1, 1), { abandonAboveScore: Number.NaN }))).toBe("INVALID_OPTION");
    await works(pool);
  });

  test("is refused while another one is evaluated", async () => {
    const first = pool.evaluate(chains(3, 3));
    expect(await code(pool.evaluate(chains(3, 3)))).toBe("BUSY");
    expect((await first).best).toBe(0);
  });

  test("with a wrong base is refused as a whole, by every number of workers", async () => {
    const round = new Round(TWO);
    const broken = (declare: () => void) => {
      round.begin(5, states);
      declare();
      for (let each = 0; each < 4; each++) round.candidate();
      expect(() => new RoundEvaluator(TWO).evaluate(round)).toThrow(SimulatorError);
      return code(pool.evaluate(round));
    };
    expect(await broken(() => round.addOperator(9, 1, 0, 0, 0))).toBe("UNKNOWN_ACCELERATOR");
    const twoRun = () => [0, 1].map((each) => round.setRunning(round.addOperator(0, 5, 0, each, 0), 1));
    expect(await broken(twoRun)).toBe("INVALID_RUNNING");
    round.begin(0, states.slice(1));
    round.candidate();
    expect(await code(pool.evaluate(round))).toBe("UNKNOWN_ACCELERATOR");
    await works(pool);
  });
});

describe("a candidate", () => {
  test("that is refused is told in its place, and changes nothing for the others", async () => {
    const round = new Round(TWO);
    round.begin(0, states);
    const input = round.addTensor(0, 100, true);
    for (const durationNs of [9, -1, 7, Number.NaN, 8]) {
      round.candidate();
      const operator = round.addOperator(0, durationNs, 0, 0, 0);
      round.addInput(operator, input);
    }
    const { candidates, best } = await pool.evaluate(round);
    expect(candidates.map(({ scoreNs, error }) => error?.code ?? scoreNs)).toEqual([
      9,
      "INVALID_DURATION",
      7,
      "INVALID_DURATION",
      8,
    ]);
    expect(candidates[1]?.error?.details).toEqual({ what: "durationNs", value: -1, min: 1 });
    expect(best).toBe(2);
  });

  test("has the transfer durations of the caller, one question for equal ones", async () => {
    const transferNs = vi.fn(() => 33);
    const round = new Round({ ...TWO, transferNs });
    round.begin(0, states);
    const input = round.addTensor(0, 100, true);
    for (let each = 0; each < 3; each++) {
      round.candidate();
      round.addInput(round.addOperator(1, 5, 0, 0, 0), input);
    }
    const { candidates } = await pool.evaluate(round);
    expect(candidates.map(({ scoreNs }) => scoreNs)).toEqual([38, 38, 38]);
    expect(transferNs.mock.calls).toEqual([[0, 1, 100]]);
  });

  test("with a transfer that takes no whole time fails, and what transferNs throws undoes the call", async () => {
    const durations = [0.5, null];
    const round = new Round({
      ...TWO,
      transferNs: () => {
        const next = durations.shift();
        if (typeof next !== "number") throw new Error("no model");
        return next;
      },
    });
    round.begin(0, states);
    round.candidate();
    round.addInput(round.addOperator(1, 5, 0, 0, 0), round.addTensor(0, 100, true));
    round.candidate();
    const operator = round.addOperator(1, 5, 0, 0, 0);
    const tensor = round.addTensor(0, 101, true);
    expect(() => round.addInput(operator, tensor)).toThrow("no model");
    const { candidates } = await pool.evaluate(round);
    expect(candidates.map(({ scoreNs, error }) => error?.code ?? scoreNs)).toEqual(["INVALID_DURATION", 5]);
  });

  test("says where it runs out of memory", async () => {
    const round = new Round(TWO);
    round.begin(0, states);
    round.candidate();
    round.addOperator(1, 5, 0, 0, 0);
    const large = round.addOperator(1, 5, 0, 1, 1_000_004);
    const { candidates, best } = await pool.evaluate(round);
    const outOfMemory = { accelerator: 1, atNs: 5, operator: large, transfer: -1, bytesOver: 4 };
    expect([candidates[0]?.outcome, candidates[0]?.outOfMemory, best]).toEqual(["outOfMemory", outOfMemory, -1]);
  });

  test("whose score is above the bound is abandoned, and has no score", async () => {
    const { candidates, best } = await pool.evaluate(chains(4, 1), { abandonAboveScore: 25 });
    const expected = new RoundEvaluator(TWO).evaluate(chains(4, 1), { abandonAboveScore: 25 });
    expect(candidates).toEqual(expected.candidates);
    expect(candidates.map(({ outcome }) => outcome)).toEqual(["finished", "abandoned", "abandoned", "abandoned"]);
    expect([candidates[1]?.scoreNs, candidates[1]?.makespanNs, best]).toEqual([null, null, 0]);
  });
});

describe("an evaluation", () => {
  test("that is cancelled is rejected at once, and the pool goes on", async () => {
    const reason = new Error("too late");
    const controller = new AbortController();
    const posted = vi.spyOn(started[0] as Worker, "postMessage");
    const evaluated = pool.evaluate(chains(200, 300), { signal: controller.signal });
    controller.abort(reason);
    const error = await evaluated.catch((it: unknown) => it);
    expect(error).toMatchObject({ name: "SimulatorError", code: "CANCELLED", cause: reason });
    expect(await code(pool.evaluate(chains(1, 1), { signal: controller.signal }))).toBe("CANCELLED");
    await works(pool);
    // Workers stopped taking candidates.
    const [turn] = posted.mock.calls[0] as unknown as [WorkerTurn];
    expect(Atomics.load(turn.control, NEXT_CANDIDATE)).toBeLessThan(20);
    posted.mockRestore();
  });

  test("may be cancelled many times in a row, at any point", async () => {
    for (let each = 0; each < 20; each++) {
      const controller = new AbortController();
      const evaluated = code(pool.evaluate(chains(20, 20), { signal: controller.signal }));
      for (let turn = 0; turn < each; turn++) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      expect(["CANCELLED", "no error"]).toContain(await evaluated);
      if (each % 4 === 0) await works(pool);
    }
    await works(pool);
  });

  test("leaves no listener on its signal", async () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, "removeEventListener");
    await pool.evaluate(chains(1, 1), { signal });
    expect(removed).toHaveBeenCalledTimes(1);
  });
});

describe("workers", () => {
  const pools: SimulatorPool[] = [];
  const newPool = (workers: number) => {
    const made = new SimulatorPool({ ...TWO, workers });
    pools.push(made);
    return made;
  };
  afterEach(() => Promise.all(pools.splice(0).map((it) => it.close())));

  test("that end in a round reject it, and are replaced", async () => {
    const before = started.length;
    const fragile = newPool(2);
    await works(fragile);
    const evaluated = fragile.evaluate(chains(400, 300));
    await started[before]?.terminate();
    const error = await evaluated.catch((it: unknown) => it);
    expect(error).toMatchObject({ code: "WORKER_LOST", details: { exitCode: 1, count: 400 } });
    await works(fragile);
    expect(started.length - before).toBe(3);
  });

  test("that end between two rounds are replaced unnoticed", async () => {
    const before = started.length;
    const fragile = newPool(1);
    await works(fragile);
    await started[before]?.terminate();
    await works(fragile);
    expect(started.length - before).toBe(2);
  });

  test("end with the pool; a round that is evaluated is rejected", async () => {
    const before = started.length;
    const closing = newPool(3);
    const ended = started.slice(before).map((it) => new Promise((resolve) => it.once("exit", resolve)));
    const evaluated = code(closing.evaluate(chains(200, 300)));
    await closing.close();
    expect(await evaluated).toBe("CLOSED");
    await Promise.all(ended);
    expect(ended).toHaveLength(3);
    expect(await code(closing.evaluate(chains(1, 1)))).toBe("CLOSED");
    await closing.close();
  });

  test("keep the process alive while something is awaited from them, and not longer", async () => {
    const before = started.length;
    const one = newPool(1);
    const worker = started[before] as Worker;
    const isKeeping = () => keeping.has(worker);
    expect(isKeeping()).toBe(false);
    const evaluated = one.evaluate(chains(3, 3));
    expect(isKeeping()).toBe(true);
    await evaluated;
    expect(isKeeping()).toBe(false);
    const closed = one.close();
    expect(isKeeping()).toBe(true);
    await closed;
  });

  test("that answer while the pool closes keep the process alive until it has closed", async () => {
    const before = started.length;
    const closing = newPool(1);
    const worker = started[before] as Worker;
    const evaluated = code(closing.evaluate(chains(200, 300)));
    const closed = closing.close();
    worker.emit("message", { round: 0, taken: 0, errors: [], baseError: null });
    expect(keeping.has(worker)).toBe(true);
    await closed;
    expect(await evaluated).toBe("CLOSED");
  });

  test("are from 1 to 256, and a wrong topology is refused before any starts", () => {
    const before = started.length;
    for (const workers of [0, 257, 1.5, Number.NaN])
      expect(() => newPool(workers)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
    const topology = { ...TWO.topology, portCapacity: [0.5, 1] };
    expect(() => new SimulatorPool({ topology, workers: 1 })).toThrow(
      expect.objectContaining({ code: "INVALID_TOPOLOGY" }),
    );
    expect(started.length).toBe(before);
  });
});

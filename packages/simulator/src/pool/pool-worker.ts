import { parentPort, workerData } from "node:worker_threads";
import { SimulatorError } from "../errors.ts";
import { Evaluator } from "./evaluator.ts";
import { CANCELLED, NEXT_CANDIDATE, type WorkerAnswer, type WorkerOptions, type WorkerTurn } from "./protocol.ts";
import { type WrittenError, writtenError } from "./results.ts";

const port = parentPort;
if (port === null) throw new SimulatorError("INVALID_OPTION", "this module is a worker; use SimulatorPool");
const evaluator = new Evaluator(workerData as WorkerOptions);

port.on("message", (turn: WorkerTurn) => port.postMessage(take(turn)));
// A turn that cannot be read would never be answered; the pool hears of a worker that ends.
port.on("messageerror", (error) => {
  throw error;
});

/** Plans the base with the first candidate: a worker that comes too late for one has nothing to do. */
function take({ round, written, records, control, abandonAboveScore }: WorkerTurn): WorkerAnswer {
  const count = written.starts.length;
  const errors: [number, WrittenError][] = [];
  let taken = 0;
  while (Atomics.load(control, CANCELLED) === 0) {
    const candidate = Atomics.add(control, NEXT_CANDIDATE, 1);
    if (candidate >= count) break;
    if (taken === 0) {
      try {
        evaluator.begin(written);
      } catch (error) {
        return { round, taken, errors, baseError: writtenError(error) };
      }
    }
    const error = evaluator.evaluate(candidate, abandonAboveScore, records);
    if (error !== null) errors.push([candidate, error]);
    taken++;
  }
  return { round, taken, errors, baseError: null };
}

/**
 * How a round is written down: one array of doubles, each call a word that names it and then its arguments, in order. Booleans are
 * 0 and 1, −1 stands for none, as in the adders of `Simulator`. `starts` says where each candidate begins; what lies before the
 * first is the base:
 *
 *     BEGIN nowNs accelerators (capacityBytes fixedBytes granularityBytes)…   then the base's calls
 *     calls of candidate 0 | calls of candidate 1 | …
 */
import { SimulatorError } from "../errors.ts";
import type { Simulator } from "../simulator.ts";
import type { AcceleratorState, SimOperator, SimTensor } from "../types.ts";

export const BEGIN = 0;
export const ADD_TENSOR = 1;
export const ADD_COPY = 2;
export const ADD_OPERATOR = 3;
export const ADD_INPUT = 4;
export const ADD_OUTPUT = 5;
export const SET_RUNNING = 6;
export const SET_READY_SINCE = 7;
export const SET_TRANSFERRING = 8;
export const SET_INTENT_SINCE = 9;
export const SET_HELD = 10;
export const ADD_TRANSFER = 11;

/** Makes the calls written from `at` to `end`. The first that is refused ends it with its error. */
export function replay(to: Simulator, words: Float64Array, at: number, end: number): void {
  let next = at;
  while (next < end) next = replayOne(to, words, next);
}

/** Returns where the next call is. */
function replayOne(to: Simulator, words: Float64Array, at: number): number {
  const word = (index: number) => words[at + index] as number;
  const operator = word(1) as SimOperator;
  const tensor = word(1) as SimTensor;
  switch (word(0)) {
    case BEGIN:
      return replayBegin(to, words, at);
    case ADD_TENSOR:
      to.addTensor(word(1), word(2), word(3) === 1, word(4) as SimTensor | -1);
      return at + 5;
    case ADD_COPY:
      to.addCopy(tensor, word(2), word(3) === 1, word(4) as SimTensor | -1);
      return at + 5;
    case ADD_OPERATOR:
      to.addOperator(word(1), word(2), word(3), word(4), word(5));
      return at + 6;
    case ADD_INPUT:
      to.addInput(operator, word(2) as SimTensor, word(3));
      return at + 4;
    case ADD_OUTPUT:
      to.addOutput(operator, word(2), word(3) === 1, word(4) as SimTensor | -1);
      return at + 5;
    case SET_RUNNING:
      to.setRunning(operator, word(2));
      return at + 3;
    case SET_READY_SINCE:
      to.setReadySince(operator, word(2));
      return at + 3;
    case ADD_TRANSFER:
      to.addTransfer(tensor, word(2), word(3), word(4));
      return at + 5;
    case SET_TRANSFERRING:
      to.setTransferring(tensor, word(2), word(3), word(4));
      return at + 5;
    case SET_INTENT_SINCE:
      to.setIntentSince(tensor, word(2), word(3));
      return at + 4;
    case SET_HELD:
      to.setHeld(tensor, word(2), word(3) === 1);
      return at + 4;
  }
  throw new SimulatorError("NOT_BEGUN", `there is no call ${word(0)} at word ${at}; rounds are written by Round alone`);
}

function replayBegin(to: Simulator, words: Float64Array, at: number): number {
  const end = at + 3 + 3 * (words[at + 2] as number);
  const states: AcceleratorState[] = [];
  for (let each = at + 3; each < end; each += 3) {
    states.push({
      capacityBytes: words[each] as number,
      fixedBytes: words[each + 1] as number,
      granularityBytes: words[each + 2] as number,
    });
  }
  to.begin(words[at + 1] as number, states);
  return end;
}

import { expect, test } from "vitest";
import { type Machine, MachineTable } from "./machine-table.ts";

/** Adds up; `forgetful` leaves out of its state that it was doubled. */
class Adder implements Machine<number | "double", number, number> {
  #sum = 0;
  #factor = 1;
  readonly #forgetful: boolean;

  constructor(forgetful: boolean) {
    this.#forgetful = forgetful;
  }

  apply(input: number | "double"): number {
    if (input === 13) throw new RangeError("13 is not taken");
    if (input === "double") this.#factor = 2;
    else this.#sum += this.#factor * input;
    return this.#sum;
  }

  encode(): string {
    return this.#forgetful ? `${this.#sum}` : `${this.#sum} ${this.#factor}`;
  }

  info(): number {
    return this.#sum;
  }

  check() {
    return this.#sum > 100 ? ({ kind: "overCapacity", words: `${this.#sum} of 100`, amount: 1 } as const) : null;
  }
}

test("each move is made once, and states are reached again whatever was asked in between", () => {
  const table = new MachineTable(() => new Adder(false));
  const five = table.step(0, 5);
  expect([five.output, table.info(five.next)]).toEqual([5, 5]);
  expect(table.step(0, 5)).toBe(five);
  expect(table.step(five.next, 2).output).toBe(7);
  expect(table.step(table.step(0, 2).next, 5).next).toBe(table.step(five.next, 2).next);
  expect(table.step(five.next, 3).output).toBe(8);
  expect([table.states, table.steps]).toEqual([5, 5]);
  expect(table.machineAt(five.next).info()).toBe(5);
});

test("what a machine throws, or says is wrong, ends the way there", () => {
  const table = new MachineTable(() => new Adder(false));
  expect(table.step(0, 13)).toMatchObject({
    next: -1,
    violation: { kind: "broken", words: "RangeError: 13 is not taken" },
  });
  expect(table.step(0, 101)).toMatchObject({ next: -1, violation: { kind: "overCapacity", words: "101 of 100" } });
});

test.each([false, true])("states that are told by too little are found out (forgetful: %s)", (forgetful) => {
  const table = new MachineTable(() => new Adder(forgetful));
  for (let state = 0; state < table.states; state++)
    for (const input of [1, 2, "double"] as const) table.step(state, input);
  expect(table.compare()?.words ?? null).toEqual(forgetful ? expect.stringContaining("go on differently") : null);
  expect(table.compared).toBeGreaterThan(0);
});

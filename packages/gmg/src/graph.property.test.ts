import fc from "fast-check";
import { test } from "vitest";
import { seen } from "../test/graph-compare.ts";
import { KINDS, Play, type Step } from "../test/graph-play.ts";
import { worldArbitrary } from "../test/graph-world.ts";

class Command implements fc.Command<Play, Play> {
  readonly step: Step;

  constructor(step: Step) {
    this.step = step;
  }

  check(): boolean {
    return true;
  }

  run(_: Play, play: Play): void {
    play.step(this.step);
  }

  toString(): string {
    const { kind, pick, others, flags } = this.step;
    return `${kind}(${pick}, [${others}], ${flags})`;
  }
}

const weights: Record<Step["kind"], number> = {
  open: 2,
  submit: 5,
  issue: 8,
  start: 8,
  complete: 8,
  failOperator: 1,
  receive: 4,
  arrive: 4,
  failTransfer: 1,
  recall: 2,
  displace: 2,
  promote: 2,
  unplace: 2,
  withdraw: 3,
  cancel: 1,
  release: 2,
  close: 1,
};

const step = fc
  .record({
    kind: fc.oneof(...KINDS.map((kind) => ({ weight: weights[kind], arbitrary: fc.constant(kind) }))),
    pick: fc.nat(30),
    others: fc.array(fc.nat(30), { minLength: 6, maxLength: 6 }),
    flags: fc.nat(31),
  })
  .map((each) => new Command(each));

/** What a run leaves out altogether: some states are only reached when others are not in the way. */
const off = fc.subarray([
  "failOperator",
  "failTransfer",
  "cancel",
  "release",
  "close",
  "withdraw",
  "recall",
  "displace",
  "promote",
  "unplace",
  "arrive",
]);

test("agrees with a twin that counts everything again, stays within memory, and ends empty", () => {
  fc.assert(
    fc.property(
      worldArbitrary,
      off,
      fc.commands([step], { maxCommands: 80, size: "max" }),
      (world, without, commands) => {
        const play = new Play(world, without);
        fc.modelRun(() => ({ model: play, real: play }), commands);
        play.drain();
      },
    ),
    { numRuns: Number(process.env["RUNS"] ?? 100) },
  );
  if (process.env["RUNS"] !== undefined) console.log(seen);
});

import { GmgError } from "@slicescheduler/gmg";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Driver } from "../test/driver.ts";
import { buildWorld, worldArbitrary } from "../test/graph-world.ts";

const actions = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 2, arbitrary: fc.constant("open" as const) },
      { weight: 5, arbitrary: fc.constant("submit" as const) },
      { weight: 12, arbitrary: fc.constant("step" as const) },
      { weight: 2, arbitrary: fc.constant("lose" as const) },
      { weight: 3, arbitrary: fc.constant("return" as const) },
      { weight: 1, arbitrary: fc.constant("drain" as const) },
      { weight: 1, arbitrary: fc.constant("cancel" as const) },
      { weight: 1, arbitrary: fc.constant("recall" as const) },
    ),
    pick: fc.nat(1000),
    steps: fc.integer({ min: 1, max: 6 }),
  }),
  { minLength: 10, maxLength: 70, size: "max" },
);

/** Room enough for most of what is submitted, and more than one accelerator. */
const roomyWorlds = worldArbitrary
  .filter(({ accelerators }) => accelerators.length > 1)
  .map((world) => ({
    ...world,
    accelerators: world.accelerators.map((each) => ({ ...each, capacityBytes: 2 * each.capacityBytes })),
  }));

/** What happened over all runs: the test is worth its time only if all of it did. */
const seen: Record<string, number> = {};

function tally(what: string): void {
  seen[what] = (seen[what] ?? 0) + 1;
}

test("whatever accelerators are lost, drained and come back: every instance has one outcome, and nothing is left", () => {
  fc.assert(
    fc.property(roomyWorlds, actions, (world, steps) => {
      const { graph, templates } = buildWorld(world);
      const driver = new Driver(graph);
      const requests: number[] = [];
      let opened = 0;
      const submitted: { id: number; template: (typeof templates)[number]; request: number }[] = [];
      const attempt = (action: () => void) => {
        try {
          action();
          return true;
        } catch (error) {
          if (!(error instanceof GmgError)) throw error;
          tally(error.code);
          return false;
        }
      };
      const open = (pick: number) => {
        const id = opened++;
        const limits = templates.map(({ spec }) => ({ template: spec.name, symbols: { n: 5, s0: 30, s1: 20 } }));
        const done = attempt(() =>
          graph.openRequest(
            {
              id,
              label: "",
              rank: pick % 2,
              deadlineNs: Number.POSITIVE_INFINITY,
              limits: pick % 3 === 0 ? null : limits,
              concurrentInstances: 1 + (pick % 2),
              chains: 1,
              mayPause: pick % 5 === 0,
              allowedPartitions: null,
              endsWithInstances: false,
            },
            driver.nowNs,
          ),
        );
        if (done) requests.push(id);
      };
      const submit = (pick: number) => {
        const request = requests[pick % Math.max(1, requests.length)] ?? -1;
        const template = templates[pick % templates.length];
        if (template === undefined) return;
        const id = (submitted.at(-1)?.id ?? -1) + 1;
        const earlier = submitted
          .filter((each) => each.request === request && graph.instance(each.id) !== undefined)
          .reverse();
        const inputs: Record<string, { instance: number; output: string }> = {};
        const symbols: Record<string, number> = { n: pick % 6, s0: 0, s1: 0 };
        for (let slot = 0; slot < template.slots; slot++) {
          const from = earlier[(pick + slot) % Math.min(3, Math.max(1, earlier.length))];
          const [output] = Object.keys(from?.template.spec.outputs ?? {});
          if (from === undefined || output === undefined || pick % 4 === 0) continue;
          inputs[`x${slot}`] = { instance: from.id, output };
          const operators = graph.instance(from.id)?.operators ?? [];
          const reference = from.template.spec.outputs[output];
          const [name, port] = String(reference).split(".");
          const index = from.template.spec.operators.findIndex((each) => each.name === name);
          const bytes = operators[index]?.outputs[Number(port?.slice(1))]?.bytes ?? 0;
          symbols[`s${slot}`] = bytes;
        }
        const retain = Object.keys(template.spec.outputs).filter((_, i) => (pick >> i) % 2 === 0);
        const done = attempt(() =>
          graph.insert(
            { id, template: template.spec.name, symbols, inputs, retain, allowedPartitions: null, label: "" },
            request,
            driver.nowNs,
          ),
        );
        if (done) {
          tally(Object.keys(inputs).length > 0 ? "submitted with inputs" : "submitted");
          submitted.push({ id, template, request });
        }
      };
      open(1);
      for (const { kind, pick, steps: count } of steps) {
        const accelerator = pick % graph.cluster.accelerators.length;
        if (kind === "open") open(pick);
        else if (kind === "submit") submit(pick);
        else if (kind === "step") driver.run(count, pick);
        else if (kind === "lose") {
          if (graph.availability(accelerator) !== "down") tally("lost");
          driver.lose(accelerator);
        } else if (kind === "return") graph.returnAccelerator(accelerator);
        else if (kind === "drain") graph.drainAccelerator(accelerator, driver.nowNs);
        else if (kind === "cancel")
          graph.cancel(submitted[pick % Math.max(1, submitted.length)]?.id ?? -1, driver.nowNs);
        else {
          const waiting = [...graph.issuedOperators()].filter((each) => each.startedNs < 0 && each.state === "issued");
          const operator = waiting[pick % Math.max(1, waiting.length)];
          if (operator !== undefined) graph.recall(operator);
        }
        driver.effects();
      }
      for (const { index } of graph.cluster.accelerators) graph.returnAccelerator(index);
      driver.run();
      for (const { id, template } of submitted) {
        for (const output of Object.keys(template.spec.outputs)) graph.releaseOutput(id, output);
      }
      for (const id of requests) graph.closeRequest(id);
      driver.run();
      for (const runs of driver.runs.values()) if (runs > 1) tally("made again");
      for (const outcome of driver.outcomes) tally(outcome.split(" ")[1] ?? "");
      expect(driver.outcomes.map((outcome) => Number(outcome.split(" ")[0])).sort((a, b) => a - b)).toEqual(
        submitted.map(({ id }) => id),
      );
      expect(graph.counts()).toEqual({ requests: 0, instances: 0, tensors: 0, issuedOperators: 0, transfers: 0 });
      for (const { index } of graph.cluster.accelerators) {
        expect(graph.ledger.usedBytes(index)).toBe(graph.ledger.fixedBytes(index));
        expect([graph.claims.reservedBytes(index), graph.claims.takenBytes(index)]).toEqual([0, 0]);
      }
    }),
    { numRuns: Number(process.env["RUNS"] ?? 100) },
  );
  if (process.env["RUNS"] !== undefined) console.log(seen);
});

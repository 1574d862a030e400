/** Snapshots of the graph and of its ledger, as real runs leave them in their midst. */
import {
  GlobalMappingGraph,
  GmgError,
  GraphStateInvalidError,
  LedgerStateInvalidError,
  ResidencyLedger,
} from "@slicescheduler/gmg";
import fc from "fast-check";
import { MasterCore } from "slicescheduler";
import { expect, test } from "vitest";
import { type QuietWorld, runWorkload } from "../run-workload.ts";
import { worlds } from "../worlds.ts";
import { damaged, loaded } from "./hostile.ts";

const numRuns = Number(process.env["FUZZ"] ?? 400);

interface Saved {
  readonly graph: object;
  readonly ledger: object;
}

/** What a core has saved when about half of a run is over, for a few runs that hold something then. */
async function savedInTheMidst(): Promise<Saved[]> {
  const found: Saved[] = [];
  for (const world of fc.sample(worlds({ cancels: true }), { seed: 7, numRuns: 12 })) {
    const { cluster, scheduling = {}, arbitration = {} } = world;
    const core = new MasterCore({ cluster, scheduling, arbitration, health: false });
    const states: Saved[] = [];
    let replayed = 0;
    const onQuiet = ({ recorded }: QuietWorld) => {
      for (; replayed < recorded.length; replayed++) {
        const { event, nowNs } = recorded[replayed] as (typeof recorded)[number];
        core.handle(event, nowNs);
      }
      states.push({ graph: core.graph.snapshot(), ledger: core.graph.ledger.save() });
    };
    await runWorkload({ ...world, health: false, validate: false, onQuiet });
    const middle = states[Math.floor(states.length / 2)];
    if (middle !== undefined) found.push(JSON.parse(JSON.stringify(middle)));
  }
  return found;
}

const saved = await savedInTheMidst();

test("what is damaged is undamaged refused by nobody", () => {
  expect(saved.length).toBeGreaterThan(8);
  for (const { graph, ledger } of saved) {
    expect(GlobalMappingGraph.restore(graph).snapshot()).toEqual(graph);
    expect(ResidencyLedger.load(ledger).save()).toEqual(ledger);
  }
});

test("a damaged snapshot of a graph is refused with the place, or is a sound graph that saves the same", () => {
  const damages = fc.constantFrom(...saved).chain(({ graph }) => damaged(graph));
  let refused = 0;
  fc.assert(
    fc.property(damages, (value) => {
      const graph = loaded(
        () => GlobalMappingGraph.restore(value),
        (error) => error instanceof GraphStateInvalidError,
      );
      if (graph === undefined) {
        refused++;
        return;
      }
      graph.validate();
      expect(GlobalMappingGraph.restore(graph.snapshot()).snapshot()).toEqual(graph.snapshot());
    }),
    { numRuns },
  );
  expect(refused).toBeGreaterThan(numRuns / 2);
});

test("a damaged ledger is refused with the place, or is a sound ledger that saves the same", () => {
  const damages = fc.constantFrom(...saved).chain(({ ledger }) => damaged(ledger));
  let refused = 0;
  fc.assert(
    fc.property(damages, (value) => {
      const ledger = loaded(
        () => ResidencyLedger.load(value),
        (error) => error instanceof LedgerStateInvalidError,
      );
      if (ledger === undefined) {
        refused++;
        return;
      }
      ledger.validate();
      expect(ResidencyLedger.load(ledger.save()).save()).toEqual(ledger.save());
      // It may be full, or have other accelerators; what it says then is its own.
      try {
        ledger.loadWeights(0, "more", 1);
      } catch (error) {
        if (!(error instanceof GmgError)) throw error;
      }
      ledger.validate();
    }),
    { numRuns },
  );
  expect(refused).toBeGreaterThan(numRuns / 3);
});

import { type GlobalMappingGraph, GmgError, type RequestNode } from "@slicescheduler/gmg";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { Driver } from "../test/driver.ts";
import { buildWorld, type World, worldArbitrary } from "../test/graph-world.ts";

/** What happened over all runs: the test is worth its time only if all of it did. */
const seen = { displaced: 0, unplaced: 0, promoted: 0, elsewhere: 0 };

const requests = fc.array(
  fc.record({
    rank: fc.nat(2),
    template: fc.nat(5),
    instances: fc.array(fc.record({ rank: fc.option(fc.nat(2)), reads: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  { minLength: 1, maxLength: 5 },
);
type Requests = typeof requests extends fc.Arbitrary<infer T> ? T : never;

const interruptions = fc.array(
  fc.record({
    kind: fc.constantFrom("displace", "displace", "unplace", "promote", "step", "step", "step"),
    pick: fc.nat(1000),
  }),
  { minLength: 10, maxLength: 80, size: "max" },
);

/** With room enough that each request fits, so that all is done at the end. */
const roomyWorlds = worldArbitrary.map((world) => ({
  ...world,
  accelerators: world.accelerators.map((each) => ({ ...each, capacityBytes: 400 + each.capacityBytes })),
}));

/** Every request with its instances, each reading a result of the one before if it is to and can. */
function filled(world: World, wanted: Requests, overtaking = false): { graph: GlobalMappingGraph; driver: Driver } {
  const { graph, templates } = buildWorld(world);
  const opening = {
    label: "",
    deadlineNs: Number.POSITIVE_INFINITY,
    limits: null,
    concurrentInstances: 1,
    chains: 1,
    mayPause: false,
    allowedPartitions: null,
    endsWithInstances: true,
  };
  let instance = 0;
  for (const [id, { rank, template, instances }] of wanted.entries()) {
    graph.openRequest({ ...opening, id, rank }, 0);
    const { spec, slots } = templates[template % templates.length] as (typeof templates)[number];
    const [output] = Object.keys(spec.outputs);
    for (const [at, { rank: own, reads }] of instances.entries()) {
      const canRead = reads && at > 0 && slots > 0 && output !== undefined;
      const inputs: Record<string, { instance: number; output: string }> = canRead
        ? { x0: { instance: instance - 1, output } }
        : {};
      const read = canRead ? tensorNamed(graph, instance - 1, output) : 0;
      graph.insert(
        {
          id: instance,
          template: spec.name,
          symbols: { n: 1, s0: read, s1: 0 },
          inputs,
          retain: [],
          allowedPartitions: null,
          label: "",
          ...(own === null ? {} : { rank: own }),
        },
        id,
        0,
      );
      instance += 1;
    }
  }
  return { graph, driver: new Driver(graph, overtaking) };
}

function tensorNamed(graph: GlobalMappingGraph, id: number, output: string): number {
  const instance = graph.instance(id);
  const [ref] = instance?.template.outputNamed(output)?.refs ?? [];
  return instance?.operators[ref?.operator ?? -1]?.outputs[ref?.output ?? -1]?.bytes ?? 0;
}

function interrupt({ graph, driver }: ReturnType<typeof filled>, kind: string, pick: number): void {
  if (kind === "step") driver.run(1 + (pick % 3), pick);
  else if (kind === "promote") {
    const [operator] = graph.unscheduledFrontier;
    if (operator !== undefined && graph.promote(operator, pick % 2)) seen.promoted += 1;
  } else if (kind === "displace") {
    for (const operator of graph.displaceable(pick % 2)) {
      graph.displace(operator);
      seen.displaced += 1;
      if (pick % 3 > 0) break;
    }
  } else {
    const placed = [...graph.claims.placed()];
    const request = placed[pick % Math.max(1, placed.length)];
    if (request === undefined || !isNowhere(graph, request)) return;
    const { partition } = request;
    graph.unplace(request.id);
    seen.unplaced += 1;
    driver.effects();
    if (pick % 2 === 0) layElsewhere(graph, request, partition);
  }
  driver.effects();
}

/** The next operator of a request, on another partition than before, if there is one that has room. */
function layElsewhere(graph: GlobalMappingGraph, request: RequestNode, before: string | null): void {
  for (const operator of graph.unscheduledFrontier) {
    if (operator.instance.request !== request) continue;
    const options = graph.placementOptions(operator).filter(({ shortage }) => shortage === null);
    const option = options.find(({ partition }) => partition.name !== before);
    if (option === undefined) continue;
    graph.issue(operator, option.partition, 0);
    seen.elsewhere += 1;
    return;
  }
}

function isNowhere(graph: GlobalMappingGraph, request: RequestNode): boolean {
  for (const { operators } of request.instances) {
    for (const { issueNumber, outputs } of operators) {
      if (graph.issued(issueNumber) !== undefined) return false;
      if (outputs.some(({ copies, transfers }) => copies.length + transfers.length > 0)) return false;
    }
  }
  return true;
}

test("whatever gives way, comes back and is laid elsewhere: all ends as without, every operator run once, nothing left", () => {
  fc.assert(
    fc.property(roomyWorlds, requests, interruptions, fc.boolean(), (world, wanted, taken, overtaking) => {
      let plain: ReturnType<typeof filled>;
      try {
        plain = filled(world, wanted);
      } catch (error) {
        if (!(error instanceof GmgError)) throw error;
        // It needs an input it cannot have, or more than there is.
        fc.pre(false);
        return;
      }
      plain.driver.run();
      const disturbed = filled(world, wanted, overtaking);
      for (const { kind, pick } of taken) interrupt(disturbed, kind, pick);
      disturbed.driver.run();
      expect(disturbed.driver.outcomes.toSorted()).toEqual(plain.driver.outcomes.toSorted());
      expect([...disturbed.driver.runs].toSorted()).toEqual([...plain.driver.runs].toSorted());
      expect([...disturbed.driver.runs.values()].every((runs) => runs === 1)).toBe(true);
      expect(disturbed.graph.counts()).toEqual(plain.graph.counts());
      expect(disturbed.graph.counts()).toMatchObject({ requests: 0, instances: 0, issuedOperators: 0 });
      for (const { index } of disturbed.graph.cluster.accelerators) {
        expect(disturbed.graph.claims.reservedBytes(index)).toBe(0);
        expect(disturbed.graph.ledger.usedBytes(index)).toBe(disturbed.graph.ledger.fixedBytes(index));
      }
    }),
    { numRuns: Number(process.env["RUNS"] ?? 60) },
  );
  expect(seen.displaced).toBeGreaterThan(5);
});

afterAll(() => {
  if (process.env["RUNS"] !== undefined) console.log(seen);
});

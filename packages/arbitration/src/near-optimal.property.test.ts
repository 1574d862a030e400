/** How much less the arbiter moves per time than the best schedule that is found exhaustively. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  arbiterNs,
  Draw,
  type Instance,
  lowerBoundNs,
  type Move,
  optimumByTimesNs,
  optimumNs,
} from "../test/optimum.ts";
import { pairs, pick, topologies, topologyOf } from "../test/twin.ts";

interface Family {
  readonly name: string;
  readonly make: (draw: Draw) => Instance;
}

/** 3 or 4 accelerators, 4 to 6 transfers between any two of them. */
function random(draw: Draw, links: number, capacityMax: number, bytes: () => number): Instance {
  const accelerators = draw.between(3, 4);
  const portCapacity = Array.from({ length: accelerators }, () => draw.between(1, capacityMax));
  const linkCapacity = Array.from({ length: links }, () => draw.between(1, 2));
  const routes = Array.from({ length: accelerators ** 2 }, () =>
    Array.from(linkCapacity.keys()).filter(() => draw.between(0, 1) === 1),
  );
  const moves = Array.from({ length: draw.between(4, 6) }, (): Move => {
    const source = draw.between(0, accelerators - 1);
    const destination = (source + draw.between(1, accelerators - 1)) % accelerators;
    return { source, destination, durationNs: bytes() };
  });
  const route = (source: number, destination: number) => routes[source * accelerators + destination] ?? [];
  return { topology: topologyOf(portCapacity, linkCapacity, route), moves };
}

const FAMILIES: readonly Family[] = [
  { name: "ports alone", make: (draw) => random(draw, 0, 1, () => draw.between(1, 20)) },
  { name: "transfers of one size", make: (draw) => random(draw, 0, 1, () => 10) },
  { name: "a shared link or two", make: (draw) => random(draw, draw.between(1, 2), 1, () => draw.between(1, 20)) },
  { name: "up to two copy engines", make: (draw) => random(draw, draw.between(0, 2), 2, () => draw.between(1, 20)) },
];

const SEEDS = 1000;

/** Share of the bytes per time that is lost against the best schedule, in each draw of a family, the smallest first. */
function losses({ make }: Family): number[] {
  return Array.from({ length: SEEDS }, (_, seed) => {
    const instance = make(new Draw(seed));
    const [bestNs, ownNs] = [optimumNs(instance), arbiterNs(instance)];
    expect(ownNs, `seed ${seed}`).toBeGreaterThanOrEqual(bestNs);
    return 1 - bestNs / ownNs;
  }).sort((a, b) => a - b);
}

describe("bytes per time", () => {
  it.each(FAMILIES)("are within 5 % of the best schedule on the mean of random graphs: $name", (family) => {
    const all = losses(family);
    const mean = all.reduce((sum, loss) => sum + loss, 0) / all.length;
    expect(mean).toBeLessThan(0.05);
    // A single graph can be unlucky: the rule looks at no more than one event.
    expect(all.at(-1)).toBeLessThanOrEqual(0.5);
    // The draws are not so easy that every rule would do.
    expect(all.filter((loss) => loss > 0).length).toBeGreaterThan(SEEDS / 100);
  });

  it.each([
    { accelerators: 4, percent: 12 },
    { accelerators: 8, percent: 18 },
  ])("lose $percent % in an exchange of all with all of one size among $accelerators", ({ accelerators, percent }) => {
    // The README says so. The best schedule is a row of permutations, in which every port is always taken: the lower bound.
    const topology = topologyOf(new Array<number>(accelerators).fill(1), [], () => []);
    const lost = Array.from({ length: SEEDS }, (_, seed) => {
      const draw = new Draw(seed);
      const ways = pairs(topology).map((way) => ({ way, at: draw.between(0, 1e6) }));
      ways.sort((a, b) => a.at - b.at);
      const instance = {
        topology,
        moves: ways.map(({ way: [source, destination] }) => ({ source, destination, durationNs: 10 })),
      };
      return 1 - lowerBoundNs(instance) / arbiterNs(instance);
    });
    const mean = lost.reduce((sum, loss) => sum + loss, 0) / lost.length;
    expect(Math.abs(100 * mean - percent)).toBeLessThan(1);
  });

  it("are compared with what is the best: the exhaustive search agrees with one over all times", () => {
    const small = topologies.chain((topology) =>
      fc.record({
        topology: fc.constant(topology),
        moves: fc.array(
          fc.record({ way: fc.nat(100), durationNs: fc.integer({ min: 1, max: 3 }) }).map(({ way, durationNs }) => {
            const [source, destination] = pick(pairs(topology), way);
            return { source, destination, durationNs };
          }),
          { minLength: 1, maxLength: 4 },
        ),
      }),
    );
    fc.assert(
      fc.property(small, (instance) => {
        const bestNs = optimumNs(instance);
        expect(bestNs).toBe(optimumByTimesNs(instance));
        expect(bestNs).toBeGreaterThanOrEqual(lowerBoundNs(instance));
      }),
      { numRuns: 400 },
    );
  });
});

import { GlobalMappingGraph, GmgError, GraphStateInvalidError } from "@slicescheduler/gmg";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { Driver } from "../test/driver.ts";
import { actionArbitrary, roomyWorlds, Session } from "../test/snapshot-session.ts";

const numRuns = Number(process.env["RUNS"] ?? 25);

/** What came of it over all runs: the test is worth its time only if much was refused and much was not. */
const seen: Record<string, number> = {};

/** What may stand where something else stood. */
const strange = fc.oneof(
  fc.integer({ min: -2, max: 9 }),
  fc.constantFrom(0.5, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 1e308, Number.NaN, Number.POSITIVE_INFINITY),
  fc.constantFrom(null, true, "", "u", "p", "__proto__", "constructor"),
  fc.constantFrom<readonly unknown[]>([], [0], [[0]], [-1, 0]).map((list) => structuredClone(list)),
  fc.constantFrom({}, JSON.parse('{"__proto__": {"polluted": 1}}')),
);

const mutation = fc.record({
  /** Which way to go at each level, modulo what is there. */
  way: fc.array(fc.nat(1000), { minLength: 5, maxLength: 5 }),
  depth: fc.integer({ min: 1, max: 5 }),
  kind: fc.constantFrom("replace", "add", "delete", "swap", "repeat", "truncate"),
  value: strange,
  by: fc.constantFrom(-1, 1, 2),
});

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

function mutate(root: object, { way, depth, kind, value, by }: Mutation): void {
  let parent = root;
  let key = "";
  for (const pick of way.slice(0, depth)) {
    const inner: unknown = key === "" ? parent : Reflect.get(parent, key);
    if (typeof inner !== "object" || inner === null || Object.keys(inner).length === 0) break;
    parent = inner;
    const keys = Object.keys(parent);
    key = keys[pick % keys.length] as string;
  }
  const old: unknown = Reflect.get(parent, key);
  const other = Object.keys(parent).find((each) => each !== key) ?? key;
  if (kind === "replace") Reflect.set(parent, key, value);
  else if (kind === "add") Reflect.set(parent, key, typeof old === "number" ? old + by : `${old}u`);
  else if (kind === "delete")
    Array.isArray(parent) ? parent.splice(Number(key), 1) : Reflect.deleteProperty(parent, key);
  else if (kind === "swap") {
    Reflect.set(parent, key, Reflect.get(parent, other));
    Reflect.set(parent, other, old);
  } else if (kind === "repeat" && Array.isArray(parent)) parent.push(structuredClone(old));
  else if (Array.isArray(parent)) parent.length = Number(key);
  else if (typeof old === "string") Reflect.set(parent, key, old.slice(0, -1));
}

test("a snapshot that was tampered with is refused with a typed error, or is a graph that saves the same and can go on", () => {
  fc.assert(
    fc.property(
      roomyWorlds,
      fc.array(actionArbitrary, { minLength: 5, maxLength: 30 }),
      fc.array(fc.array(mutation, { minLength: 1, maxLength: 2 }), { minLength: 30, maxLength: 30 }),
      (world, actions, tamperings) => {
        const session = new Session(world);
        for (const action of actions) session.apply(action);
        const text = JSON.stringify(session.graph.snapshot());
        for (const mutations of tamperings) {
          const value = JSON.parse(text);
          for (const each of mutations) mutate(value, each);
          tryToRestore(value);
        }
      },
    ),
    { numRuns },
  );
  expect(Reflect.get({}, "polluted")).toBe(undefined);
});

function tryToRestore(value: unknown): void {
  let graph: GlobalMappingGraph;
  try {
    graph = GlobalMappingGraph.restore(value);
  } catch (error) {
    expect(error).toBeInstanceOf(GraphStateInvalidError);
    tally("refused");
    return;
  }
  tally("restored");
  graph.validate();
  expect(graph.snapshot()).toEqual(value);
  try {
    new Driver(graph).run(20);
  } catch (error) {
    // It may have been given, say, weights that leave no room; it must not run into what should be there and is not.
    if (!(error instanceof GmgError)) throw error;
    tally(error.code);
  }
}

function tally(what: string): void {
  seen[what] = (seen[what] ?? 0) + 1;
}

afterAll(() => {
  if (process.env["RUNS"] !== undefined) console.log(seen);
});

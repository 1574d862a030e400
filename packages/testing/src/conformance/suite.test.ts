import { RealTime, SimulatedTime, virtualExecutor } from "@slicescheduler/executor";
import { describe, expect, test } from "vitest";
import { unitOf } from "../hash.ts";
import { type Relay, relayedExecutor } from "../relayed-executor.ts";
import { aheadBackend, aheadManifest } from "./ahead.fixture.ts";
import { PlainBackend } from "./plain/backend.fixture.ts";
import { runExecutorConformance } from "./suite.ts";
import { virtualBackend } from "./virtual-backend.fixture.ts";

const { manifest } = virtualExecutor({ seed: 1 });

describe("the virtual executor in simulated time that is driven", () => {
  runExecutorConformance({ test, manifest, create: () => virtualBackend() });
});

describe("the virtual executor in simulated time that passes by itself", () => {
  const create = () => virtualBackend(new SimulatedTime({ autoAdvance: true }));
  runExecutorConformance({ test, manifest, create });
});

describe("the virtual executor, when everything takes 1 ns", () => {
  runExecutorConformance({ test, manifest, create: () => virtualBackend(undefined, () => 1) });
});

describe("the virtual executor, when durations are anything", () => {
  const create = () => virtualBackend(undefined, (number) => Math.round(10 ** (9 * unitOf(7, number))));
  runExecutorConformance({ test, manifest, create });
});

describe("a backend that shares nothing with the executor package", () => {
  const create = () => {
    const executor = new PlainBackend();
    return { executor, step: () => executor.step() };
  };
  runExecutorConformance({ test, manifest: new PlainBackend().manifest, create });
});

describe("the virtual executor in real time", () => {
  const create = () => virtualBackend(new RealTime());
  runExecutorConformance({ test, manifest: { ...manifest, simulatedTime: false }, create });
});

describe("a backend that runs ahead of its events", () => {
  runExecutorConformance({ test, manifest: aheadManifest, create: () => aheadBackend() });
});

test("a backend that runs ahead without saying so is found out", async () => {
  const bodies = new Map<string, () => Promise<void>>();
  const silent = { ...aheadManifest, runsAhead: false };
  runExecutorConformance({
    test: (name, body) => bodies.set(name, body),
    manifest: silent,
    create: () => aheadBackend(),
  });
  const answered = bodies.get(
    "events: what a master answers to an event counts before anything starts at that instant",
  );
  await expect(answered?.()).rejects.toThrow(/operatorStarted/);
});

test("a manifest says what is checked, and no two checks have one name", () => {
  const namesOf = (features: object) =>
    runExecutorConformance({
      test: () => {},
      manifest: { name: "none", simulatedTime: true, ...features },
      create: () => virtualBackend(),
    });
  const fewest = namesOf({});
  const most = namesOf({ ...manifest, holdsData: true });
  expect(new Set(most).size).toBe(most.length);
  expect(most.filter((name) => fewest.includes(name))).toEqual(fewest);
  expect(most.length - fewest.length).toBe(15);
});

test("a backend in real time that falls silent fails after the limit, with the rule and what was missing", async () => {
  const bodies = new Map<string, () => Promise<void>>();
  const create = () => {
    const backend = virtualBackend(new RealTime());
    const deliver: Relay["deliver"] = (event, pass) => (event.type === "operatorDone" ? undefined : pass(event));
    return { ...backend, executor: relayedExecutor(backend.executor, { deliver }) };
  };
  const options = { manifest: { ...manifest, simulatedTime: false }, create, timeoutMs: 40 };
  runExecutorConformance({ ...options, test: (name, body) => bodies.set(name, body) });
  const failure = bodies.get("operators: an accelerator that can start nothing holds up no other")?.();
  await expect(failure).rejects.toThrow(/expected: operatorDone 11\n {2}seen: {5}nothing was heard within 40 ms/);
});

test("refuses limits that are not positive", () => {
  const create = () => virtualBackend();
  for (const limits of [{ quietMs: 0 }, { timeoutMs: Number.NaN }])
    expect(() => runExecutorConformance({ test, manifest, create, ...limits })).toThrow(TypeError);
});

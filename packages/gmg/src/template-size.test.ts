import { compileCluster, compileTemplate, type OperatorSpec, type TemplateSpec } from "@slicescheduler/gmg";
import { expect, test } from "vitest";
import { EMPTY, of, Playground, u8 } from "./insert.fixture.ts";

/** A generous allowance for another size of heap; quadratic work would be ten times as much. */
const RATIO_MAX = 4;

/** Of the processor, so that whoever else is using the machine does not count. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Operator `i` reads operator `i + 1`: the declared order is the opposite of the order in which they run. */
function chain(count: number): TemplateSpec {
  const operators = Array.from({ length: count }, (_, i): Partial<OperatorSpec> => {
    return { inputs: i === count - 1 ? [] : [`op${i + 1}.o`], outputs: { o: u8("n") } };
  });
  const layout = operators.map((_, i) => (i >> 3) % 2);
  return of(operators, { symbols: ["n"], partitions: [{ name: "p", accelerators: ["a", "b"], layout }] });
}

/** Time per operator of registering it, inserting one instance and running that to its end. */
function timePerOperator(count: number): number {
  const spec = chain(count);
  const play = new Playground({ hbmBytes: 1e9 }, false);
  const began = usedMs();
  play.graph.registerTemplate(spec);
  const request = play.open();
  const instance = play.submit(request, { symbols: { n: 3 } });
  const ran = play.run();
  play.graph.closeRequest(request);
  const took = usedMs() - began;
  expect(ran).toBe(count);
  expect(instance.state).toBe("done");
  expect(play.graph.counts()).toEqual(EMPTY);
  expect(play.graph.ledger.usedBytes(0)).toBe(0);
  return took / count;
}

test("a chain of 200,000 operators is registered, inserted and run without recursion, in linear time", () => {
  // The second of the small ones is warm.
  const small = Math.min(...[20_000, 20_000].map(timePerOperator));
  expect(timePerOperator(200_000) / small).toBeLessThan(RATIO_MAX);
}, 60_000);

test("a fan-out of 1,000 and the fan-in after it run on two accelerators, and leave nothing", () => {
  const play = new Playground({}, false);
  const { graph } = play;
  const fan = Array.from({ length: 1000 }, (): Partial<OperatorSpec> => ({ inputs: ["op0.o"], outputs: { o: u8(1) } }));
  const operators = [{ outputs: { o: u8(50) } }, ...fan, { inputs: fan.map((_, i) => `op${i + 1}.o`) }];
  const layout = operators.map((_, i) => i % 2);
  graph.registerTemplate(of(operators, { partitions: [{ name: "p", accelerators: ["a", "b"], layout }] }));
  const request = play.open();
  const { operators: nodes } = play.submit(request);
  const [first, ...others] = nodes;
  const last = others.pop();
  if (first === undefined || last === undefined) throw new Error("incomplete");
  play.issue(first);
  // All at once, so that a transfer has every reader there waiting for it.
  for (const operator of others) expect(play.issue(operator)).toBe(true);
  expect(graph.counts().transfers).toBe(1);
  play.finish(first);
  for (const operator of others) play.finish(operator);
  graph.validate();
  expect(play.run()).toBe(1);
  expect(last.state).toBe("done");
  graph.closeRequest(request);
  expect(graph.counts()).toEqual(EMPTY);
  expect([graph.ledger.usedBytes(0), graph.ledger.usedBytes(1)]).toEqual([0, 0]);
});

test("one operator may have as many inputs, outputs and aliases as operators have together", () => {
  const cluster = compileCluster({ accelerators: [{ name: "a", kind: "demo", hbmBytes: 1e9 }] });
  const wide = (count: number, aliased: number) => {
    const names = Array.from({ length: aliased }, (_, i) => `kv[${i}]`);
    const outputs = Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`o${i}`, i < aliased ? { ...u8("n"), aliases: `kv[${i}]` } : u8("n")]),
    );
    const readers = Object.keys(outputs).map((name) => `op0.${name}`);
    const inputs = { kv: names.map(() => u8("n")) };
    const spec = of([{ inputs: names, outputs }, { inputs: readers }], { symbols: ["n"], inputs });
    const began = usedMs();
    const { operators } = compileTemplate({ ...spec, outputs: { all: readers } }, cluster);
    const took = usedMs() - began;
    expect(operators[1]?.inputs).toHaveLength(count);
    expect(operators[1]?.inputs.every(({ output }, i) => output === i)).toBe(true);
    expect(operators[0]?.outputs.every(({ aliases }, i) => aliases === (i < aliased ? i : -1))).toBe(true);
    return took / count;
  };
  const small = Math.min(...[2000, 2000, 2000].map((count) => wide(count, count / 10)));
  expect(wide(100_000, 10_000) / small).toBeLessThan(RATIO_MAX);
}, 60_000);

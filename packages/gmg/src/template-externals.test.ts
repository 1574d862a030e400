import { compileCluster, compileTemplate, TemplateInvalidError, type TemplateSpec } from "@slicescheduler/gmg";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EMPTY, of, Playground, u8 } from "./insert.fixture.ts";

const cluster = compileCluster({ accelerators: [{ name: "a", kind: "demo", hbmBytes: 2 ** 52 }] });

const external = {
  tokens: { shape: ["tokens"], dtype: "int32" },
  image: [u8(3, 4), u8("tokens", 2)],
  unread: u8(5),
} as const;

const forward = of(
  [
    {
      name: "embed",
      inputs: ["tokens", "image[1]", "tokens"],
      outputs: { h: u8("tokens") },
      workspaceBytes: 100,
      weights: { w: 7 },
    },
    { name: "layer", inputs: ["embed.h", "tokens", "kv"], outputs: { kv: { ...u8("tokens"), aliases: "kv" } } },
  ],
  { symbols: ["tokens"], inputs: { kv: u8(0) }, external, outputs: { kv: "layer.kv" } },
);

function faultsOf(spec: unknown): string[] {
  try {
    compileTemplate(spec as TemplateSpec, cluster);
  } catch (error) {
    if (!(error instanceof TemplateInvalidError)) throw error;
    return error.faults.map(({ path, message }) => `${path}: ${message}`);
  }
  throw new Error("was accepted");
}

describe("host data", () => {
  const template = compileTemplate(forward, cluster);
  const binding = template.bind({ tokens: 5 });

  test("are declared beside the inputs, and each reader names those it needs, once", () => {
    expect(template.externals).toEqual([
      { name: "tokens", dtype: "int32" },
      { name: "image[0]", dtype: "uint8" },
      { name: "image[1]", dtype: "uint8" },
      { name: "unread", dtype: "uint8" },
    ]);
    expect(template.operators.map(({ externals }) => externals)).toEqual([[0, 2], [0]]);
    expect(template.operators[0]?.inputs).toEqual([]);
    // Positions in `inputs` count tensors only, so that an alias is found there.
    expect(template.operators[1]?.inputs).toEqual([
      { operator: 0, output: 0, slot: -1 },
      { operator: -1, output: -1, slot: 0 },
    ]);
    expect(template.operators[1]?.outputs[0]?.aliases).toBe(1);
    expect(template.inputSlots).toBe(1);
  });

  test("have bytes and shapes, and count with the workspace of each reader", () => {
    expect([0, 1, 2, 3].map((each) => binding.externalBytes(each))).toEqual([20, 12, 10, 5]);
    expect(binding.externalShape(2)).toEqual([5, 2]);
    expect([binding.hostBytes(0), binding.workspaceBytes(0)]).toEqual([30, 130]);
    expect([binding.hostBytes(1), binding.workspaceBytes(1)]).toEqual([20, 20]);
    expect(binding.movedBytes(0)).toBe(5 + 20 + 10 + 7);
    expect(() => binding.externalBytes(4)).toThrow(RangeError);
    expect(() => binding.externalShape(-1)).toThrow(RangeError);
    expect(() => binding.hostBytes(2)).toThrow(RangeError);
  });

  test("a spec with them compiles to the same again from JSON", () => {
    expect(template.spec).toEqual(forward);
    const again = compileTemplate(JSON.parse(JSON.stringify(template.spec)) as TemplateSpec, cluster);
    expect(again.operators).toEqual(template.operators);
    expect(again.externals).toEqual(template.externals);
  });

  test("operators alike in all but what they read take different workspaces", () => {
    const spec = of([{ inputs: ["x"] }, { inputs: ["y"] }, {}], { external: { x: u8(3), y: u8(4) } });
    const compiled = compileTemplate({ ...spec, partitions: forward.partitions.map(onThree) }, cluster).bind({});
    expect([0, 1, 2].map((operator) => compiled.workspaceBytes(operator))).toEqual([3, 4, 0]);
    const declared = of([0, 1].map((i) => ({ inputs: [["x"], ["y"]][i] ?? [], movedBytes: 1 })));
    const moved = compileTemplate({ ...declared, external: { x: u8(3), y: u8(4) } }, cluster).bind({});
    expect([moved.workspaceBytes(0), moved.workspaceBytes(1)]).toEqual([3, 4]);
  });

  test("faults with them are named with all the others", () => {
    const spec = of(
      [
        { inputs: ["tokns", "image", "image[2]", "tokens[0]"] },
        { inputs: ["tokens"], outputs: { o: { ...u8(1), aliases: "tokens" } } },
        { outputs: { o: { ...u8(1), aliases: "tokens" } } },
      ],
      { external: { tokens: u8(4), image: [u8(1), u8(1)], kv: u8("past"), none: [] }, inputs: { kv: u8(4) } },
    );
    expect(faultsOf({ ...spec, outputs: { o: "tokens" }, partitions: forward.partitions.map(onThree) })).toEqual([
      "external.none: is a bundle of no tensors; leave it out",
      'external.kv: "kv" is taken by inputs.kv',
      'operators[0].inputs[0]: no input "tokns" is declared; did you mean "tokens"?',
      'operators[0].inputs[1]: "image" does not name a tensor of the bundle "image"; there is image[0] … image[1]',
      'operators[0].inputs[2]: "image[2]" does not name a tensor of the bundle "image"; there is image[0] … image[1]',
      'operators[0].inputs[3]: "tokens[0]": the external "tokens" is one tensor, not a bundle',
      'outputs.o: "tokens" is host data; name an output of an operator',
      'operators[1].outputs.o.aliases: "tokens" is host data, which is freed with its reader and cannot be continued',
      `operators[2].outputs.o.aliases: "tokens" is not one of the operator's own inputs`,
      'external.kv.shape[0]: expression "past", position 0: no symbol "past" is declared',
    ]);
    expect(faultsOf({ ...spec, external: 3 })).toContain("external: must be an object, is 3");
  });

  test("past 2^53 − 1 they are refused, alone and with the workspace", () => {
    const large = (more: object) =>
      compileTemplate(
        of([{ inputs: ["x"], movedBytes: 0, ...more }], { symbols: ["n"], external: { x: u8("n") } }),
        cluster,
      );
    const most = Number.MAX_SAFE_INTEGER;
    expect(large({}).bind({ n: most }).workspaceBytes(0)).toBe(most);
    expect(() => large({ workspaceBytes: 1 }).bind({ n: most })).toThrow(
      expect.objectContaining({
        code: "BYTES_OVERFLOW",
        message: expect.stringContaining("operators[0].workspaceBytes"),
      }),
    );
    const two = of([{ inputs: ["x", "y"], movedBytes: 0 }], { external: { x: u8(most), y: u8(1) } });
    expect(() => compileTemplate(two, cluster).bind({})).toThrow(expect.objectContaining({ code: "BYTES_OVERFLOW" }));
  });
});

const onThree = () => ({ name: "p", accelerators: ["a"], layout: [0, 0, 0] });

describe("in the graph, host data", () => {
  test("are on the accelerator while their reader runs, and at no other time", () => {
    const play = new Playground({ granularityBytes: 64 });
    const { graph } = play;
    graph.registerTemplate(forward);
    const fixedBytes = graph.ledger.fixedBytes(0);
    const request = play.open();
    const instance = play.submit(request, { symbols: { tokens: 5 } });
    const [embed, layer] = instance.operators;
    if (embed === undefined || layer === undefined) throw new Error("incomplete");
    play.issue(embed);
    expect(graph.ledger.usedBytes(0)).toBe(fixedBytes);
    expect(graph.request(request).workspaceBytes[0]).toBe(192);
    play.start(embed);
    expect(graph.ledger.workspaceBytes(0)).toBe(192);
    expect(graph.ledger.usedBytes(0)).toBe(fixedBytes + 192 + 64);
    graph.operatorDone(embed, 9);
    expect([graph.ledger.workspaceBytes(0), graph.ledger.usedBytes(0)]).toEqual([0, fixedBytes + 64]);
    play.issue(layer);
    play.start(layer);
    expect(graph.ledger.workspaceBytes(0)).toBe(64);
    graph.operatorDone(layer, 10);
    graph.closeRequest(request);
    expect(graph.ledger.usedBytes(0)).toBe(fixedBytes);
    expect(graph.counts()).toEqual(EMPTY);
  });

  test("an executor is told a workspace that holds them, and a failed reader gives it back", () => {
    const play = new Playground();
    const { graph } = play;
    graph.registerTemplate(of([{ inputs: ["x"], workspaceBytes: 10 }], { external: { x: u8(30) } }));
    const [operator] = play.submit(play.open()).operators;
    const [option] = operator === undefined ? [] : graph.placementOptions(operator);
    if (operator === undefined || option === undefined) throw new Error("incomplete");
    expect(graph.issue(operator, option.partition, 0).workspaceBytes).toBe(40);
    graph.operatorStarted(operator, 1);
    expect(graph.ledger.workspaceBytes(0)).toBe(40);
    graph.operatorFailed(operator, 2);
    expect(graph.ledger.usedBytes(0)).toBe(0);
  });

  test("that do not fit are refused to the byte, and limits bound them", () => {
    const spec = of([{ inputs: ["x"], outputs: { o: u8(8) }, workspaceBytes: 2 }], {
      symbols: ["n"],
      external: { x: u8("n") },
    });
    const play = new Playground({ hbmBytes: 100 });
    play.graph.registerTemplate(spec);
    const request = play.open();
    expect(() => play.submit(request, { symbols: { n: 91 } })).toThrow(expect.objectContaining({ code: "NEVER_FITS" }));
    play.submit(request, { symbols: { n: 90 } });
    expect(play.run()).toBe(1);
    expect(play.graph.ledger.peakBytes(0)).toBe(100);
    const limited = play.open({ limits: [{ template: "t", symbols: { n: 50 } }] });
    expect(() => play.submit(limited, { symbols: { n: 51 } })).toThrow(
      expect.objectContaining({ code: "LIMITS_EXCEEDED" }),
    );
  });

  test("take exactly what the same bytes of declared workspace take", () => {
    const operator = fc.record({
      reads: fc.array(fc.nat(5), { maxLength: 4 }),
      workspaceBytes: fc.nat(30),
      outputBytes: fc.nat(30),
      readsBefore: fc.boolean(),
    });
    const world = fc.record({
      sizes: fc.array(fc.nat(40), { minLength: 1, maxLength: 4 }),
      operators: fc.array(operator, { minLength: 1, maxLength: 5 }),
      granularityBytes: fc.constantFrom(1, 16),
    });
    fc.assert(
      fc.property(world, ({ sizes, operators, granularityBytes }) => {
        const build = (declared: boolean) => {
          const list = operators.map(({ reads, workspaceBytes, outputBytes, readsBefore }, i) => {
            const distinct = [...new Set(reads.map((pick) => pick % sizes.length))];
            const hostBytes = distinct.reduce((sum, each) => sum + (sizes[each] ?? 0), 0);
            const before = readsBefore && i > 0 ? [`op${i - 1}.o`] : [];
            return {
              inputs: declared ? before : [...reads.map((pick) => `x[${pick % sizes.length}]`), ...before],
              outputs: { o: u8(outputBytes) },
              workspaceBytes: workspaceBytes + (declared ? hostBytes : 0),
            };
          });
          const play = new Playground({ granularityBytes });
          play.graph.registerTemplate(of(list, declared ? {} : { external: { x: sizes.map((size) => u8(size)) } }));
          const request = play.open();
          play.submit(request);
          const peaks: number[] = [];
          while (play.run(1) > 0) {
            const { ledger, claims } = play.graph;
            peaks.push(ledger.peakBytes(0), ledger.usedBytes(0), claims.reservedBytes(0));
          }
          return { peaks, workspaceBytes: [...play.graph.request(request).workspaceBytes] };
        };
        expect(build(false)).toEqual(build(true));
      }),
      { numRuns: 60 },
    );
  });
});

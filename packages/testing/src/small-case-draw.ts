import type { ClusterSpec, OperatorSpec, TemplateSpec } from "@slicescheduler/gmg";
import fc from "fast-check";

/** Its instances in order; each after the first continues the state of the one before. */
export type SmallRequest = readonly { readonly template: string; readonly symbols: Readonly<Record<string, number>> }[];

export interface SmallCase {
  readonly templates: readonly TemplateSpec[];
  readonly requests: readonly SmallRequest[];
  /** How much room there is, in hundredths of the way from what the neediest request needs to what all need. */
  readonly room: number;
  /** With so much room, or with plenty. */
  readonly cluster: (roomBytes: readonly number[] | null) => ClusterSpec;
}

const PLENTY_BYTES = 1e9;
/** Without any, an accelerator that nobody needs would be refused as such. */
const HBM_BYTES_MIN = 1;

export function drawSmallCase(seed: number): SmallCase {
  const [drawn] = fc.sample(smallCases, { seed, numRuns: 1, unbiased: true });
  if (drawn === undefined) throw new RangeError(`seed ${seed} gives no case`);
  return buildCase(drawn);
}

const operator = fc.record({
  inputs: fc.array(fc.nat({ max: 5 }), { maxLength: 2 }),
  bytes: fc.integer({ min: 1, max: 8 }),
  workspaceBytes: fc.nat({ max: 3 }),
  at: fc.nat({ max: 1 }),
});

const smallCases = fc.record({
  accelerators: fc.integer({ min: 1, max: 2 }),
  graphs: fc.array(fc.array(operator, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 2 }),
  rowBytes: fc.integer({ min: 1, max: 4 }),
  hiddenBytes: fc.integer({ min: 1, max: 4 }),
  secondAt: fc.nat({ max: 1 }),
  requests: fc.array(
    fc.record({
      graph: fc.nat({ max: 3 }),
      tokens: fc.integer({ min: 1, max: 3 }),
      steps: fc.integer({ min: 1, max: 2 }),
    }),
    { minLength: 2, maxLength: 4 },
  ),
  room: fc.nat({ max: 100 }),
});

type Drawn = typeof smallCases extends fc.Arbitrary<infer T> ? T : never;

function buildCase({ accelerators, graphs, rowBytes, hiddenBytes, secondAt, requests, room }: Drawn): SmallCase {
  const names = Array.from({ length: accelerators }, (_, index) => `a${index}`);
  const partition = (layout: number[]) => [
    { name: "p", accelerators: names, layout: layout.map((at) => at % accelerators) },
  ];
  const alone = graphs.map((operators, index): TemplateSpec => {
    const specs = operators.map(({ inputs, bytes, workspaceBytes }, o): OperatorSpec => {
      const read = o === 0 ? [] : inputs.map((input) => `o${input % o}.out`);
      const outputs = { out: { shape: [bytes], dtype: "uint8" } } as const;
      return { name: `o${o}`, inputs: [...new Set(read)], outputs, workspaceBytes };
    });
    const last = `o${operators.length - 1}.out`;
    const layout = operators.map(({ at }) => at);
    return { name: `g${index}`, symbols: [], operators: specs, outputs: { out: last }, partitions: partition(layout) };
  });
  const growing = [growingTemplate("prefill", false), growingTemplate("decode", true)].map((spec) => ({
    ...spec,
    partitions: partition([0, secondAt]),
  }));
  function growingTemplate(name: string, continues: boolean): TemplateSpec {
    const shape = [continues ? "past + 1" : "tokens", rowBytes];
    const state = { shape, dtype: "uint8", ...(continues ? { aliases: "state" } : {}) } as const;
    const hidden = { shape: [continues ? 1 : "tokens", hiddenBytes], dtype: "uint8" } as const;
    return {
      name,
      symbols: [continues ? "past" : "tokens"],
      ...(continues ? { inputs: { state: { shape: ["past", rowBytes], dtype: "uint8" } } } : {}),
      operators: [
        { name: "attend", inputs: continues ? ["state"] : [], outputs: { state, hidden } },
        { name: "project", inputs: ["attend.hidden"], outputs: { out: hidden } },
      ],
      outputs: { state: "attend.state", out: "project.out" },
      partitions: [],
    };
  }
  return {
    templates: [...alone, ...growing],
    requests: requests.map(({ graph, tokens, steps }): SmallRequest => {
      const single = alone[graph];
      if (single !== undefined) return [{ template: single.name, symbols: {} }];
      const further = Array.from({ length: steps }, (_, s) => ({ template: "decode", symbols: { past: tokens + s } }));
      return [{ template: "prefill", symbols: { tokens } }, ...further];
    }),
    room,
    cluster: (roomBytes) => ({
      accelerators: names.map((name, a) => ({
        name,
        kind: "k",
        hbmBytes: Math.max(HBM_BYTES_MIN, roomBytes?.[a] ?? PLENTY_BYTES),
      })),
      defaultLink: { latencyNs: 1, bytesPerSecond: 1e9 },
    }),
  };
}

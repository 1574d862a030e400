/** The small cluster and the templates on which the conformance suite runs a backend. */
import type { ClusterSpec, TemplateSpec } from "@slicescheduler/gmg";

/** Bytes that are free on each accelerator before anything is loaded. */
export const FREE_BYTES = 16_384;
/** Used by others on each accelerator from the start. */
export const BASELINE_BYTES = 2_048;
/** What allocations are rounded up to. */
export const GRANULARITY_BYTES = 64;
const MARGIN_BYTES = 1_024;

/** Bytes of an element of every tensor. */
export const ELEMENT_BYTES = 8;

/**
 * Three accelerators `a0`, `a1`, `a2`. Data can go from `a0` to `a1`, back, and from `a1` to `a2`.
 * @param absent Indices of accelerators that are not there at first.
 */
export function conformanceCluster(absent: readonly number[] = []): ClusterSpec {
  const link = { latencyNs: 1_000, bytesPerSecond: 1e9, capacity: 2 };
  return {
    accelerators: ["a0", "a1", "a2"].map((name, index) => ({
      name,
      kind: "conformance",
      hbmBytes: FREE_BYTES + BASELINE_BYTES + MARGIN_BYTES,
      externalBaselineBytes: BASELINE_BYTES,
      marginBytes: MARGIN_BYTES,
      granularityBytes: GRANULARITY_BYTES,
      copyEngines: 2,
      absent: absent.includes(index),
    })),
    links: [
      {
        name: "pair",
        ...link,
        connects: [
          ["a0", "a1"],
          ["a1", "a0"],
        ],
      },
      { name: "onward", ...link, connects: [["a1", "a2"]] },
    ],
  };
}

/** The one operator of each template, by what it reads and makes. What it computes is the backend's to choose. */
const KINDS = ["work", "source", "pair", "sink", "map", "join", "grow"] as const;
export type Kind = (typeof KINDS)[number];

export function templateName(kind: Kind): string {
  return `conformance-${kind}`;
}

/**
 * Templates of one operator each: an operator reads at most `given` and `other`, of `taken` and `otherTaken` elements, and makes at most
 * `out` and `rest`, of `made` and `restMade` elements, all `float64`; while it runs it needs `scratch` bytes.
 */
export function conformanceTemplates({ accelerators }: ClusterSpec): readonly TemplateSpec[] {
  const names = accelerators.map(({ name }) => name);
  const partitions = names.map((name) => ({ name: `on-${name}`, accelerators: [name], layout: [0] }));
  return KINDS.map((kind) => {
    const { reads, makes } = SHAPES[kind];
    const outputs = makes.map((symbol, at) => [OUTPUTS[at], { ...tensor(symbol), ...aliasOf(kind) }] as const);
    const inputs = reads.map((symbol, at) => [INPUTS[at], tensor(symbol)] as const);
    return {
      name: templateName(kind),
      symbols: [...reads, ...makes, "scratch"],
      inputs: Object.fromEntries(inputs),
      operators: [
        {
          name: kind,
          inputs: INPUTS.slice(0, reads.length),
          outputs: Object.fromEntries(outputs),
          workspaceBytes: "scratch",
        },
      ],
      outputs: Object.fromEntries(OUTPUTS.slice(0, makes.length).map((name) => [name, `${kind}.${name}`])),
      partitions,
    };
  });
}

/** Symbols of the sizes that operators of a kind read and make, in the order of its inputs and outputs. */
export const SHAPES: Readonly<Record<Kind, { readonly reads: readonly string[]; readonly makes: readonly string[] }>> =
  {
    work: { reads: [], makes: [] },
    source: { reads: [], makes: ["made"] },
    pair: { reads: [], makes: ["made", "restMade"] },
    sink: { reads: ["taken"], makes: [] },
    map: { reads: ["taken"], makes: ["made"] },
    join: { reads: ["taken", "otherTaken"], makes: ["made"] },
    grow: { reads: ["taken"], makes: ["made"] },
  };

const INPUTS = ["given", "other"];
const OUTPUTS = ["out", "rest"];

function tensor(symbol: string) {
  return { shape: [symbol], dtype: "float64" as const };
}

function aliasOf(kind: Kind) {
  return kind === "grow" ? { aliases: "given" } : {};
}

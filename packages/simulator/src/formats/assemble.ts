import type { Dag, DagAccelerator } from "../dag.ts";
import { quoted } from "./errors.ts";
import {
  ACCELERATORS_MAX,
  type LayoutOptions,
  type Link,
  layByList,
  layRoundRobin,
  numberedAccelerators,
  type OpenGraph,
  refuse,
} from "./layout.ts";
import { orderOf } from "./order.ts";
import type { Source } from "./source.ts";

/** An operator as it stands in a text; each `at` is the offset of what may be refused. */
export interface OperatorDraft {
  readonly at: number;
  readonly name: string;
  readonly durationNs: number;
  readonly accelerator: { readonly name: string; readonly at: number } | null;
  readonly inputs: readonly { readonly name: string; readonly at: number }[];
  readonly outputBytes: number;
  readonly workspaceBytes: number;
  readonly rank: number;
}

/** What a file says beside its operators. */
export interface Declared {
  readonly accelerators: readonly DagAccelerator[] | null;
  readonly link: Link | null;
}

/** The graph of checked drafts: names resolved, cycles refused, every operator on an accelerator. */
export function assemble(
  source: Source,
  drafts: readonly OperatorDraft[],
  declared: Declared,
  options: LayoutOptions,
): Dag {
  const inputs = resolveInputs(source, drafts, indexOperators(source, drafts));
  const order = orderOf(inputs);
  if (!order.acyclic) failCycle(source, drafts, order.cycle);
  const accelerators = acceleratorsOf(drafts, declared, options);
  requireAccelerators(source, drafts, accelerators.length);
  const link = options.link ?? declared.link ?? undefined;
  const graph: OpenGraph = {
    durationNs: drafts.map(({ durationNs }) => durationNs),
    outputBytes: drafts.map(({ outputBytes }) => outputBytes),
    inputs,
    accelerator: namedPlaces(source, drafts, accelerators, options),
  };
  if (options.layout === "roundRobin") layRoundRobin(graph, accelerators.length);
  if (options.layout === "listScheduling") layByList(graph, order.order, accelerators.length, link);
  return {
    accelerators,
    operators: drafts.map(({ name, durationNs, outputBytes, workspaceBytes, rank }, index) => ({
      name,
      accelerator: accelerators[graph.accelerator[index] ?? 0]?.name ?? "",
      durationNs,
      inputs: (inputs[index] ?? []).map((input) => drafts[input]?.name ?? ""),
      outputBytes,
      workspaceBytes,
      rank,
    })),
    ...(link === undefined ? {} : { link }),
  };
}

function indexOperators(source: Source, drafts: readonly OperatorDraft[]): ReadonlyMap<string, number> {
  const indices = new Map<string, number>();
  for (const [index, { name, at }] of drafts.entries()) {
    if (indices.has(name))
      source.fail("DUPLICATE_NAME", at, `there are two operators ${quoted(name)}; names are unique`, { name });
    indices.set(name, index);
  }
  return indices;
}

/** Each input once, however often it is named. */
function resolveInputs(
  source: Source,
  drafts: readonly OperatorDraft[],
  indices: ReadonlyMap<string, number>,
): number[][] {
  return drafts.map(({ name, inputs }) => {
    const distinct = new Set<number>();
    for (const input of inputs) {
      const index = indices.get(input.name);
      if (index === undefined)
        source.fail(
          "UNKNOWN_OPERATOR",
          input.at,
          `operator ${quoted(name)} reads ${quoted(input.name)}, which is no operator`,
          { operator: name, input: input.name },
        );
      distinct.add(index);
    }
    return [...distinct];
  });
}

function failCycle(source: Source, drafts: readonly OperatorDraft[], cycle: readonly number[]): never {
  const operators = cycle.map((index) => drafts[index]?.name ?? "");
  const shown = operators.slice(0, CYCLE_SHOWN_MAX).map(quoted);
  const more = operators.length - shown.length;
  const end = more > 0 ? `… (${more} more)` : quoted(operators[0] ?? "");
  const at = drafts[cycle[0] ?? 0]?.at ?? 0;
  source.fail("CYCLE", at, `the operators ${[...shown, end].join(" → ")} wait for each other`, { operators });
}

const CYCLE_SHOWN_MAX = 8;

/** The options' before the file's, and those before the names met. */
function acceleratorsOf(
  drafts: readonly OperatorDraft[],
  declared: Declared,
  { accelerators, layout }: LayoutOptions,
): readonly DagAccelerator[] {
  if (typeof accelerators === "number") return numberedAccelerators(accelerators);
  if (accelerators !== undefined) return accelerators;
  if (declared.accelerators !== null) return declared.accelerators;
  const names = new Set<string>();
  for (const { accelerator } of drafts) if (accelerator !== null) names.add(accelerator.name);
  if (layout instanceof Map) for (const name of layout.values()) names.add(name);
  return [...names].map((name) => ({ name }));
}

function requireAccelerators(source: Source, drafts: readonly OperatorDraft[], count: number): void {
  if (count === 0)
    source.fail("NO_ACCELERATOR", drafts[0]?.at ?? 0, "no accelerator is declared or named; give `accelerators`");
  if (count > ACCELERATORS_MAX)
    source.fail("TOO_LARGE", 0, `the graph has ${count} accelerators; at most ${ACCELERATORS_MAX} are simulated`);
}

/** Per operator the accelerator that the layout's map or else the file names, −1 where a rule is to choose. */
function namedPlaces(
  source: Source,
  drafts: readonly OperatorDraft[],
  accelerators: readonly DagAccelerator[],
  { layout }: LayoutOptions,
): number[] {
  const indices = new Map(accelerators.map(({ name }, index) => [name, index]));
  const map: ReadonlyMap<string, string> = layout instanceof Map ? layout : new Map();
  checkMap(map, drafts, indices);
  const isRule = layout !== undefined && !(layout instanceof Map);
  return drafts.map(({ name, at, accelerator }) => {
    const mapped = indices.get(map.get(name) ?? "");
    if (mapped !== undefined) return mapped;
    if (accelerator === null && isRule) return -1;
    if (accelerator === null) {
      const remedy = layout instanceof Map ? "`layout` places others only" : "give `accelerators` and `layout`";
      return source.fail("NO_ACCELERATOR", at, `operator ${quoted(name)} names no accelerator; ${remedy}`, {
        operator: name,
      });
    }
    const named = `operator ${quoted(name)} is on accelerator ${quoted(accelerator.name)}`;
    const details = { operator: name, accelerator: accelerator.name };
    return (
      indices.get(accelerator.name) ??
      source.fail("UNKNOWN_ACCELERATOR", accelerator.at, `${named}, which is not declared`, details)
    );
  });
}

function checkMap(
  map: ReadonlyMap<string, string>,
  drafts: readonly OperatorDraft[],
  accelerators: ReadonlyMap<string, number>,
): void {
  if (map.size === 0) return;
  const operators = new Set(drafts.map(({ name }) => name));
  for (const [operator, accelerator] of map) {
    if (!operators.has(operator))
      refuse(`layout places ${quoted(operator)}, which is no operator of the graph`, { operator });
    if (!accelerators.has(accelerator))
      refuse(`layout places ${quoted(operator)} on ${quoted(accelerator)}, which is no accelerator`, {
        operator,
        accelerator,
      });
  }
}

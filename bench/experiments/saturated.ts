/**
 * Offline work without end: how much of the time that online work leaves idle is put to use (*harvest*), and what that costs the online
 * work (*interference*), for slice fitting, plain priority and each baseline, beside the limit of both, 1.
 */
import { parseArgs } from "node:util";
import {
  colocationCluster,
  colocationOffline,
  colocationShare,
  type PolicyResult,
  partitionNames,
  policyResult,
  type ReplayOutcome,
  type ReplayPolicy,
  type ReplayScheduling,
  replay,
  replayPolicy,
  serialTtftMs,
  serveSerially,
  type Workload,
  type WorkloadRequest,
} from "@slicescheduler/workloads";
import type { Measure } from "../measurement.ts";
import { readWorkloadArguments, workloadOf } from "./inputs/workload.ts";

/**
 * A long online prefill keeps one accelerator of a pair for a second. What the other one does meanwhile has passed the first one before: many
 * offline requests under way, each worked off far ahead, and as many operators issued. More of either adds little.
 */
const UNDER_WAY = 128;
const LOOKAHEAD = 16;
const ISSUED_PER_ACCELERATOR = 256;
/** Under plain priority every round simulates all of them. */
const ISSUED_PER_ACCELERATOR_PLAIN = 32;
/** Prompt tokens in one piece of offline work: shorter than what a decoding request leaves idle, longer than the reading of the weights. */
const PIECE_TOKENS = 64;
/** More than all accelerators could serve in the window. */
const OFFLINE_PER_SECOND = 6;

interface Run {
  readonly policy: ReplayPolicy;
  /** What its online figures are compared with: the same policy without offline work. */
  readonly alone: ReplayPolicy;
}

interface SlicedResult extends PolicyResult {
  readonly harvest: number;
  readonly interference: Interference;
}

interface Interference {
  readonly ttftP50: number;
  readonly ttftP99: number;
  readonly tpotP50: number;
  readonly tpotP99: number;
}

export const measure: Measure = async (args) => {
  const { values, rest } = ownArguments(args);
  const given = readWorkloadArguments(rest, { share: colocationShare });
  const [seed = 1] = given.seeds;
  const { workload: online, generated, label } = workloadOf(given, seed);
  const sloTtftMs = serialTtftMs(serveSerially(online, { passes: "afterFirstToken" }))?.p90 ?? 0;
  const staticOnline = policyNamed("static-online", online.tenants.length);
  const runs = runsFor(online.tenants.length, values.piece, values.policies);
  const outcomes = new Map<string, ReplayOutcome>();
  for (const policy of [staticOnline, ...runs.flatMap(({ policy, alone }) => [alone, policy])]) {
    if (outcomes.has(policy.name)) continue;
    const outcome = replay({ cluster: colocationCluster(), policy, online, offline: endless(online), seed });
    process.stderr.write(`${policy.name}: replayed, ${outcome.operatorsDone} operators\n`);
    outcomes.set(policy.name, outcome);
    // A replay lets go of its master only when the event loop has its turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const outcomeOf = ({ name }: ReplayPolicy): ReplayOutcome => outcomes.get(name) as ReplayOutcome;
  const idle = 1 - meanOf(outcomeOf(staticOnline).busy.online);
  const statics = policyResult(outcomeOf(staticOnline), sloTtftMs);
  const results = Object.fromEntries(
    runs.map(({ policy, alone }) => {
      const figures = policyResult(outcomeOf(policy), sloTtftMs);
      const result: SlicedResult = {
        ...figures,
        harvest: meanOf(outcomeOf(policy).busy.offline) / idle,
        interference: interferenceOf(figures, policyResult(outcomeOf(alone), sloTtftMs)),
      };
      return [policy.name, result];
    }),
  );
  const ours = results["slicescheduler"];
  return {
    text: [
      `${label}, seed ${seed}; offline prompts in pieces of ${values.piece} tokens`,
      ...Object.entries(results).map(line),
    ].join("\n"),
    json: {
      workload: label,
      generated,
      seeds: [seed],
      pieceTokens: values.piece,
      harvest: ours?.harvest,
      interference: ours?.interference,
      sloAttainment: ours?.sloAttainment,
      staticSloAttainment: statics.sloAttainment,
      policies: { ...results, "static-online": statics },
    },
  };
};

/** `--piece TOKENS` and `--policy NAMES` beside those of the workload. */
function ownArguments(args: readonly string[]) {
  const { values, tokens } = parseArgs({
    args: [...args],
    options: { piece: { type: "string", default: String(PIECE_TOKENS) }, policy: { type: "string" } },
    strict: false,
    tokens: true,
  });
  const own = new Set(
    tokens.flatMap((token) =>
      token.kind === "option" && (token.name === "piece" || token.name === "policy")
        ? [token.index, ...(token.inlineValue === false ? [token.index + 1] : [])]
        : [],
    ),
  );
  const piece = Number(values["piece"]);
  if (!(Number.isInteger(piece) && piece >= 1))
    throw new RangeError(`--piece ${values["piece"]}: a whole number from 1`);
  const policies = typeof values["policy"] === "string" ? values["policy"].split(",") : null;
  return { values: { piece, policies }, rest: args.filter((_arg, index) => !own.has(index)) };
}

/** SliceScheduler with slices and under plain priority, both with pieces and without, and the baselines at their strongest. */
function runsFor(tenants: number, piece: number, only: readonly string[] | null): Run[] {
  const online = withoutOffline(policyNamed("slicescheduler", tenants));
  const plain: ReplayScheduling = { slices: false, operatorsPerAcceleratorMax: ISSUED_PER_ACCELERATOR_PLAIN };
  const sliced = policyNamed("slicescheduler", tenants);
  const runs: Run[] = [
    { policy: withPieces(sliced, "slicescheduler", piece, undefined), alone: online },
    { policy: withPieces(sliced, "slicescheduler whole prompts", null, undefined), alone: online },
    { policy: withPieces(sliced, "plain priority", piece, plain), alone: online },
    { policy: withPieces(sliced, "plain priority whole prompts", null, plain), alone: online },
    ...["subset-share-pipelined", "dual-share-pipelined", "full-share-pipelined"].flatMap((name) => {
      const policy = policyNamed(name, tenants);
      const alone = policyNamed("static-online", tenants);
      const offline = policy.offline as NonNullable<ReplayPolicy["offline"]>;
      const inPieces = { ...policy, name: `${name} in pieces`, offline: { ...offline, prefillTokensMax: piece } };
      return [
        { policy, alone },
        { policy: inPieces, alone },
      ];
    }),
  ];
  return runs.filter(({ policy }) => only?.includes(policy.name) ?? true);
}

function withPieces(
  policy: ReplayPolicy,
  name: string,
  piece: number | null,
  scheduling: ReplayScheduling | undefined,
): ReplayPolicy {
  const offline = policy.offline as NonNullable<ReplayPolicy["offline"]>;
  const lanes = offline.lanes.map((lane) => ({ ...lane, concurrentRequestsMax: UNDER_WAY }));
  return {
    ...policy,
    name,
    offline: { ...offline, lanes, lookahead: LOOKAHEAD, ...(piece === null ? {} : { prefillTokensMax: piece }) },
    scheduling: { operatorsPerAcceleratorMax: ISSUED_PER_ACCELERATOR, ...scheduling },
  };
}

function withoutOffline(policy: ReplayPolicy): ReplayPolicy {
  return { ...policy, name: `${policy.name} online only`, offline: null };
}

function policyNamed(name: string, tenants: number): ReplayPolicy {
  return replayPolicy(name, { partitions: partitionNames(colocationCluster()), tenants });
}

/** All of it waits from the start; what has not begun when the window ends is dropped. */
function endless({ windowNs }: Workload): WorkloadRequest[] {
  const { inputTokens, outputTokens } = colocationOffline;
  const count = Math.ceil((OFFLINE_PER_SECOND * windowNs) / 1e9);
  return Array.from({ length: count }, () => ({ tenant: 0, arrivalNs: 0, inputTokens, outputTokens }));
}

function interferenceOf(beside: PolicyResult, alone: PolicyResult): Interference {
  const ratio = (a: number | undefined, b: number | undefined): number => (a ?? Number.NaN) / (b ?? Number.NaN);
  return {
    ttftP50: ratio(beside.ttftMs?.p50, alone.ttftMs?.p50),
    ttftP99: ratio(beside.ttftMs?.p99, alone.ttftMs?.p99),
    tpotP50: ratio(beside.tpotMs?.p50, alone.tpotMs?.p50),
    tpotP99: ratio(beside.tpotMs?.p99, alone.tpotMs?.p99),
  };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
}

function line([name, { harvest, interference, sloAttainment, offlineCompleted, utilization }]: [
  string,
  SlicedResult,
]): string {
  const { ttftP50, ttftP99, tpotP50, tpotP99 } = interference;
  return (
    `${name}: harvest ${harvest.toFixed(3)}, TTFT p50 ×${ttftP50.toFixed(3)} p99 ×${ttftP99.toFixed(3)}, ` +
    `TPOT p50 ×${tpotP50.toFixed(3)} p99 ×${tpotP99.toFixed(3)}, SLO ${sloAttainment?.toFixed(3)}, ` +
    `utilisation ${utilization.toFixed(3)}, ${offlineCompleted} offline requests`
  );
}

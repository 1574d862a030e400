/** Decisions in words: which candidates there were, which one was taken, and why not the others. */
import type { RunRecord } from "@slicescheduler/timeline";
import type { CandidateMeta, DecisionMeta, DecisionsMeta } from "../shared/blocks.ts";
import { formatBytes, formatNs } from "../shared/format.ts";

type Decision = RunRecord["decisions"]["kept"][number];
type Candidate = Decision["candidates"][number];

/** Decisions of a policy that the page shows. */
export const shownDecisionsMax = 200;
const namesMax = 4;

/** Those that rejected a candidate first, up to half; then those with a choice, up to half of the rest; each spread evenly. In order of their rounds. */
export function decisionsMeta(record: RunRecord): DecisionsMeta {
  const { kept, seen, rejectingSeen } = record.decisions;
  const rejecting = evenly(kept.filter(isRejecting), shownDecisionsMax / 2);
  const others = kept.filter((decision) => !isRejecting(decision));
  const left = shownDecisionsMax - rejecting.length;
  const choices = evenly(
    others.filter(({ candidates }) => candidates.length > 1),
    Math.floor(left / 2),
  );
  const isTaken = new Set(choices);
  const rest = evenly(
    others.filter((decision) => !isTaken.has(decision)),
    left - choices.length,
  );
  const chosen = [...rejecting, ...choices, ...rest].sort((a, b) => a.round - b.round || a.atNs - b.atNs);
  const names = batchNames(record, new Set(chosen.map((decision) => decision.round)));
  return { seen, rejectingSeen, shown: chosen.map((decision) => decisionMeta(record, decision, names)) };
}

function isRejecting({ candidates }: Decision): boolean {
  return candidates.some(({ shortage, outOfMemory }) => shortage !== null || outOfMemory !== null);
}

/** At most `count` of the list, first and last included. */
function evenly<Item>(list: readonly Item[], count: number): Item[] {
  if (list.length <= count) return [...list];
  return Array.from(
    { length: count },
    (_, i) => list[Math.round((i * (list.length - 1)) / Math.max(1, count - 1))],
  ).filter((item): item is Item => item !== undefined);
}

/** Names of the operators that each of the rounds placed, as far as they ran. */
function batchNames({ operators, operatorNames }: RunRecord, rounds: ReadonlySet<number>): Map<number, Set<string>> {
  const names = new Map<number, Set<string>>();
  for (let row = 0; row < operators.count; row++) {
    const round = operators.round[row] ?? -1;
    if (round < 0 || !rounds.has(round)) continue;
    const found = names.get(round) ?? new Set();
    names.set(round, found.add(operatorNames[operators.name[row] ?? -1] ?? "?"));
  }
  return names;
}

function decisionMeta(
  record: RunRecord,
  decision: Decision,
  names: ReadonlyMap<number, ReadonlySet<string>>,
): DecisionMeta {
  const { round, atNs, instance, operators, partition, candidates } = decision;
  const chosen = candidates.find((candidate) => candidate.partition === partition);
  return {
    round,
    atNs: atNs - record.startNs,
    instance: Number(instance),
    batch: batchWords([...(names.get(round) ?? [])], operators.length),
    partition,
    candidates: candidates.map((candidate) => candidateMeta(candidate, decision, chosen)),
  };
}

function batchWords(names: readonly string[], count: number): string {
  const operators = count === 1 ? "1 operator" : `${count} operators`;
  if (names.length === 0) return operators;
  const shown = names.slice(0, namesMax).join(", ");
  return `${operators}: ${shown}${count > Math.min(namesMax, names.length) ? ", …" : ""}`;
}

function candidateMeta(
  candidate: Candidate,
  { partition, atNs }: Decision,
  chosen: Candidate | undefined,
): CandidateMeta {
  const { scoreNs, movedBytes } = candidate;
  const isChosen = candidate.partition === partition;
  return {
    partition: candidate.partition,
    verdict: isChosen ? "chosen" : verdictOn(candidate),
    scoreNs: scoreNs === null ? null : scoreNs - atNs,
    movedBytes,
    why: isChosen ? "" : (memoryWords(candidate, atNs) ?? timeWords(candidate, atNs, chosen)),
  };
}

function verdictOn({ scoreNs, shortage, outOfMemory }: Candidate): CandidateMeta["verdict"] {
  if (shortage !== null || outOfMemory !== null) return "rejected";
  return scoreNs === null ? "not simulated" : "slower";
}

function memoryWords({ shortage, outOfMemory }: Candidate, atNs: number): string | null {
  if (outOfMemory !== null) {
    const { accelerator, operator, bytesOver } = outOfMemory;
    const who = operator === null ? "a receive buffer" : operator;
    const when = formatNs(outOfMemory.atNs - atNs);
    return `would run out of memory: ${accelerator} ${formatBytes(bytesOver)} over, ${when} later, at ${who}`;
  }
  if (shortage === null) return null;
  const { accelerator, neededBytes, availableBytes, cause } = shortage;
  const figures = `${accelerator}: needs ${formatBytes(neededBytes)}, ${formatBytes(availableBytes)} available`;
  return `${figures} (${shortageWords[cause]})`;
}

const shortageWords: Readonly<Record<NonNullable<Candidate["shortage"]>["cause"], string>> = {
  claim: "its request has used up its claim",
  room: "the bytes are taken",
  order: "granting it could leave requests waiting for each other without end",
  predicted: "in simulation",
};

function timeWords({ scoreNs, leastNs }: Candidate, atNs: number, chosen: Candidate | undefined): string {
  if (scoreNs !== null) {
    const by = chosen?.scoreNs == null ? null : scoreNs - chosen.scoreNs;
    if (by === null) return "another one was preferred";
    return by > 0 ? `ends ${formatNs(by)} later` : "ends at the same time; fewer bytes moved, or the name, decided";
  }
  return leastNs === null
    ? "given up in simulation: it could not win any more"
    : `cannot end sooner than in ${formatNs(leastNs - atNs)}: not worth simulating`;
}

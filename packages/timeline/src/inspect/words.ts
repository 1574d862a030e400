import type { CandidateReport, Decision, WaitingReason } from "@slicescheduler/scheduler";
import type { HbmOwner, MissingInput } from "./inspection.ts";

/** Why an operator is not issued, in words. */
export function reasonWords(reason: WaitingReason): string {
  switch (reason.why) {
    case "producers":
      return `inputs: ${counted(reason.unscheduledInputs, "producer")} not issued yet`;
    case "budget": {
      const { accelerator, issuedOperators, moreUrgentOperators, budget } = reason;
      return `issue budget: ${accelerator} has ${issuedOperators} of ${budget} operators, ${moreUrgentOperators} of them more urgent`;
    }
    case "memory": {
      const { accelerator, neededBytes, availableBytes, heldBy } = reason;
      const holders = heldBy.length === 0 ? "" : `; held by ${named("request", heldBy)}`;
      return `memory: ${bytesText(neededBytes)} needed on ${accelerator}, ${bytesText(availableBytes)} available (${CAUSES[reason.cause]})${holders}`;
    }
    case "quota":
      return `quota: tenant ${JSON.stringify(reason.tenant)} has ${reason.found} of ${reason.limit} (${reason.quota})`;
    case "instance":
      return `instance ${reason.behind}, whose results it reads, has not begun`;
    case "patience":
      return `instance ${reason.behind} has waited too long for memory to be passed by`;
    case "transfer":
      return "a transfer that it would share is being taken back";
    case "suspect":
      return `only accelerators under suspicion are left: ${reason.accelerators.join(", ")}`;
    case "next":
      return "nothing: it is decided next";
  }
}

const CAUSES: Readonly<Record<Extract<WaitingReason, { why: "memory" }>["cause"], string>> = {
  claim: "its request has used up its claim",
  room: "the bytes are taken",
  order: "free, but requests could come to wait for each other without end",
  predicted: "as simulated",
};

const STATES: Readonly<Record<Extract<MissingInput, { from: "transfer" }>["state"], string>> = {
  planned: "planned, its tensor is not made yet",
  intended: "waits for ports and links",
  starved: "waits for its receive buffer",
  cancelling: "is being given up",
  selected: "gets its receive buffer",
  receiving: "is about to send",
  sending: "moves its data",
  quarantined: "is overdue",
};

export function transferState(state: Extract<MissingInput, { from: "transfer" }>["state"]): string {
  return STATES[state];
}

/** What an issued operator lacks, in words. */
export function missingWords(missing: MissingInput): string {
  if (missing.from === "nowhere") return "an input that was lost";
  if (missing.from === "operator")
    return `${missing.operator} of instance ${missing.instance}, ${missing.isRunning ? "which runs" : "which waits in the queue"}`;
  const { transfer, source, bytes, state } = missing;
  return `transfer ${transfer} of ${bytesText(bytes)} from ${source}: ${STATES[state]}`;
}

/** Why a candidate did not win, or that it did. */
export function candidateWords(candidate: CandidateReport, decision: Decision): string {
  const { shortage, outOfMemory, scoreNs, leastNs, movedBytes, partition } = candidate;
  const moved = movedBytes > 0 ? `, moves ${bytesText(movedBytes)}` : "";
  if (shortage !== null) {
    const { accelerator, neededBytes, availableBytes, cause } = shortage;
    return `rejected: ${bytesText(neededBytes)} needed on ${accelerator}, ${bytesText(availableBytes)} available (${CAUSES[cause]})`;
  }
  if (outOfMemory !== null) {
    const { accelerator, atNs, operator, bytesOver } = outOfMemory;
    const who = operator === null ? "a receive buffer" : operator;
    return `rejected: ${accelerator} would be ${bytesText(bytesOver)} over at ${durationText(atNs - decision.atNs)} from then, by ${who}`;
  }
  if (partition === decision.partition) {
    const score =
      scoreNs === null
        ? "the only one, not simulated"
        : `completes ${durationText(scoreNs - decision.atNs)} from then on average`;
    return `chosen: ${score}${moved}`;
  }
  if (scoreNs !== null) {
    const chosen = decision.candidates.find((it) => it.partition === decision.partition)?.scoreNs ?? null;
    const later =
      chosen === null ? "" : `, ${durationText(scoreNs - chosen)} ${scoreNs === chosen ? "later: a tie" : "later"}`;
    return `completes ${durationText(scoreNs - decision.atNs)} from then on average${later}${moved}`;
  }
  if (leastNs !== null)
    return `not simulated: it could not complete before ${durationText(leastNs - decision.atNs)} from then${moved}`;
  return `abandoned once it could not win any more${moved}`;
}

export function ownerWords(owner: HbmOwner["owner"]): string {
  switch (owner.kind) {
    case "weights":
      return `weights ${owner.name}`;
    case "request":
      return `request ${owner.request}`;
    case "nobody":
      return "instances that have left";
    case "baseline":
    case "workspace":
      return owner.kind;
  }
}

/** In decimal units with three digits. */
export function bytesText(bytes: number): string {
  for (const [unit, size] of [
    ["TB", 1e12],
    ["GB", 1e9],
    ["MB", 1e6],
    ["kB", 1e3],
  ] as const)
    if (bytes >= size) return `${(bytes / size).toPrecision(3)} ${unit}`;
  return `${bytes} bytes`;
}

/** In the largest unit of which there is one, with three digits. */
export function durationText(ns: number): string {
  const size = Math.abs(ns);
  for (const [unit, unitNs] of [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
  ] as const)
    if (size >= unitNs)
      return `${size >= 1000 * unitNs ? Math.round(ns / unitNs) : (ns / unitNs).toPrecision(3)} ${unit}`;
  return `${ns} ns`;
}

/** A moment to the nanosecond, in the largest unit of which there is one. */
export function momentText(ns: number): string {
  if (!Number.isSafeInteger(ns)) return `${ns} ns`;
  const size = Math.abs(ns);
  for (const [unit, digits] of [
    ["s", 9],
    ["ms", 6],
    ["µs", 3],
  ] as const) {
    if (size < 10 ** digits) continue;
    const text = String(size);
    const rest = text.slice(-digits).replace(/0+$/, "");
    return `${ns < 0 ? "-" : ""}${text.slice(0, -digits)}${rest === "" ? "" : `.${rest}`} ${unit}`;
  }
  return `${ns} ns`;
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function named(what: string, numbers: readonly number[]): string {
  const shown = numbers.slice(0, NAMED_MAX).join(", ");
  const more = numbers.length > NAMED_MAX ? ` and ${numbers.length - NAMED_MAX} more` : "";
  return `${what}${numbers.length === 1 ? "" : "s"} ${shown}${more}`;
}

const NAMED_MAX = 8;

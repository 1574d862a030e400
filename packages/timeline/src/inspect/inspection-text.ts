import type { Decision } from "@slicescheduler/scheduler";
import type {
  InspectedAccelerator,
  InspectedInstance,
  InspectedOperator,
  InspectedRequest,
  Inspection,
} from "./inspection.ts";
import {
  bytesText,
  candidateWords,
  counted,
  durationText,
  missingWords,
  momentText,
  ownerWords,
  reasonWords,
  transferState,
} from "./words.ts";

export interface InspectionTextOptions {
  /** Names of the priority classes. Default: their numbers. */
  readonly priorities?: readonly string[];
  /** Operators, transfers, owners and requests of one list that are written out. Default 20. */
  readonly listMax?: number;
}

interface Terms {
  readonly atNs: number;
  readonly listMax: number;
  classOf(rank: number): string;
}

/** An inspection for people. Names are written as they are but for what does not print. */
export function inspectionText(inspection: Inspection, options: InspectionTextOptions = {}): string {
  const { atNs, accelerators, requests, instance, decision } = inspection;
  const terms = termsOf(atNs, options);
  const lines = [
    `at ${momentText(atNs)}: ${counted(requests.length, "request")}, ${counted(inspection.waitingOperators, "operator")} to be placed, ${counted(inspection.transfers.length, "transfer")}`,
    "",
    ...accelerators.flatMap((accelerator) => acceleratorLines(accelerator, terms)),
    ...waitingLines(inspection, terms),
    ...transferLines(inspection, terms),
    ...requestLines(requests, terms),
    ...(instance === null ? [] : instanceLines(instance, terms)),
    ...(decision === null ? [] : ["", ...decisionLines(decision)]),
  ];
  return printable(lines);
}

/** Only the instance that was asked for, and the decision, where they are there: without what runs and waits beside it. */
export function instanceText({ atNs, instance, decision }: Inspection, options: InspectionTextOptions = {}): string {
  const [, ...lines] = instance === null ? [""] : instanceLines(instance, termsOf(atNs, options));
  return printable([
    `at ${momentText(atNs)}`,
    ...lines,
    ...(decision === null ? [] : ["", ...decisionLines(decision)]),
  ]);
}

function termsOf(atNs: number, { priorities = [], listMax = 20 }: InspectionTextOptions): Terms {
  return { atNs, listMax, classOf: (rank) => priorities[rank] ?? `class ${rank}` };
}

/** One decision with every candidate and why it was not the one. */
export function decisionText(decision: Decision): string {
  return printable(decisionLines(decision));
}

function acceleratorLines(accelerator: InspectedAccelerator, terms: Terms): string[] {
  const { name, kind, availability, isSuspect, running, queue, capacityBytes, usedBytes, peakBytes, owners } =
    accelerator;
  const state = [...(availability === "up" ? [] : [availability]), ...(isSuspect ? ["suspect"] : [])].join(", ");
  const share = capacityBytes === 0 ? 0 : Math.round((100 * usedBytes) / capacityBytes);
  return [
    `${name} (${kind})${state === "" ? "" : `: ${state}`}`,
    `  runs    ${running === null ? "nothing" : `${operatorText(running, terms)}, for ${durationText(terms.atNs - running.startedNs)}`}`,
    ...listed(
      queue.map((operator) => {
        const { state: waits, missing } = operator;
        const why = missing.length > 0 ? `waits for ${missing.map(missingWords).join("; ")}` : QUEUE_WORDS[waits];
        return `  queued  ${operatorText(operator, terms)}: ${why}`;
      }),
      terms,
      "  queued  ",
    ),
    `  HBM     ${bytesText(usedBytes)} of ${bytesText(capacityBytes)} (${share}%), peak ${bytesText(peakBytes)}: ${ownersText(owners, terms)}`,
  ];
}

const QUEUE_WORDS = {
  ready: "ready, waits for its turn",
  heldBack: "ready, held back for more urgent work",
  blocked: "blocked",
  recalled: "being taken back",
} as const;

function ownersText(owners: InspectedAccelerator["owners"], { listMax }: Terms): string {
  const weights = owners.filter(({ owner }) => owner.kind === "weights");
  const entries = owners
    .filter(({ owner }) => owner.kind !== "weights")
    .map(({ owner, bytes }) => ({ words: ownerWords(owner), bytes }));
  const weightBytes = weights.reduce((sum, { bytes }) => sum + bytes, 0);
  if (weights.length > 0) entries.push({ words: `weights of ${counted(weights.length, "name")}`, bytes: weightBytes });
  entries.sort((a, b) => b.bytes - a.bytes);
  const shown = entries.slice(0, listMax).map(({ words, bytes }) => `${words} ${bytesText(bytes)}`);
  const rest = entries.slice(listMax);
  const bytes = rest.reduce((sum, entry) => sum + entry.bytes, 0);
  return [...shown, ...(rest.length === 0 ? [] : [`${counted(rest.length, "other")} ${bytesText(bytes)}`])].join(", ");
}

function operatorText(
  { operator, instance, request, rank }: Pick<InspectedOperator, "operator" | "instance" | "request" | "rank">,
  terms: Terms,
): string {
  return `${operator} of instance ${instance} (request ${request}, ${terms.classOf(rank)})`;
}

function waitingLines({ waiting, waitingOperators, laterOperators }: Inspection, terms: Terms): string[] {
  const shown = waiting.slice(0, terms.listMax).map((operator) => {
    const forNs = durationText(terms.atNs - operator.sinceNs);
    return `  ${operatorText(operator, terms)}, for ${forNs}: ${reasonWords(operator.reason)}`;
  });
  const rest = waitingOperators - shown.length;
  if (rest > 0) shown.push(`  and ${rest} more`);
  const later =
    laterOperators > 0 ? [`  ${counted(laterOperators, "operator")} wait for producers that are not issued`] : [];
  return ["", "to be placed", ...(waitingOperators === 0 ? ["  nothing"] : shown), ...later];
}

function transferLines({ transfers }: Inspection, terms: Terms): string[] {
  const lines = transfers.map(({ transfer, bytes, source, destination, state, sinceNs, waiting }) => {
    const since = sinceNs < 0 ? "" : `, for ${durationText(terms.atNs - sinceNs)}`;
    const who = waiting.map(({ operator, instance }) => `${operator} of instance ${instance}`).join(", ");
    const asked = who === "" ? "nobody waits for it" : `for ${who}`;
    return `  ${transfer}: ${bytesText(bytes)} from ${source} to ${destination} ${transferState(state)}${since}; ${asked}`;
  });
  return ["", "transfers", ...(lines.length === 0 ? ["  none"] : listed(lines, terms, "  "))];
}

function requestLines(requests: readonly InspectedRequest[], terms: Terms): string[] {
  const lines = requests.map(
    ({ request, label, rank, tenant, partition, openedNs, isClosed, instances, memory, preemptions }) => {
      const who = [terms.classOf(rank), ...(tenant === null || tenant === "" ? [] : [`tenant ${tenant}`])].join(", ");
      const place = partition === null ? "not placed" : `on ${partition}`;
      const held = memory.map(
        (it) => `${it.accelerator} ${bytesText(it.usedBytes)} of ${bytesText(it.claimedBytes)} claimed`,
      );
      const parts = [
        place,
        `open for ${durationText(terms.atNs - openedNs)}${isClosed ? " and closed" : ""}`,
        `${counted(instances.live, "live instance")}`,
        ...(held.length === 0 ? [] : [held.join(", ")]),
        ...(preemptions === 0 ? [] : [`made way ${counted(preemptions, "time")}`]),
      ];
      return `  ${request}${label === "" ? "" : ` ${JSON.stringify(label)}`} (${who}): ${parts.join("; ")}`;
    },
  );
  return ["", "requests", ...(lines.length === 0 ? ["  none"] : listed(lines, terms, "  "))];
}

function instanceLines(instance: InspectedInstance, terms: Terms): string[] {
  const { instance: id, state, request, template, partition, operators, decisions } = instance;
  const where = [
    template === null ? "" : `of ${template}`,
    request === null ? "" : `request ${request}`,
    partition === null ? "not placed" : `on ${partition}`,
  ];
  return [
    "",
    `instance ${id}: ${[state, ...where].filter((part) => part !== "").join(", ")}`,
    ...operators.map(({ operator, state: its, accelerator, reason, missing, issuedNs, startedNs, doneNs }) => {
      const times = [
        ...(issuedNs === null ? [] : [`issued at ${momentText(issuedNs)}`]),
        ...(startedNs === null ? [] : [`started at ${momentText(startedNs)}`]),
        ...(doneNs === null ? [] : [`done at ${momentText(doneNs)}`]),
      ];
      const waits = [...(reason === null ? [] : [reasonWords(reason)]), ...missing.map(missingWords)];
      const details = [
        ...(accelerator === null ? [] : [`on ${accelerator}`]),
        ...times,
        ...(waits.length === 0 ? [] : [`waits for ${waits.join("; ")}`]),
      ];
      return `  ${operator} is ${its}${details.length === 0 ? "" : `: ${details.join(", ")}`}`;
    }),
    ...decisions.slice(-terms.listMax).flatMap((decision) => decisionLines(decision).map((line) => `  ${line}`)),
  ];
}

function decisionLines(decision: Decision): string[] {
  const { round, atNs, instance, operators, partition, candidates } = decision;
  const what = `${counted(operators.length, "operator")} of instance ${instance}`;
  return [
    `decision ${round} at ${momentText(atNs)}: ${what} on ${partition}, of ${counted(candidates.length, "candidate")}`,
    ...candidates.map((candidate) => `  ${candidate.partition}: ${candidateWords(candidate, decision)}`),
  ];
}

function listed(lines: readonly string[], { listMax }: Terms, indent: string): string[] {
  const rest = lines.length - listMax;
  return rest > 0 ? [...lines.slice(0, listMax), `${indent}and ${rest} more`] : [...lines];
}

/** What does not print stays out of the terminal. */
function printable(lines: readonly string[]): string {
  return `${lines.map((line) => line.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?")).join("\n")}\n`;
}

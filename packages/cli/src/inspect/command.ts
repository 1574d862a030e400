/** `inspect`: what a run did at a moment, and why: from an event log, a snapshot of the graph, a saved replay or a run record. */
import {
  decisionText,
  type EventLogReplayOptions,
  type Inspection,
  inspectEventLog,
  inspectionText,
  inspectSnapshot,
  instanceText,
  type RunRecord,
  recordEventLog,
  replayEventLog,
  textGantt,
} from "@slicescheduler/timeline";
import { UsageError } from "../errors.ts";
import { parseQuantity, quantityWords } from "../files/quantity.ts";
import type { Io } from "../io.ts";
import { OptionFaults } from "../option-faults.ts";
import { ProgressPrinter } from "../progress.ts";
import { type InspectedFile, loadInspected, namingFile } from "./load.ts";

export interface InspectCommandOptions {
  readonly at?: string;
  readonly from?: string;
  readonly to?: string;
  readonly instance?: string;
  readonly decision?: string;
  readonly decisions?: boolean;
  readonly policy?: string;
  readonly gantt?: boolean;
  readonly list?: string;
  readonly json?: boolean;
}

type Decision = NonNullable<Inspection["decision"]>;

/** The object of `--json`: an `Inspection`; of a run record what it kept; with `--decisions` those. */
export type InspectReport = Inspection | RecordReport | ChoicesReport;

interface ChoicesReport {
  /** Those that had several candidates, as many as `--list` says. */
  readonly decisions: readonly Decision[];
  /** How many there are in all. */
  readonly decisionsWithChoice: number;
}

export interface RecordReport {
  readonly label: string;
  readonly startNs: number;
  readonly endNs: number;
  readonly operators: number;
  readonly transfers: number;
  readonly requests: number;
  readonly decisionsSeen: number;
  /** That of a round or those about an instance where one is asked for; else the first that were kept, as many as `--list` says. */
  readonly decisions: readonly Decision[];
}

interface Asked {
  readonly atNs: number | undefined;
  readonly fromNs: number | undefined;
  readonly toNs: number | undefined;
  readonly instance: number | undefined;
  readonly decision: number | undefined;
  readonly listMax: number;
}

/** Errors: USAGE, those of the readers and of the inspection. */
export async function runInspect(given: string, options: InspectCommandOptions, io: Io): Promise<void> {
  const asked = askedOf(options);
  const progress = new ProgressPrinter(io);
  const file = await loadInspected(given, options.policy, io.cwd, progress);
  progress.clear();
  if (file.kind === "log" && file.log.isCutOff) io.err(`${given}: its last line was cut off, and is left out\n`);
  if (options.decisions === true) {
    printChoices(
      namingFile(given, () => decisionsWithChoice(file, asked)),
      asked,
      options,
      io,
    );
    return;
  }
  if (file.kind === "record") {
    inspectRecord(file.record, asked, options, io);
    return;
  }
  if (options.gantt === true) {
    if (file.kind !== "log") throw new UsageError(["--gantt needs a run; a snapshot is one moment"]);
    const { log } = file;
    io.out(
      gantt(
        namingFile(given, () => recordEventLog(log)),
        asked,
        io,
      ),
    );
    return;
  }
  if (file.kind === "snapshot" && asked.decision !== undefined)
    throw new UsageError(["--decision: a snapshot has no decisions; an event log has"]);
  const inspection = namingFile(given, () => inspectionOf(file, asked));
  if (options.json === true) io.out(`${JSON.stringify(inspection)}\n`);
  else if (inspection.decision !== null && asked.atNs === undefined && asked.instance === undefined) {
    io.out(`${decisionText(inspection.decision)}\n`);
  } else {
    const priorities = file.kind === "log" ? file.log.header.priorities : [];
    const text = inspection.instance === null ? inspectionText : instanceText;
    io.out(`${text(inspection, { priorities, listMax: asked.listMax })}\n`);
  }
}

function askedOf(options: InspectCommandOptions): Asked {
  const faults = new OptionFaults();
  const time = (option: "at" | "from" | "to"): number | undefined => {
    const text = options[option];
    if (text === undefined) return undefined;
    const ns = parseQuantity(/^\d{1,15}$/.test(text) ? Number(text) : text, "nanoseconds");
    if (ns === undefined) faults.wanted(`--${option}`, quantityWords.nanoseconds, text);
    return ns;
  };
  const max = Number.MAX_SAFE_INTEGER;
  const asked = {
    atNs: time("at"),
    fromNs: time("from"),
    toNs: time("to"),
    instance: faults.whole("--instance", options.instance, undefined, [0, max]),
    decision: faults.whole("--decision", options.decision, undefined, [0, max]),
    listMax: faults.whole("--list", options.list, 20, [1, 100_000]),
  };
  if (asked.fromNs !== undefined && asked.toNs !== undefined && asked.fromNs >= asked.toNs)
    faults.add(`--from must be before --to; ${options.from} is not before ${options.to}`);
  if (options.gantt !== true && (options.from ?? options.to) !== undefined)
    faults.add("--from and --to are of --gantt; --at is the moment to look at");
  if (options.decisions === true && (options.gantt ?? options.instance ?? options.decision) !== undefined)
    faults.add("--decisions lists them all; it goes with none of --gantt, --instance and --decision");
  if (options.gantt === true && options.json === true) faults.add("--gantt and --json cannot be given both");
  faults.throwIfAny();
  return asked;
}

function inspectionOf(file: Exclude<InspectedFile, { kind: "record" }>, asked: Asked): Inspection {
  const { atNs, instance, decision, listMax } = asked;
  const common = { waitingMax: Math.max(100, listMax), ...(instance === undefined ? {} : { instance }) };
  if (file.kind === "snapshot") {
    return inspectSnapshot(file.snapshot, { ...common, ...(atNs === undefined ? {} : { nowNs: atNs }) });
  }
  return inspectEventLog(file.log, {
    ...common,
    ...(atNs === undefined ? {} : { atNs }),
    ...(decision === undefined ? {} : { decision }),
  });
}

function inspectRecord(record: RunRecord, asked: Asked, options: InspectCommandOptions, io: Io): void {
  if (asked.atNs !== undefined)
    throw new UsageError(["--at: a run record has no state to rebuild; an event log has (`replay --event-log`)"]);
  const decisions = decisionsOf(record, asked);
  if (options.json === true) {
    const { label, startNs, endNs, operators, transfers, requests } = record;
    const report: RecordReport = {
      label,
      startNs,
      endNs,
      operators: operators.count,
      transfers: transfers.count,
      requests: requests.count,
      decisionsSeen: record.decisions.seen,
      decisions,
    };
    io.out(`${JSON.stringify(report)}\n`);
    return;
  }
  if (asked.decision !== undefined || asked.instance !== undefined) {
    for (const decision of decisions.slice(0, asked.listMax)) io.out(`${decisionText(decision)}\n`);
    return;
  }
  io.out(gantt(record, asked, io));
}

/** What a record kept of the decisions that are asked for. Errors: USAGE when it kept none of them. */
function decisionsOf({ decisions }: RunRecord, { decision, instance, listMax }: Asked): readonly Decision[] {
  if (decision === undefined && instance === undefined) return decisions.kept.slice(0, listMax);
  const found = decisions.kept.filter((one) => one.round === decision || one.instance === instance);
  if (found.length > 0) return found;
  const what = decision === undefined ? `about instance ${instance}` : `${decision}`;
  const kept = `${decisions.kept.length} of ${decisions.seen}`;
  throw new UsageError([`no decision ${what} is among the ${kept} that the record kept; an event log has all`]);
}

/** Where there was one candidate there is nothing to explain. Errors: USAGE for a snapshot. */
function decisionsWithChoice(file: InspectedFile, { atNs }: Asked): Decision[] {
  if (file.kind === "snapshot") throw new UsageError(["--decisions: a snapshot has no decisions; an event log has"]);
  const found: Decision[] = [];
  const take = (decision: Decision): void => {
    if (decision.candidates.length > 1 && decision.atNs <= (atNs ?? Number.POSITIVE_INFINITY)) found.push(decision);
  };
  if (file.kind === "record") file.record.decisions.kept.forEach(take);
  else {
    const onReaction: EventLogReplayOptions["onReaction"] = ({ notices }) => {
      for (const { name, value } of notices) if (name === "decision") take(value);
    };
    replayEventLog(file.log, { ...(atNs === undefined ? {} : { untilNs: atNs }), onReaction });
  }
  return found;
}

function printChoices(found: readonly Decision[], { listMax }: Asked, { json }: InspectCommandOptions, io: Io): void {
  const decisions = found.slice(0, listMax);
  if (json === true) {
    io.out(`${JSON.stringify({ decisions, decisionsWithChoice: found.length } satisfies ChoicesReport)}\n`);
    return;
  }
  // The head of each; `--decision` shows the candidates.
  for (const decision of decisions) io.out(`${decisionText(decision).split("\n", 1)[0]}\n`);
  const rest = found.length - decisions.length;
  if (rest > 0) io.out(`and ${rest} more; --list ${found.length} writes them all\n`);
  if (found.length === 0) io.out("no decision had several candidates\n");
}

function gantt(record: RunRecord, { fromNs, toNs }: Asked, io: Io): string {
  const span = { ...(fromNs === undefined ? {} : { fromNs }), ...(toNs === undefined ? {} : { toNs }) };
  const title = record.label === "" ? "" : `${record.label}\n`;
  return `${title}${textGantt(record, { width: Math.max(40, io.columns), color: io.useColor, ...span })}\n`;
}

/** What a replay leaves in files: run records, timelines, event logs, a report. */
import type { ClusterSpec } from "@slicescheduler/gmg";
import { chromeTrace, EventLogWriter, RunRecorder, textGantt } from "@slicescheduler/timeline";
import { type PolicyTerms, type ReplayOptions, type ReplayOutcome, replayPolicy } from "@slicescheduler/workloads";
import type { MasterEvent, SliceSchedulerOptions } from "slicescheduler";
import { resolved } from "../files/load.ts";
import type { Io } from "../io.ts";
import { nameByPolicy, OutputFile, writeOutput, writePieces } from "../output.ts";
import type { ProgressPrinter } from "../progress.ts";
import { encodeSavedReplay, type SavedPolicy } from "../saved/saved-replay.ts";
import type { ReplayReport } from "./json.ts";
import type { ReplaySettings } from "./settings.ts";

type ReplayHooks = Pick<ReplayOptions, "onOptions" | "onScheduler" | "onEvent" | "onToken">;

export interface Recording {
  readonly hooks: ReplayHooks;
  /** The replay is done. */
  keep(outcome: ReplayOutcome): void;
  /** Whatever happened, nothing more will. */
  close(): void;
}

/** Records the replays of the first seed, as far as some output needs it. */
export class Recordings {
  readonly #settings: ReplaySettings;
  readonly #io: Io;
  readonly #command: string;
  readonly #kept: SavedPolicy[] = [];

  /** @param command as the user typed it. */
  constructor(settings: ReplaySettings, io: Io, command: string) {
    this.#command = command;
    this.#settings = settings;
    this.#io = io;
  }

  /** Null where nothing is to be written. Errors: FILE_UNWRITABLE. */
  begin(policy: string, cluster: ClusterSpec, terms: PolicyTerms): Recording | null {
    const { timeline, record, report, gantt, eventLog } = this.#settings.outputs;
    const recorder =
      timeline !== null || record !== null || report !== null || gantt
        ? new RunRecorder({ cluster, priorities: ["online", "offline"], label: policy })
        : null;
    const log = eventLog === null ? null : new EventLog(this.#path(eventLog, policy), policy);
    if (recorder === null && log === null) return null;
    return {
      hooks: {
        onOptions: (options) => log?.begin(options),
        onScheduler: (scheduler) => recorder?.attach(scheduler),
        onEvent: (event, nowNs) => {
          recorder?.onEvent(event, nowNs);
          log?.event(event, nowNs);
        },
        onToken: (request, atNs) => recorder?.token(request, atNs),
      },
      keep: (outcome) => {
        if (recorder === null) return;
        this.#kept.push({ policy, summary: replayPolicy(policy, terms).summary, record: recorder.finish(), outcome });
      },
      close: () => log?.close(),
    };
  }

  /** Writes what was asked for. Errors: FILE_UNWRITABLE. */
  async finish(report: ReplayReport, progress: ProgressPrinter): Promise<void> {
    const { outputs } = this.#settings;
    const { policies } = this.#settings;
    const wrote = (file: string, policy?: string): void =>
      progress.line(`wrote ${policy === undefined ? file : nameByPolicy(file, policy, policies.length)}`);
    if (outputs.record !== null) {
      const saved = { command: this.#command, report, replays: this.#kept };
      writeOutput(resolved(outputs.record, this.#io.cwd), encodeSavedReplay(saved));
      wrote(outputs.record);
    }
    for (const { policy, record } of this.#kept) {
      if (outputs.timeline !== null) {
        writePieces(this.#path(outputs.timeline, policy), chromeTrace(record));
        wrote(outputs.timeline, policy);
      }
      if (outputs.gantt && !this.#settings.json) {
        const { columns, useColor } = this.#io;
        this.#io.out(`${policy}\n${textGantt(record, { width: columns, color: useColor })}\n`);
      }
    }
    if (outputs.report !== null) {
      const { reportPage } = await import("./report-page.ts");
      const page = reportPage({ replays: this.#kept, report, command: this.#command });
      writeOutput(resolved(outputs.report, this.#io.cwd), page);
      wrote(outputs.report);
    }
    if (outputs.eventLog !== null) {
      for (const policy of policies) wrote(outputs.eventLog, policy);
    }
  }

  #path(file: string, policy: string): string {
    return resolved(nameByPolicy(file, policy, this.#settings.policies.length), this.#io.cwd);
  }
}

/** An event log that begins when the master's options are known. */
class EventLog {
  readonly #label: string;
  readonly #output: OutputFile;
  #writer: EventLogWriter | null = null;

  constructor(file: string, label: string) {
    this.#label = label;
    this.#output = new OutputFile(file);
  }

  begin(options: SliceSchedulerOptions): void {
    const { executor, ...master } = options;
    this.#writer = new EventLogWriter({ ...master, manifest: executor.manifest, label: this.#label }, (line) =>
      this.#output.write(line),
    );
  }

  event(event: MasterEvent, nowNs: number): void {
    this.#writer?.onEvent(event, nowNs);
  }

  close(): void {
    this.#output.close();
  }
}

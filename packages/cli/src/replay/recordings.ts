/** What a replay leaves in files: run records, timelines, event logs, a report. */
import type { ClusterSpec } from "@slicescheduler/gmg";
import { chromeTrace, EventLogWriter, RunRecorder, textGantt } from "@slicescheduler/timeline";
import { type PolicyTerms, type ReplayOptions, type ReplayOutcome, replayPolicy } from "@slicescheduler/workloads";
import type { MasterEvent, SliceScheduler, SliceSchedulerOptions } from "slicescheduler";
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
        onScheduler: (scheduler) => {
          recorder?.attach(scheduler);
          log?.attach(scheduler);
        },
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

  /** Each policy's timeline as text; empty where it was not asked for. */
  ganttText(): string {
    const { outputs, json } = this.#settings;
    if (!outputs.gantt || json) return "";
    const { columns, useColor } = this.#io;
    const texts = this.#kept.map(
      ({ policy, record }) => `${policy}\n${textGantt(record, { width: columns, color: useColor })}\n`,
    );
    return texts.join("");
  }

  /** Writes what was asked for; a file that cannot be written keeps no other back. Errors: FILE_UNWRITABLE, of the first. */
  async finish(report: ReplayReport, progress: ProgressPrinter): Promise<void> {
    const { outputs, policies } = this.#settings;
    const errors: unknown[] = [];
    const write = async (file: string, task: () => void | Promise<void>): Promise<void> => {
      try {
        await task();
        progress.line(`wrote ${file}`);
      } catch (error) {
        errors.push(error);
      }
    };
    const { record, timeline, report: page, eventLog } = outputs;
    if (record !== null) {
      const saved = { command: this.#command, report, replays: this.#kept };
      await write(record, () => writeOutput(resolved(record, this.#io.cwd), encodeSavedReplay(saved)));
    }
    if (timeline !== null) {
      for (const { policy, record } of this.#kept) {
        await write(nameByPolicy(timeline, policy, policies.length), () =>
          writePieces(this.#path(timeline, policy), chromeTrace(record)),
        );
      }
    }
    if (page !== null) {
      await write(page, async () => {
        const { reportPage } = await import("./report-page.ts");
        const saved = { replays: this.#kept, report, command: this.#command };
        writeOutput(resolved(page, this.#io.cwd), reportPage(saved));
      });
    }
    if (eventLog !== null) {
      for (const policy of policies) progress.line(`wrote ${nameByPolicy(eventLog, policy, policies.length)}`);
    }
    if (errors.length > 0) throw errors[0];
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

  /** Decisions are written down too, so that a log that was changed or cut can be told from a good one. */
  attach(scheduler: SliceScheduler): void {
    this.#writer?.attach(scheduler);
  }

  event(event: MasterEvent, nowNs: number): void {
    this.#writer?.onEvent(event, nowNs);
  }

  close(): void {
    this.#output.close();
  }
}

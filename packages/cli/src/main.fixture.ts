/** Runs the command line in a test: what it printed, and how it ended. */
import type { ReplayOptions, ReplayOutcome, RequestRecord, WorkloadRequest } from "@slicescheduler/workloads";
import type { Io } from "./io.ts";
import { main } from "./main.ts";
import type { Replay } from "./replay/command.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly replay?: Replay;
  readonly env?: Io["env"];
  readonly cwd?: string;
  readonly errIsTerminal?: boolean;
  readonly useColor?: boolean;
  readonly onOut?: (text: string) => void;
  /** Called with what stands in for Ctrl+C. */
  readonly onListening?: (interrupt: () => void) => void;
}

export async function runMain(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { replay, env = {}, cwd = "/", errIsTerminal = false, useColor = false, onOut, onListening } = options;
  let out = "";
  let err = "";
  // A host's clock is never the same twice, and goes forward.
  let hostNs = Math.floor(Math.random() * 1e12);
  const io: Io = {
    out: (text) => {
      out += text;
      onOut?.(text);
    },
    err: (text) => {
      err += text;
    },
    errIsTerminal,
    useColor,
    columns: 100,
    cwd,
    env,
    hostNowNs: () => {
      hostNs += Math.floor(Math.random() * 1e9);
      return hostNs;
    },
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    onInterrupt: (callback) => {
      onListening?.(callback);
      return () => {};
    },
  };
  const code = await main(args, io, replay);
  return { code, out, err };
}

/** Every request served at once in a second and a half; offline ones only under SliceScheduler. */
export function fakeReplay({ policy: given, online, offline, cluster, onProgress }: ReplayOptions): ReplayOutcome {
  const policy = typeof given === "string" ? given : given.name;
  const record =
    (requestClass: "online" | "offline") =>
    (request: WorkloadRequest, id: number): RequestRecord => ({
      id,
      class: requestClass,
      request,
      outcome: "completed",
      startedNs: request.arrivalNs,
      firstTokenNs: request.arrivalNs + 1e9,
      lastTokenNs: request.arrivalNs + 1.5e9,
      tokens: request.outputTokens,
      tokensInWindow: request.outputTokens,
    });
  onProgress?.({ policy, atNs: 60e9, windowNs: online.windowNs, arrived: 3, completed: 2 });
  const served = policy === "slicescheduler" ? offline.map(record("offline")) : [];
  return {
    policy,
    windowNs: online.windowNs,
    endNs: online.windowNs,
    records: [...online.tenants.flat().map(record("online")), ...served],
    offlineOffered: offline.length,
    accelerators: cluster.accelerators.map(({ name, hbmBytes }) => ({
      name,
      capacityBytes: hbmBytes,
      fixedBytes: 1e9,
      usedBytesAtEnd: 1e9,
      peakHbmBytes: 2e9,
      utilization: policy === "slicescheduler" ? 0.5 : 0.25,
    })),
    busy: { online: [], offline: [] },
    operatorsDone: 100,
    rounds: 10,
    simulatedOperators: 20,
    hostNsPerRound: Math.random() * 1e5,
    leftInGraph: 0,
    standstills: 0,
    audit: [],
  };
}

export const neverReplay: Replay = () => {
  throw new Error("a replay was started");
};

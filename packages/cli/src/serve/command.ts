/** `serve-view`: a replay at the pace of the clock, to look at in a browser while it runs. */
import { randomBytes } from "node:crypto";
import { serveLiveView } from "@slicescheduler/live-view";
import { assertPolicyKnown, type OpenReplay, openReplay, WorkloadError } from "@slicescheduler/workloads";
import { loadWorkload } from "../files/load.ts";
import type { Io } from "../io.ts";
import { OptionFaults } from "../option-faults.ts";
import { ProgressPrinter } from "../progress.ts";
import { instanceAcceleratorsOf, replayCluster } from "../replay/cluster.ts";
import { parseSettings, type RawOptions } from "../replay/settings.ts";
import { replaySources } from "../replay/source.ts";

export interface ServeOptions extends Omit<RawOptions, "policy"> {
  readonly policy?: string;
  readonly speed?: string;
  readonly port?: string;
  readonly host?: string;
  readonly allowHost?: readonly string[];
  readonly control?: boolean;
  readonly exit?: boolean;
}

/** The object of `--json`, printed as soon as the page is there. */
export interface ServedView {
  readonly url: string;
  readonly port: number;
  readonly policy: string;
  readonly speed: number;
  /** With it accelerators can be drained and instances cancelled; null where nothing can be changed. */
  readonly token: string | null;
}

/** Serves until the user interrupts, or until the replay ends with `--exit`. Errors: USAGE, those of `replay` and of the live view. */
export async function runServeView(raw: ServeOptions, io: Io): Promise<void> {
  const faults = new OptionFaults();
  const speed = faults.number("--speed", raw.speed, 1, "above 0 and at most 1000", (v) => v > 0 && v <= 1000);
  const port = faults.whole("--port", raw.port, 0, [0, 65_535]);
  const policy = raw.policy ?? "slicescheduler";
  faults.attempt(
    () => assertPolicyKnown(policy),
    (error) => error instanceof WorkloadError,
  );
  faults.throwIfAny();
  const { policy: _, ...requests } = raw;
  const settings = parseSettings(requests, raw.workload === undefined ? {} : loadWorkload(raw.workload, io.cwd));
  const cluster = replayCluster(settings, io.cwd);
  const progress = new ProgressPrinter(io);
  const [seed = 1] = settings.seeds;
  const source = (await replaySources(settings, io, progress))(seed);
  const opened = openReplay({
    cluster: cluster.spec,
    policy,
    online: source.online,
    offline: source.offline,
    seed,
    instanceAccelerators: instanceAcceleratorsOf({ ...settings, policies: [policy] }, cluster, source),
    ...(cluster.durations === null ? {} : { durations: cluster.durations }),
    ...(source.tenantNames === null ? {} : { tenantNames: source.tenantNames }),
    hostNowNs: () => io.hostNowNs(),
  });
  const token = raw.control === true ? randomBytes(24).toString("base64url") : null;
  try {
    const view = await serveLiveView(opened.scheduler, {
      port,
      ...(raw.host === undefined ? {} : { host: raw.host }),
      allowedHosts: [...(raw.host === undefined ? [] : [hostName(raw.host)]), ...(raw.allowHost ?? [])],
      ...(token === null ? {} : { token }),
      title: `${policy}, replayed at ${speed} × the pace of the clock`,
    });
    try {
      announce({ url: view.url, port: view.port, policy, speed, token }, { raw, isJson: settings.json }, io);
      await play(opened, { speed, windowNs: source.online.windowNs, exits: raw.exit === true }, io, progress);
    } finally {
      await view.close();
    }
  } finally {
    opened.close();
  }
}

interface Announcement {
  readonly raw: ServeOptions;
  readonly isJson: boolean;
}

function announce(view: ServedView, { raw, isJson }: Announcement, io: Io): void {
  if (isJson) io.out(`${JSON.stringify(view)}\n`);
  const end = raw.exit === true ? "it ends with the replay, or by Ctrl+C" : "Ctrl+C ends it";
  io.err(`${view.policy} at ${view.url}, ${view.speed} × the pace of the clock; ${end}\n`);
  if (raw.host !== undefined && everywhere.includes(raw.host)) {
    io.err("the page is open to everybody in the network; ");
    io.err(
      "a browser elsewhere is answered under names given with --allow-host, such as --allow-host my-host 192.0.2.7\n",
    );
  }
  if (view.token !== null) io.err(`token to drain accelerators and cancel instances: ${view.token}\n`);
}

/** Addresses that stand for all of this machine's. */
const everywhere: readonly string[] = ["0.0.0.0", "::"];

/** An address as a browser names it. */
function hostName(host: string): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

const stepMs = 20;
/** Simulated time advances in pieces that take no longer than this, so that the page is answered in between. */
const busyNsMax = 30e6;
const pieceNs = 20e6;

interface Pace {
  readonly speed: number;
  readonly windowNs: number;
  readonly exits: boolean;
}

/** Lets the replay go on as the clock does, times `speed`; where this host cannot keep up it goes as fast as it can. */
async function play(opened: OpenReplay, pace: Pace, io: Io, progress: ProgressPrinter): Promise<void> {
  const ended = new AbortController();
  const stopListening = io.onInterrupt(() => ended.abort());
  let beganNs = io.hostNowNs();
  let isLeft = true;
  try {
    while (!ended.signal.aborted && (isLeft || !pace.exits)) {
      if (isLeft) {
        const wantedNs = (io.hostNowNs() - beganNs) * pace.speed;
        isLeft = advance(opened, wantedNs, io);
        // What could not be caught up with is not owed later.
        if (opened.nowNs() < wantedNs) beganNs = io.hostNowNs() - opened.nowNs() / pace.speed;
        progress.show("replaying", opened.nowNs() / pace.windowNs, `minute ${(opened.nowNs() / 60e9).toFixed(1)}`);
        if (!isLeft) progress.line(`the replay is over${pace.exits ? "" : "; the page stays until Ctrl+C"}`);
      }
      await io.wait(stepMs, ended.signal);
    }
  } finally {
    stopListening();
    progress.clear();
  }
}

/** Returns whether anything is left to happen. */
function advance(opened: OpenReplay, wantedNs: number, io: Io): boolean {
  const startNs = io.hostNowNs();
  let isLeft = true;
  do {
    isLeft = opened.advance(Math.floor(Math.min(wantedNs, opened.nowNs() + pieceNs)));
  } while (isLeft && opened.nowNs() < Math.floor(wantedNs) && io.hostNowNs() - startNs < busyNsMax);
  return isLeft;
}

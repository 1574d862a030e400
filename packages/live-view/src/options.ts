import { LiveViewError } from "./errors.ts";
import { type HostTime, hostTime } from "./host.ts";

export interface LiveViewOptions {
  /** 0 for any that is free. Default 0. */
  readonly port?: number;
  /** Address to listen on. Default `127.0.0.1`: this machine only. */
  readonly host?: string;
  /**
   * Names, with or without a port, under which a browser may call it, beside this machine's own names. Anything else is refused, so that no page elsewhere
   * can reach it by a name that it had pointed here. Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Whoever has it may drain and resume accelerators and cancel instances. At least 16 characters, random ones. Default: none, and nothing can be changed.
   */
  readonly token?: string;
  /** Shown above everything. Default `"SliceScheduler"`. */
  readonly title?: string;
  /** From one state to the next, in ms; a whole number from 100. Default 500. */
  readonly intervalMs?: number;
  /** Entries of each list; a whole number from 1 to 200. Default 24. */
  readonly rows?: number;
  /** A state is cut until it is no larger. A whole number from 4096. Default 262,144. */
  readonly stateBytesMax?: number;
  /** Pages that look at the same time; a further one is refused. A whole number from 1. Default 16. */
  readonly clientsMax?: number;
  /** A page that has taken nothing for so long is cut off, in ms; a whole number from 100. Default 10,000. */
  readonly stalledMsMax?: number;
  /** Default: the host's own. */
  readonly time?: HostTime;
}

export type CheckedOptions = Required<Omit<LiveViewOptions, "token">> & { readonly token: string | null };

const TOKEN_CHARACTERS_MIN = 16;

/** Throws INVALID_OPTIONS with every fault. */
export function checkedOptions(options: LiveViewOptions): CheckedOptions {
  const checked: CheckedOptions = {
    port: options.port ?? 0,
    host: options.host ?? "127.0.0.1",
    allowedHosts: options.allowedHosts ?? [],
    token: options.token ?? null,
    title: options.title ?? "SliceScheduler",
    intervalMs: options.intervalMs ?? 500,
    rows: options.rows ?? 24,
    stateBytesMax: options.stateBytesMax ?? 262_144,
    clientsMax: options.clientsMax ?? 16,
    stalledMsMax: options.stalledMsMax ?? 10_000,
    time: options.time ?? hostTime,
  };
  const faults = Object.entries(RANGES).flatMap(([name, [least, most]]) => {
    const value = checked[name as keyof typeof RANGES];
    const range = most === undefined ? `from ${least}` : `from ${least} to ${most}`;
    const isRight = Number.isSafeInteger(value) && value >= least && value <= (most ?? Number.POSITIVE_INFINITY);
    return isRight ? [] : [`${name}: ${value} is not a whole number ${range}`];
  });
  for (const name of Object.keys(options))
    if (!(name in checked))
      faults.push(`${name}: there is no such option; there are ${Object.keys(checked).join(", ")}`);
  if (checked.token !== null && checked.token.length < TOKEN_CHARACTERS_MIN)
    faults.push(`token: it has ${checked.token.length} characters; ${TOKEN_CHARACTERS_MIN} random ones are the least`);
  if (faults.length > 0)
    throw new LiveViewError(
      "INVALID_OPTIONS",
      `the options have ${faults.length} fault(s):\n  ${faults.join("\n  ")}`,
      faults,
    );
  return checked;
}

const RANGES = {
  port: [0, 65_535],
  intervalMs: [100, undefined],
  rows: [1, 200],
  stateBytesMax: [4096, undefined],
  clientsMax: [1, undefined],
  stalledMsMax: [100, undefined],
} as const satisfies Partial<Record<keyof LiveViewOptions, readonly [number, number | undefined]>>;

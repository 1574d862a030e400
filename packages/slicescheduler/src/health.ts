/** Which accelerators are trusted: a state machine without a clock that asks for probes and says when one is given up. */

/** How failing and silent accelerators are told from sound ones, and what is tried again. */
export interface HealthOptions {
  /** Operators that fail one after another on an accelerator, with the cause `fault`, until it is suspect. A whole number from 1. Default 3. */
  readonly faultsToSuspect?: number;
  /**
   * How long a probe may take to be answered, in nanoseconds; each further one of a suspicion twice as long, up to 1024 times. Where the backend has no
   * probes, an accelerator is trusted again after it. A whole number from 1, an hour at most. Default 1 s.
   */
  readonly probeNs?: number;
  /** Rounds in vain until a suspect is given up. From 1 to 30. Default 5: 31 s of the default `probeNs`. */
  readonly probesMax?: number;
  /**
   * What an accelerator has to report is overdue after this many nanoseconds, and the end of an operator that runs not before `silentFactor`
   * times its predicted duration. A whole number from 1; Infinity: never. Default 60 s. Only where the backend has probes.
   */
  readonly silentNsMin?: number;
  /** A number from 1. Default 20. */
  readonly silentFactor?: number;
  /**
   * A transfer that is quarantined so many nanoseconds long makes the accelerators at both ends suspect, and may cost them what they do: in the
   * end they are given up, so that its buffers come free. A whole number from 1. Default Infinity: the buffers stay.
   */
  readonly quarantineNsMax?: number;
  /** Operators of one instance that are tried again after a fault, over all its life. A whole number from 0. Default 2. */
  readonly retriesPerInstanceMax?: number;
}

export type CheckedHealth = Required<HealthOptions>;

export const DEFAULT_HEALTH: CheckedHealth = {
  faultsToSuspect: 3,
  probeNs: 1e9,
  probesMax: 5,
  silentNsMin: 60e9,
  silentFactor: 20,
  quarantineNsMax: Number.POSITIVE_INFINITY,
  retriesPerInstanceMax: 2,
};

/**
 * | state   | placed on anew | leaves when |
 * |---|---|---|
 * | trusted | yes            | `faultsToSuspect` operators fail in a row, or something is overdue |
 * | suspect | no             | a round succeeds → trusted; `probesMax` rounds in a row do not → given up |
 * | gone    | no             | its executor says that it has returned → trusted |
 *
 * A round is a probe and the time for its answer. It succeeds when the probe was answered, by one that is healthy, and nothing that the
 * accelerator has to report is overdue. Without probes a round is that time alone.
 */
export type HealthState = "trusted" | "suspect" | "gone";

/** What the master is to do. */
export type HealthStep =
  | { readonly type: "suspect"; readonly accelerator: number; readonly reason: string }
  | { readonly type: "probe"; readonly accelerator: number; readonly probe: number }
  | { readonly type: "clear"; readonly accelerator: number }
  /** `fatal`: not one probe of the last round was answered by a healthy device, so it stays out until the application resumes it. */
  | { readonly type: "giveUp"; readonly accelerator: number; readonly fatal: boolean; readonly reason: string };

interface Watched {
  state: HealthState;
  /** Operators that failed in a row. */
  faults: number;
  /** Of this suspicion. */
  roundsInVain: number;
  /** The last probe sent; −1 for none. */
  probe: number;
  passed: boolean;
  /** When the round ends; Infinity unless suspect. */
  dueNs: number;
  reason: string;
}

/** The health of every accelerator. Steps come out in the order of their causes and are carried out at once. */
export class Health {
  readonly #options: CheckedHealth;
  readonly #hasProbes: boolean;
  readonly #watched: Watched[];
  #nextProbe = 0;

  constructor(accelerators: number, options: CheckedHealth, hasProbes: boolean) {
    this.#options = options;
    this.#hasProbes = hasProbes;
    this.#watched = Array.from({ length: accelerators }, trusted);
  }

  continueFrom(other: Health): void {
    for (const [accelerator, watched] of other.#watched.entries()) this.#watched[accelerator] = { ...watched };
    this.#nextProbe = other.#nextProbe;
  }

  state(accelerator: number): HealthState {
    return this.#at(accelerator).state;
  }

  /** Why it is suspect; empty when it is not. */
  reason(accelerator: number): string {
    return this.#at(accelerator).reason;
  }

  /** When `due` has something to do at the latest. Linear in the accelerators. */
  get nextNs(): number {
    let nextNs = Number.POSITIVE_INFINITY;
    for (const { dueNs } of this.#watched) nextNs = Math.min(nextNs, dueNs);
    return nextNs;
  }

  /** An operator has ended well there. */
  succeeded(accelerator: number): void {
    this.#at(accelerator).faults = 0;
  }

  /** An operator has failed there with the cause `fault`. */
  faulted(accelerator: number, nowNs: number): HealthStep[] {
    const watched = this.#at(accelerator);
    watched.faults += 1;
    if (watched.state !== "trusted" || watched.faults < this.#options.faultsToSuspect) return [];
    return this.#suspect(accelerator, nowNs, `${watched.faults} operators failed there in a row`);
  }

  /** Something that it has to report is overdue. */
  overdue(accelerator: number, nowNs: number, what: string): HealthStep[] {
    if (this.#at(accelerator).state !== "trusted") return [];
    return this.#suspect(accelerator, nowNs, what);
  }

  /** A probe was answered. One that nobody waits for any more is ignored. @param isOverdue Whether it has something overdue to report. */
  probed(accelerator: number, probe: number, healthy: boolean, isOverdue: () => boolean): HealthStep[] {
    const watched = this.#at(accelerator);
    if (!this.#hasProbes || watched.state !== "suspect" || watched.probe !== probe || !healthy) return [];
    watched.passed = true;
    return isOverdue() ? [] : this.#clear(accelerator);
  }

  /** Rounds that end now. @param isOverdue Whether an accelerator has something overdue to report; asked anew for each. */
  *due(nowNs: number, isOverdue: (accelerator: number) => boolean): Generator<HealthStep> {
    for (const [accelerator, watched] of this.#watched.entries()) {
      if (watched.dueNs > nowNs) continue;
      const overdue = isOverdue(accelerator);
      if (!overdue && (watched.passed || !this.#hasProbes)) {
        yield* this.#clear(accelerator);
        continue;
      }
      watched.roundsInVain += 1;
      if (watched.roundsInVain >= this.#options.probesMax && this.#hasProbes) {
        const { reason, passed, roundsInVain } = watched;
        this.gone(accelerator);
        const rounds = `${reason}, and ${roundsInVain} probes in a row changed nothing`;
        yield { type: "giveUp", accelerator, fatal: !passed, reason: rounds };
      } else yield* this.#round(accelerator, nowNs);
    }
  }

  /** It is lost, or was given up. */
  gone(accelerator: number): void {
    this.#watched[accelerator] = { ...trusted(), state: "gone" };
  }

  returned(accelerator: number): void {
    this.#watched[accelerator] = trusted();
  }

  #suspect(accelerator: number, nowNs: number, reason: string): HealthStep[] {
    const watched = this.#at(accelerator);
    watched.state = "suspect";
    watched.reason = reason;
    watched.roundsInVain = 0;
    return [{ type: "suspect", accelerator, reason }, ...this.#round(accelerator, nowNs)];
  }

  #round(accelerator: number, nowNs: number): HealthStep[] {
    const watched = this.#at(accelerator);
    const doublings = Math.min(watched.roundsInVain, DOUBLINGS_MAX);
    watched.dueNs = nowNs + this.#options.probeNs * 2 ** doublings;
    watched.passed = false;
    if (!this.#hasProbes) return [];
    watched.probe = this.#nextProbe++;
    return [{ type: "probe", accelerator, probe: watched.probe }];
  }

  /** What failed there before counts no more. */
  #clear(accelerator: number): HealthStep[] {
    this.#watched[accelerator] = trusted();
    return [{ type: "clear", accelerator }];
  }

  #at(accelerator: number): Watched {
    const watched = this.#watched[accelerator];
    if (watched === undefined) throw new RangeError(`there is no accelerator ${accelerator} to watch`);
    return watched;
  }
}

/** A round is at most 1024 times as long as the first. */
const DOUBLINGS_MAX = 10;
const PROBES_MAX = 30;

function trusted(): Watched {
  return {
    state: "trusted",
    faults: 0,
    roundsInVain: 0,
    probe: -1,
    passed: false,
    dueNs: Number.POSITIVE_INFINITY,
    reason: "",
  };
}

/** Fills in the defaults. */
export function checkedHealth(options: HealthOptions): CheckedHealth {
  return { ...DEFAULT_HEALTH, ...options };
}

/** What is wrong with options, in words. */
export function healthFaults(options: HealthOptions): string[] {
  const faults: string[] = [];
  const checked = checkedHealth(options);
  const { faultsToSuspect, probeNs, probesMax, silentFactor, retriesPerInstanceMax } = checked;
  const whole = (name: string, value: number, min: number, max: number) => {
    if (!(Number.isSafeInteger(value) && value >= min && value <= max))
      faults.push(`health.${name}: ${String(value)} is not a whole number from ${min} to ${max}`);
  };
  whole("faultsToSuspect", faultsToSuspect, 1, Number.MAX_SAFE_INTEGER);
  whole("probeNs", probeNs, 1, LONGEST_PROBE_NS);
  whole("probesMax", probesMax, 1, PROBES_MAX);
  for (const name of ["silentNsMin", "quarantineNsMax"] as const)
    if (checked[name] !== Number.POSITIVE_INFINITY) whole(name, checked[name], 1, Number.MAX_SAFE_INTEGER);
  whole("retriesPerInstanceMax", retriesPerInstanceMax, 0, Number.MAX_SAFE_INTEGER);
  if (!(typeof silentFactor === "number" && silentFactor >= 1))
    faults.push(`health.silentFactor: ${String(silentFactor)} is not a number from 1`);
  return faults;
}

/** An hour; 1024 of them are exact in a double. */
const LONGEST_PROBE_NS = 3600e9;

/** Every option there is. */
export const HEALTH_OPTIONS = Object.keys(DEFAULT_HEALTH) as readonly (keyof HealthOptions)[];

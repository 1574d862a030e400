/** Numbers and reasons as people read them. */
import type { WaitingReason } from "@slicescheduler/scheduler";

const TIME_UNITS = [
  { ns: 60e9, unit: "min" },
  { ns: 1e9, unit: "s" },
  { ns: 1e6, unit: "ms" },
  { ns: 1e3, unit: "µs" },
] as const;

const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB", "PB"] as const;

/** Three digits and a unit: `"12.3 ms"`. */
export function duration(ns: number): string {
  if (ns >= 3600e9) return `${Math.floor(ns / 3600e9)} h ${Math.floor((ns % 3600e9) / 60e9)} min`;
  for (const { ns: size, unit } of TIME_UNITS) if (ns >= size) return `${digits(ns / size)} ${unit}`;
  return `${Math.max(0, Math.round(ns))} ns`;
}

/** A time of the executor's clock: `"1:02:03.456"`; before its first minute as a duration. */
export function moment(ns: number): string {
  if (ns < 60e9) return duration(ns);
  const ms = Math.floor(ns / 1e6);
  const [hours, minutes, seconds] = [Math.floor(ms / 3.6e6), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60];
  const two = (value: number) => String(value).padStart(2, "0");
  const start = hours > 0 ? `${hours}:${two(minutes)}` : String(minutes);
  return `${start}:${two(seconds)}.${String(ms % 1000).padStart(3, "0")}`;
}

/** Decimal units: `"12.3 GB"`. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${count} B` : `${digits(value)} ${BYTE_UNITS[unit]}`;
}

function digits(value: number): string {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** `"3 operators"`. */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

/** What an operator of the unscheduled frontier waits for. */
export function waitsFor(reason: WaitingReason): string {
  switch (reason.why) {
    case "producers":
      return `${counted(reason.unscheduledInputs, "producer")} not issued yet`;
    case "budget":
      return `a turn on ${reason.accelerator}: ${reason.issuedOperators} of ${reason.budget} issued there, ${reason.moreUrgentOperators} more urgent`;
    case "memory": {
      const predicted = reason.cause === "predicted" ? ", as predicted" : "";
      return `${bytes(reason.neededBytes)} on ${reason.accelerator}, where ${bytes(reason.availableBytes)} can be had${predicted}${holders(reason.heldBy)}`;
    }
    case "quota":
      return `the quota of tenant ${reason.tenant}: ${reason.quota} is ${reason.limit}, and ${reason.found} are there`;
    case "instance":
      return `instance ${reason.behind}, whose results it reads, to begin`;
    case "patience":
      return `instance ${reason.behind}, which has waited too long for memory to be passed by`;
    case "transfer":
      return "a transfer that is being taken back";
    case "suspect":
      return `${reason.accelerators.join(", ")} to be sound again`;
    case "next":
      return "nothing: it is next";
  }
}

const HOLDERS_SHOWN = 6;

function holders(requests: readonly number[]): string {
  if (requests.length === 0) return "";
  const more = requests.length > HOLDERS_SHOWN ? ` and ${requests.length - HOLDERS_SHOWN} more` : "";
  return `; held by request${requests.length === 1 ? "" : "s"} ${requests.slice(0, HOLDERS_SHOWN).join(", ")}${more}`;
}

import type { Notice, Notices } from "slicescheduler";
import type { RecordedNotice, RecordedNoticeKind } from "../run-record.ts";

type Worded = Pick<RecordedNotice, "accelerator" | "instance" | "text">;

/** What is kept of a notice beside its time, and how it is put into words; null for notices that are kept otherwise. */
export function wordsOf(
  notice: Notice,
  names: readonly string[],
): (Worded & { kind: RecordedNoticeKind; atNs: number }) | null {
  const { name, value } = notice;
  switch (name) {
    case "operatorIssued":
    case "operatorStarted":
    case "operatorDone":
    case "transferDone":
    case "instanceDone":
    case "decision":
      return null;
    case "operatorFailed": {
      const text = `${operatorOf(value)}: ${value.reason}${value.again ? "; it is made again" : ""}`;
      return { kind: name, atNs: value.atNs, accelerator: value.accelerator, instance: value.instance, text };
    }
    case "operatorWithdrawn":
      return {
        kind: name,
        atNs: value.atNs,
        accelerator: value.accelerator,
        instance: value.instance,
        text: operatorOf(value),
      };
    case "transferQuarantined": {
      const text = `${transferOf(value, names)} was to end by ${value.deadlineNs} ns (${value.from})`;
      return { kind: name, atNs: value.atNs, accelerator: value.destination, instance: -1, text };
    }
    case "transferReleased": {
      const text = `${transferOf(value, names)}: ${value.outcome}`;
      return { kind: name, atNs: value.atNs, accelerator: value.destination, instance: -1, text };
    }
    case "instanceFailed":
      return { kind: name, atNs: value.atNs, accelerator: -1, instance: value.instance, text: value.error.message };
    case "instanceCancelled":
      return {
        kind: name,
        atNs: value.atNs,
        accelerator: -1,
        instance: value.instance,
        text: `instance ${value.instance}`,
      };
    case "standstill":
      return { kind: name, atNs: value.atNs, accelerator: -1, instance: value.failed ?? -1, text: value.reason };
    default: {
      const text = value.reason === "" ? value.acceleratorName : `${value.acceleratorName}: ${value.reason}`;
      return { kind: name, atNs: value.atNs, accelerator: value.accelerator, instance: -1, text };
    }
  }
}

function operatorOf({ template, operatorName, instance }: Notices["operatorIssued"]): string {
  return `${template}/${operatorName} of instance ${instance}`;
}

function transferOf(
  { transfer, source, destination, bytes }: Notices["transferReleased"] | Notices["transferQuarantined"],
  names: readonly string[],
): string {
  return `transfer ${transfer}, ${bytes} bytes from ${names[source] ?? source} to ${names[destination] ?? destination}`;
}

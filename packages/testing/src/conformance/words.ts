import type { ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";

/** One line for an instruction: what it asks, and its numbers. */
export function instructionWords(instruction: ExecutorInstruction): string {
  switch (instruction.type) {
    case "registerTemplate":
      return `registerTemplate ${instruction.template.name}`;
    case "loadWeights":
      return `loadWeights ${instruction.name} of ${instruction.bytes} bytes on ${instruction.accelerator}`;
    case "issue": {
      const { issueNumber, template, accelerator, inputs, outputs, rank, activated, workspaceBytes } = instruction;
      const reads = inputs.map(({ tensor, transfer, source }) =>
        transfer === null ? `${tensor}` : `${tensor} from ${source} by transfer ${transfer}`,
      );
      const makes = outputs.map(({ tensor, bytes }) => `${tensor} of ${bytes} bytes`);
      const ends = [
        ...(reads.length === 0 ? [] : [`reads ${reads.join(", ")}`]),
        ...(makes.length === 0 ? [] : [`makes ${makes.join(", ")}`]),
        ...(workspaceBytes === 0 ? [] : [`workspace ${workspaceBytes} bytes`]),
      ];
      const head = `issue ${issueNumber} (${template}) on ${accelerator}, rank ${rank}${activated ? "" : ", held back"}`;
      return [head, ...ends].join("; ");
    }
    case "activateRecv": {
      const { transfer, tensor, source, destination, bytes } = instruction;
      return `activateRecv ${transfer}: tensor ${tensor} of ${bytes} bytes from ${source} to ${destination}`;
    }
    case "rerank":
      return `rerank ${instruction.issueNumber} to ${instruction.rank}`;
    case "probe":
      return `probe ${instruction.probe} of ${instruction.accelerator}`;
    case "giveUp":
      return `giveUp ${instruction.accelerator}: ${instruction.reason}`;
    case "hold":
    case "release":
      return `${instruction.type} tensor ${instruction.tensor} on ${instruction.accelerator}`;
    default:
      return `${instruction.type} ${"transfer" in instruction ? instruction.transfer : instruction.issueNumber}`;
  }
}

/** One line for an event. */
export function eventWords(event: ExecutorEvent): string {
  const subject = subjectOf(event);
  const rest = [
    ...("cause" in event ? [event.cause] : []),
    ...("reason" in event ? [event.reason] : []),
    ...("observedNs" in event ? [`observed ${event.observedNs} ns`] : []),
  ];
  return [`${event.type} ${subject}`, ...rest].join(": ");
}

/** What an event is about: the number of an issue, a transfer or an accelerator; of several transfers, with commas. */
export function subjectOf(event: ExecutorEvent): number | string {
  if ("issueNumber" in event) return event.issueNumber;
  if ("transfer" in event) return event.transfer;
  return "transfers" in event ? event.transfers.join() : event.accelerator;
}

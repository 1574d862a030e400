/** A way through a small world in words, move by move. */
import type { ExecutorEvent, ExecutorInstruction } from "@slicescheduler/executor";
import type { MasterEvent } from "slicescheduler";
import type { Names } from "./names.ts";
import type { Cause, Happening } from "./system.ts";

/** The move, and a line for each thing that it makes master or executor say. */
export function tellHappening({ cause, effects }: Happening, names: Names): string[] {
  for (const effect of effects) if (effect.type === "issue") names.learn(effect);
  return [tellCause(cause, names), ...effects.map((effect) => tellEffect(effect, names))];
}

function tellCause(cause: Cause, names: Names): string {
  switch (cause.type) {
    case "asks":
      if (cause.events.every(({ type }) => type === "timePassed"))
        return "so much time passes that all ends are overdue";
      return `the application asks: ${cause.events.map(tellRequest).join(", ")}`;
    case "hears":
      return `the master hears that ${tellEvent(cause.event, names)}`;
    case "takes":
      return `the executor is told to ${cause.instructions.map((it) => tellInstruction(it, names)).join(", ")}`;
    case "operatorEnds":
      return `${names.operator(cause.issueNumber)} ends`;
    case "operatorFails":
      return `${names.operator(cause.issueNumber)} fails, as a fault`;
    case "transferEnds":
      return `${names.transfer(cause.transfer)} ends`;
    case "transferFails":
      return `${names.transfer(cause.transfer)} fails, as a fault`;
    case "isLost":
      return `${names.accelerator(cause.accelerator)} is lost, as a fault`;
    case "isBack":
      return `${names.accelerator(cause.accelerator)} comes back`;
  }
}

function tellEffect(effect: ExecutorEvent | ExecutorInstruction, names: Names): string {
  return isEvent(effect)
    ? `the executor says: ${tellEvent(effect, names)}`
    : `the master says: ${tellInstruction(effect, names)}`;
}

const EVENTS: ReadonlySet<string> = new Set<ExecutorEvent["type"]>([
  "operatorStarted",
  "operatorDone",
  "operatorFailed",
  "withdrawn",
  "intentsRaised",
  "recvReady",
  "recvFailed",
  "transferDone",
  "transferFailed",
  "transferCancelled",
  "acceleratorLost",
  "acceleratorReturned",
  "probed",
]);

function isEvent(effect: ExecutorEvent | ExecutorInstruction): effect is ExecutorEvent {
  return EVENTS.has(effect.type);
}

function tellRequest(event: MasterEvent): string {
  if ("instance" in event) {
    if (event.type === "instanceSubmitted") return `submit instance ${event.instance} of ${event.template}`;
    if (event.type === "instanceCancelled") return `cancel instance ${event.instance}`;
    if (event.type === "outputReleased") return `release ${event.output} of instance ${event.instance}`;
  }
  return "request" in event ? `${event.type} ${event.request}` : event.type;
}

export function tellInstruction(instruction: ExecutorInstruction, names: Names): string {
  switch (instruction.type) {
    case "issue":
      return `issue ${names.operator(instruction.issueNumber)}`;
    case "activate":
      return `let ${names.operator(instruction.issueNumber)} run`;
    case "withdraw":
      return `withdraw ${names.operator(instruction.issueNumber)}`;
    case "activateRecv":
      return `allocate the receive buffer of ${names.transfer(instruction.transfer)}, ${instruction.bytes} bytes`;
    case "activateSend":
      return `send the data of ${names.transfer(instruction.transfer)}`;
    case "rerank":
      return `let ${names.operator(instruction.issueNumber)} have rank ${instruction.rank}`;
    case "cancelTransfer":
      return `give up ${names.transfer(instruction.transfer)}`;
    case "hold":
    case "release":
      return `${instruction.type} ${names.tensor(instruction.tensor)} on ${names.accelerator(instruction.accelerator)}`;
    default:
      return instruction.type;
  }
}

export function tellEvent(event: ExecutorEvent, names: Names): string {
  switch (event.type) {
    case "operatorStarted":
      return `${names.operator(event.issueNumber)} has started`;
    case "operatorDone":
      return `${names.operator(event.issueNumber)} is done`;
    case "operatorFailed":
      return `${names.operator(event.issueNumber)} has failed (${event.cause}: ${event.reason})`;
    case "withdrawn":
      return `${names.operator(event.issueNumber)} is withdrawn`;
    case "intentsRaised":
      return `there is an intent for ${event.transfers.map((it) => names.transfer(it)).join(" and for ")}`;
    case "recvReady":
      return `the receive buffer of ${names.transfer(event.transfer)} is there`;
    case "recvFailed":
      return `the receive buffer of ${names.transfer(event.transfer)} does not fit (${event.reason})`;
    case "transferDone":
      return `${names.transfer(event.transfer)} is done`;
    case "transferFailed":
      return `${names.transfer(event.transfer)} has failed (${event.reason})`;
    case "transferCancelled":
      return `${names.transfer(event.transfer)} will not take place`;
    case "acceleratorLost":
      return `${names.accelerator(event.accelerator)} is lost`;
    case "acceleratorReturned":
      return `${names.accelerator(event.accelerator)} is there again`;
    case "probed":
      return `${names.accelerator(event.accelerator)} is ${event.healthy ? "" : "not "}well`;
  }
}

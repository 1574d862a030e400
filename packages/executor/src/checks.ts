import type { Cluster, ResidencyLedger, Template } from "@slicescheduler/gmg";
import { ExecutorError } from "./errors.ts";
import type { TransferTable } from "./transfers.ts";
import type { ExecutorInstruction, IssuedInput, IssueInstruction } from "./types.ts";

/** Refuses an issue that no correct master gives, before it changes anything. Codes INVALID_INSTRUCTION, DUPLICATE_OUTPUT. */
export function checkIssue(
  issue: IssueInstruction,
  template: Template,
  cluster: Cluster,
  ledger: ResidencyLedger,
  transfers: TransferTable,
): void {
  whole(issue, "issueNumber", issue.issueNumber);
  whole(issue, "instance", issue.instance);
  whole(issue, "operator", issue.operator);
  whole(issue, "rank", issue.rank);
  whole(issue, "workspaceBytes", issue.workspaceBytes);
  if (issue.operator >= template.operators.length)
    refuse(
      issue,
      `names operator ${issue.operator} of ${JSON.stringify(template.name)}, which has ${template.operators.length}`,
    );
  const inputs = new Set<number>();
  const begun = new Set<number>();
  for (const input of issue.inputs) {
    whole(issue, "input tensor", input.tensor);
    if (inputs.has(input.tensor)) refuse(issue, `names input tensor ${input.tensor} twice`);
    inputs.add(input.tensor);
    if (input.transfer === null) {
      if (!ledger.has(input.tensor, issue.accelerator))
        refuse(
          issue,
          `takes tensor ${input.tensor} as local, but it is neither there nor expected there; give its transfer`,
        );
    } else {
      if (begun.has(input.transfer)) refuse(issue, `gives transfer ${input.transfer} to two tensors`);
      begun.add(input.transfer);
      checkTransfer(issue, input, input.transfer, cluster, ledger, transfers);
    }
  }
  checkOutputs(issue, inputs, ledger);
}

function checkTransfer(
  issue: IssueInstruction,
  { tensor, source }: IssuedInput,
  transfer: number,
  cluster: Cluster,
  ledger: ResidencyLedger,
  transfers: TransferTable,
): void {
  whole(issue, "transfer", transfer);
  const destination = issue.accelerator;
  const known = transfers.get(transfer);
  if (known !== undefined) {
    if (known.tensor !== tensor || known.destination !== destination || known.source !== source)
      refuse(
        issue,
        `takes transfer ${transfer} for tensor ${tensor} from ${source} to ${destination}, but it brings tensor ${known.tensor} from ${known.source} to ${known.destination}`,
      );
    return;
  }
  if (ledger.has(tensor, destination)) {
    // It may have ended while the master was still reading earlier events of the same cause.
    if (transfers.isPast(transfer)) return;
    refuse(issue, `wants transfer ${transfer} of tensor ${tensor}, which is there or expected there already`);
  }
  if (transfers.isPast(transfer)) refuse(issue, `wants transfer ${transfer}, whose number is used up`);
  if (source === destination) refuse(issue, `wants transfer ${transfer} from its own accelerator`);
  if (cluster.accelerators[source] === undefined)
    refuse(issue, `names source ${source}, which the cluster does not have`);
  if (!ledger.has(tensor, source))
    refuse(
      issue,
      `wants transfer ${transfer} of tensor ${tensor} from ${source}, where it is neither present nor expected`,
    );
  if (cluster.route(source, destination) === undefined)
    refuse(issue, `wants transfer ${transfer} from ${source}, from where no link leads to ${destination}`);
}

function checkOutputs(issue: IssueInstruction, inputs: ReadonlySet<number>, ledger: ResidencyLedger): void {
  const outputs = new Set<number>();
  for (const { tensor, bytes, aliases } of issue.outputs) {
    whole(issue, "output tensor", tensor);
    whole(issue, "output bytes", bytes);
    if (outputs.has(tensor) || inputs.has(tensor) || ledger.has(tensor, issue.accelerator))
      throw new ExecutorError(
        "DUPLICATE_OUTPUT",
        `${name(issue)} would write tensor ${tensor}, which is there or expected there already`,
      );
    outputs.add(tensor);
    if (aliases !== null && !inputs.has(aliases))
      refuse(issue, `continues tensor ${aliases} as output ${tensor}, but does not read it`);
  }
}

export type ReceiveInstruction = Extract<ExecutorInstruction, { readonly type: "activateRecv" }>;

/** Refuses a receive that does not fit its transfer. Codes UNKNOWN_TRANSFER, INVALID_INSTRUCTION. */
export function checkReceive(receive: ReceiveInstruction, transfers: TransferTable, ledger: ResidencyLedger): void {
  const { transfer, tensor, source, destination, bytes } = receive;
  const known = transfers.get(transfer);
  if (known === undefined)
    throw new ExecutorError("UNKNOWN_TRANSFER", `there is no pending transfer ${transfer} to receive`);
  if (known.tensor !== tensor || known.source !== source || known.destination !== destination)
    throw new ExecutorError(
      "INVALID_INSTRUCTION",
      `transfer ${transfer} brings tensor ${known.tensor} from ${known.source} to ${known.destination}, not tensor ${tensor} from ${source} to ${destination}`,
    );
  const sourceBytes = ledger.bytesOf(tensor, source);
  if (known.state !== "planned" && bytes !== sourceBytes)
    throw new ExecutorError(
      "INVALID_INSTRUCTION",
      `transfer ${transfer} has ${sourceBytes} bytes at its source, not ${bytes}`,
    );
}

function whole(issue: IssueInstruction, field: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) refuse(issue, `has ${field} ${value}, not a whole number from 0`);
}

function refuse(issue: IssueInstruction, found: string): never {
  throw new ExecutorError("INVALID_INSTRUCTION", `${name(issue)} ${found}`);
}

function name({ issueNumber, accelerator }: IssueInstruction): string {
  return `issue ${issueNumber} to accelerator ${accelerator}`;
}

/** Whether an issue can be taken as things stand: what is wrong of it, and what only timing has made impossible. */
import type { ResidencyLedger } from "@slicescheduler/memory";
import type { Cluster, Template } from "@slicescheduler/templates";
import { ExecutorError } from "./errors.ts";
import type { TransferTable } from "./transfers.ts";
import type { IssuedInput, IssueInstruction } from "./types.ts";

export interface Surroundings {
  readonly cluster: Cluster;
  readonly ledger: ResidencyLedger;
  readonly transfers: TransferTable;
}

/** Throws INVALID_INSTRUCTION, DUPLICATE_OUTPUT for an issue that no correct master gives; its numbers are checked already. */
export function checkAdmissible(instruction: IssueInstruction, template: Template, around: Surroundings): void {
  const { issueNumber, accelerator, operator, inputs, outputs } = instruction;
  const { name, operators } = template;
  if (operator >= operators.length) {
    const found = `asks for operator ${operator} of template ${JSON.stringify(name)}, which has ${operators.length}`;
    throw new ExecutorError("INVALID_INSTRUCTION", `issue ${issueNumber} ${found}`);
  }
  for (const { tensor } of outputs) {
    if (!around.ledger.has(tensor, accelerator)) continue;
    const found = `issue ${issueNumber} would produce tensor ${tensor}, which accelerator ${accelerator} has or expects`;
    throw new ExecutorError("DUPLICATE_OUTPUT", `${found}; every issue of an operator has tensors of its own`);
  }
  for (const { tensor, transfer, source } of inputs) {
    if (transfer === null || around.ledger.has(tensor, accelerator)) continue;
    const plan = `issue ${issueNumber} plans transfer ${transfer} of tensor ${tensor} from accelerator ${source} to ${accelerator}`;
    if (around.cluster.route(source, accelerator) === undefined)
      throw new ExecutorError("INVALID_INSTRUCTION", `${plan}, but no link leads there; declare one in the cluster`);
    if (around.transfers.get(transfer) !== undefined)
      throw new ExecutorError("INVALID_INSTRUCTION", `${plan}, but that number is another pending transfer's`);
  }
}

/** Why an input can never be there: its copy is gone, or comes by another transfer. Null when it is or will be there. */
export function whyUnavailable(input: IssuedInput, accelerator: number, around: Surroundings): string | null {
  const { tensor, transfer, source } = input;
  if (around.ledger.has(tensor, accelerator)) {
    const incoming = around.transfers.incoming(tensor, accelerator);
    if (incoming === undefined || transfer === null || incoming.transfer === transfer) return null;
    return `input tensor ${tensor} is on its way to accelerator ${accelerator} by transfer ${incoming.transfer}, not by ${transfer}`;
  }
  if (transfer === null)
    return `input tensor ${tensor} is neither present on, nor produced on, nor on its way to accelerator ${accelerator}`;
  // A message that was under way when the transfer ended without a copy.
  if (around.transfers.isPast(transfer)) return `transfer ${transfer} of input tensor ${tensor} has ended`;
  if (around.ledger.has(tensor, source)) return null;
  return `input tensor ${tensor} is neither present on nor expected on accelerator ${source}, from where it was to come`;
}

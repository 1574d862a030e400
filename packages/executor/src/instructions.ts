/** What makes an instruction wrong whatever the state: impossible numbers, references to nothing, the same tensor twice. */
import type { ResidencyLedger } from "@slicescheduler/memory";
import { ExecutorError } from "./errors.ts";
import type { ExecutorInstruction, IssueInstruction } from "./types.ts";

/** Throws INVALID_INSTRUCTION, UNKNOWN_ACCELERATOR. `accelerators` is how many the cluster has. */
export function checkIssue(instruction: IssueInstruction, accelerators: number): void {
  const { issueNumber, accelerator, instance, operator, rank, inputs, outputs, workspaceBytes } = instruction;
  checkWhole(instruction, "issueNumber", issueNumber);
  checkAccelerator(instruction, "accelerator", accelerator, accelerators);
  checkWhole(instruction, "instance", instance);
  checkWhole(instruction, "operator", operator);
  checkWhole(instruction, "rank", rank);
  checkWhole(instruction, "workspaceBytes", workspaceBytes);
  const tensors = new Set<number>();
  const transfers = new Set<number>();
  for (const { tensor, transfer, source } of inputs) {
    checkWhole(instruction, "input tensor", tensor);
    if (tensors.has(tensor)) refuse(instruction, `names input tensor ${tensor} twice; inputs are distinct tensors`);
    tensors.add(tensor);
    if (transfer === null) continue;
    checkWhole(instruction, "transfer", transfer);
    if (transfers.has(transfer)) refuse(instruction, `gives transfer ${transfer} to two tensors`);
    transfers.add(transfer);
    checkAccelerator(instruction, "source", source, accelerators);
    if (source === accelerator) refuse(instruction, `transfers tensor ${tensor} from accelerator ${source} to itself`);
  }
  const inputCount = tensors.size;
  for (const { tensor, bytes, aliases } of outputs) {
    checkWhole(instruction, "output tensor", tensor);
    checkWhole(instruction, "output bytes", bytes);
    if (aliases !== null && !inputs.some((input) => input.tensor === aliases))
      refuse(instruction, `continues tensor ${aliases}, which is not among its inputs`);
    tensors.add(tensor);
  }
  if (tensors.size !== inputCount + outputs.length)
    refuse(instruction, "names an output tensor twice, or one that is an input too");
}

/** Throws INVALID_INSTRUCTION, UNKNOWN_ACCELERATOR. */
export function checkRecv(
  instruction: Extract<ExecutorInstruction, { type: "activateRecv" }>,
  planned: { readonly tensor: number; readonly source: number; readonly destination: number },
  ledger: ResidencyLedger,
): void {
  const { transfer, tensor, source, destination, bytes } = instruction;
  checkWhole(instruction, "bytes", bytes);
  if (tensor !== planned.tensor || source !== planned.source || destination !== planned.destination) {
    const issued = `it was issued to take tensor ${planned.tensor} from ${planned.source} to ${planned.destination}`;
    const asked = `takes tensor ${tensor} from accelerator ${source} to ${destination}`;
    refuse(instruction, `says that transfer ${transfer} ${asked}; ${issued}`);
  }
  if (ledger.isPresent(tensor, source) && bytes !== ledger.bytesOf(tensor, source))
    refuse(
      instruction,
      `asks for ${bytes} bytes; tensor ${tensor} has ${ledger.bytesOf(tensor, source)} at its source`,
    );
}

/** Throws UNKNOWN_ACCELERATOR. */
export function checkAccelerator(
  instruction: ExecutorInstruction,
  name: string,
  accelerator: number,
  accelerators: number,
): void {
  if (Number.isInteger(accelerator) && accelerator >= 0 && accelerator < accelerators) return;
  throw new ExecutorError(
    "UNKNOWN_ACCELERATOR",
    `${label(instruction)}: ${name} ${accelerator} is not one of the cluster's ${accelerators} accelerators, which count from 0`,
  );
}

/** Throws INVALID_INSTRUCTION. */
export function checkWhole(instruction: ExecutorInstruction, name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    refuse(instruction, `has ${name} ${value}; it must be a whole number from 0 to 2^53 − 1`);
}

/** Throws INVALID_INSTRUCTION. */
export function unknownInstruction(instruction: never): never {
  const { type } = instruction as { readonly type?: unknown };
  throw new ExecutorError("INVALID_INSTRUCTION", `there is no instruction of type ${JSON.stringify(type)}`);
}

function refuse(instruction: ExecutorInstruction, found: string): never {
  throw new ExecutorError("INVALID_INSTRUCTION", `${label(instruction)} ${found}`);
}

function label(instruction: ExecutorInstruction): string {
  if ("issueNumber" in instruction) return `${instruction.type} ${instruction.issueNumber}`;
  return "transfer" in instruction ? `${instruction.type} ${instruction.transfer}` : instruction.type;
}

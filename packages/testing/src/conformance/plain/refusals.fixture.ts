import type { ExecutorInstruction, IssueInstruction } from "@slicescheduler/executor";

/** Not the executor package's error: the suite goes by codes. */
class Refusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export function refuseIf(isWrong: boolean, code: string, words: string): void {
  if (isWrong) throw new Refusal(code, words);
}

/** Impossible numbers, and the same tensor or transfer twice. */
export function checkNumbers(instruction: ExecutorInstruction, accelerators: number): void {
  if ("accelerator" in instruction) checkAccelerator(instruction.accelerator, accelerators);
  const wholes = Object.entries(instruction).filter(
    ([name, value]) => typeof value === "number" && name !== "accelerator",
  );
  for (const [name, value] of wholes) checkWhole(name, value);
  if (instruction.type === "issue") checkTensors(instruction, accelerators);
}

function checkTensors({ accelerator, inputs, outputs }: IssueInstruction, accelerators: number): void {
  const tensors = [...inputs, ...outputs].map(({ tensor }) => tensor);
  const transfers = inputs.map(({ transfer }) => transfer).filter((transfer) => transfer !== null);
  for (const number of [...tensors, ...transfers, ...outputs.map(({ bytes }) => bytes)]) checkWhole("a number", number);
  refuseIf(new Set(tensors).size < tensors.length, "INVALID_INSTRUCTION", "a tensor is named twice");
  refuseIf(new Set(transfers).size < transfers.length, "INVALID_INSTRUCTION", "a transfer has two tensors");
  for (const { transfer, source } of inputs) {
    if (transfer === null) continue;
    checkAccelerator(source, accelerators);
    refuseIf(source === accelerator, "INVALID_INSTRUCTION", "a transfer leads nowhere");
  }
  for (const { aliases } of outputs) {
    const isInput = aliases === null || inputs.some(({ tensor }) => tensor === aliases);
    refuseIf(!isInput, "INVALID_INSTRUCTION", `${aliases} is no input`);
  }
}

function checkWhole(name: string, value: unknown): void {
  refuseIf(!Number.isSafeInteger(value) || Number(value) < 0, "INVALID_INSTRUCTION", `${name} is ${value}`);
}

function checkAccelerator(accelerator: number, accelerators: number): void {
  const isThere = Number.isInteger(accelerator) && accelerator >= 0 && accelerator < accelerators;
  refuseIf(!isThere, "UNKNOWN_ACCELERATOR", `there is no accelerator ${accelerator}`);
}

import { type AcceleratorIndex, type Fault, GmgError, ValidationError } from "@slicescheduler/templates";
import type { TensorId } from "./ledger-memory.ts";

interface Where {
  readonly index: AcceleratorIndex;
  readonly name: string;
}

/** An illegal use of the ledger; it changed nothing. */
export type LedgerErrorCode =
  | "UNKNOWN_COPY"
  | "COPY_EXISTS"
  | "COPY_IN_USE"
  | "ALREADY_ALLOCATED"
  | "NOT_ALLOCATED"
  | "ALREADY_PRESENT"
  | "COUNT_BELOW_ZERO"
  | "WORKSPACE_MISMATCH"
  | "INVALID_BYTES"
  | "INVALID_TENSOR";

/** A call that the life of a copy does not allow; see `ResidencyLedger`. */
export class LedgerError extends GmgError {
  declare readonly code: LedgerErrorCode;
  readonly accelerator: AcceleratorIndex;
  /** −1 where no tensor is concerned. */
  readonly tensor: TensorId | -1;

  constructor(code: LedgerErrorCode, accelerator: Where, tensor: TensorId | -1, found: string) {
    super(code, `${accelerator.name}: ${tensor === -1 ? "" : `tensor ${tensor} `}${found}`, {
      accelerator: accelerator.index,
      tensor,
    });
    this.accelerator = accelerator.index;
    this.tensor = tensor;
  }
}

/** Code `MEMORY_EXCEEDED`: an allocation would pass the accelerator's capacity; nothing was allocated. */
export class MemoryExceededError extends GmgError {
  readonly accelerator: AcceleratorIndex;
  readonly tensor: TensorId | -1;
  /** Rounded bytes asked for in addition to those in use. */
  readonly requestedBytes: number;
  readonly usedBytes: number;
  readonly capacityBytes: number;
  /** Bytes missing. */
  readonly overBytes: number;

  constructor(
    accelerator: Where & { readonly usedBytes: number; readonly capacityBytes: number },
    requestedBytes: number,
    purpose: string,
    tensor: TensorId | -1,
  ) {
    const { index, name, usedBytes, capacityBytes } = accelerator;
    const overBytes = requestedBytes - (capacityBytes - usedBytes);
    const what = tensor === -1 ? purpose : `${purpose} ${tensor}`;
    super(
      "MEMORY_EXCEEDED",
      `${name}: ${what} needs ${requestedBytes} bytes more, ${usedBytes} of ${capacityBytes} bytes are in use: ${overBytes} bytes over; free memory first`,
      { accelerator: index, tensor, purpose, requestedBytes, usedBytes, capacityBytes, overBytes },
    );
    this.accelerator = index;
    this.tensor = tensor;
    this.requestedBytes = requestedBytes;
    this.usedBytes = usedBytes;
    this.capacityBytes = capacityBytes;
    this.overBytes = overBytes;
  }
}

/** Code `WEIGHTS_MISMATCH`: weights of that name are loaded there with another size. */
export class WeightsMismatchError extends GmgError {
  constructor(accelerator: Where, weights: string, loadedBytes: number, bytes: number) {
    super(
      "WEIGHTS_MISMATCH",
      `${accelerator.name}: weights ${JSON.stringify(weights)} are loaded with ${loadedBytes} bytes, asked for ${bytes}; different weights need different names`,
      { accelerator: accelerator.index, weights, loadedBytes, bytes },
    );
  }
}

/** Code `LEDGER_STATE_INVALID`: a saved ledger is foreign, of another version or contradicts itself. */
export class LedgerStateInvalidError extends ValidationError {
  constructor(faults: readonly Fault[]) {
    super("LEDGER_STATE_INVALID", "saved ledger", faults);
  }
}

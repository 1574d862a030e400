import type { CompiledAccelerator } from "@slicescheduler/gmg";

export interface Copy {
  readonly tensor: number;
  /** Null while it is only expected. */
  buffer: { bytes: number } | null;
  present: boolean;
  held: boolean;
}

/** The memory of one accelerator as a list of copies, added up whenever it is asked. */
export class PlainMemory {
  copies: Copy[] = [];
  workspaceBytes = 0;
  readonly weights = new Map<string, number>();
  readonly #accelerator: CompiledAccelerator;

  constructor(accelerator: CompiledAccelerator) {
    this.#accelerator = accelerator;
  }

  find(tensor: number): Copy | undefined {
    return this.copies.find((copy) => copy.tensor === tensor);
  }

  expect(tensor: number): void {
    this.copies.push({ tensor, buffer: null, present: false, held: true });
  }

  forget(tensor: number): void {
    this.copies = this.copies.filter((copy) => copy.tensor !== tensor);
  }

  /** Returns false, and takes nothing, when it does not fit. */
  allocate(tensor: number, bytes: number, aliases: number | null): boolean {
    const copy = this.find(tensor);
    const shared = aliases === null ? null : (this.find(aliases)?.buffer ?? null);
    const buffer = shared ?? { bytes: 0 };
    const more = Math.max(this.rounded(bytes) - buffer.bytes, 0);
    if (copy === undefined || !this.fits(more)) return false;
    buffer.bytes += more;
    copy.buffer = buffer;
    return true;
  }

  fits(bytes: number): boolean {
    const buffers = new Set(this.copies.map(({ buffer }) => buffer));
    let usedBytes = this.#accelerator.baselineBytes + this.rounded(this.workspaceBytes);
    for (const buffer of buffers) usedBytes += buffer?.bytes ?? 0;
    for (const weightBytes of this.weights.values()) usedBytes += this.rounded(weightBytes);
    return usedBytes + this.rounded(bytes) <= this.#accelerator.capacityBytes;
  }

  rounded(bytes: number): number {
    const { granularityBytes } = this.#accelerator;
    return Math.ceil(bytes / granularityBytes) * granularityBytes;
  }
}

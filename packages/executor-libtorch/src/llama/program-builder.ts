import { type Dtype, dtypeBytes } from "@slicescheduler/templates";
import type { Argument, Call, Program } from "../programs/types.ts";
import { largest, Size } from "./size.ts";

/** A number of elements along a dimension, or an index: a number, a symbol, or what is made of them. */
export type Extent = number | string | Size;

/** A tensor within a program under construction. */
export interface Value {
  readonly argument: Argument;
  readonly shape: readonly Extent[];
  readonly dtype: Dtype;
  /** The memory that it lies in: itself, or what it is a view of. */
  readonly storage: Storage;
}

interface Storage {
  /** Of memory that the program allocates; null for inputs, weights and feeds. */
  readonly bytes: Size | null;
  readonly bornAt: number;
  lastUsedAt: number;
}

/** What a call is given: tensors, extents as numbers of the schema's kind, plain values. */
export type Operand = Value | Size | Argument | readonly Operand[];

export interface BuiltProgram {
  readonly program: Program;
  /** The most bytes that it has allocated at a time beyond its outputs, as an expression over the template's symbols. */
  readonly workspaceBytes: string;
}

/** Numbers that a call takes in place of tensors are wrapped into tensors of one element while it runs. */
const WRAPPED_NUMBERS_BYTES = 128;

/**
 * Writes a program call by call and keeps account of the memory that it takes, so that what is declared follows from the program itself. It is true as
 * long as each call allocates its result and nothing else, and results are dropped after their last use.
 */
export class ProgramBuilder {
  readonly #calls: Call[] = [];
  readonly #storages: Storage[] = [];
  #names = 0;

  input(index: number, shape: readonly Extent[], dtype: Dtype): Value {
    return { argument: { input: index }, shape, dtype, storage: this.#foreign() };
  }

  weight(name: string, shape: readonly Extent[], dtype: Dtype): Value {
    return { argument: { weight: name }, shape, dtype, storage: this.#foreign() };
  }

  /** Host data given for the instance: an external of the template, whose bytes are accounted there. */
  feed(name: string, shape: readonly Extent[], dtype: Dtype): Value {
    const result = this.#nextName();
    this.#calls.push({ feed: name, results: [result] });
    return { argument: { value: result }, shape, dtype, storage: this.#foreign() };
  }

  /** A call whose result is a new tensor. */
  fresh(
    op: string,
    operands: readonly Operand[],
    { shape, dtype }: { readonly shape: readonly Extent[]; readonly dtype: Dtype },
    kwargs: Readonly<Record<string, Argument>> = {},
  ): Value {
    const result = this.#nextName();
    const bytes = Size.product(shape).times(dtypeBytes(dtype));
    const storage: Storage = { bytes, bornAt: this.#calls.length, lastUsedAt: this.#calls.length };
    this.#storages.push(storage);
    this.#call(op, operands, [result], kwargs);
    return { argument: { value: result }, shape, dtype, storage };
  }

  /** A call whose result is a view of its first operand. */
  view(op: string, of: Value, operands: readonly Operand[], shape: readonly Extent[]): Value {
    const result = this.#nextName();
    this.#call(op, [of, ...operands], [result], {});
    return { argument: { value: result }, shape, dtype: of.dtype, storage: of.storage };
  }

  /** A call that writes into its first operand. */
  inPlace(
    op: string,
    target: Value,
    operands: readonly Operand[],
    kwargs: Readonly<Record<string, Argument>> = {},
  ): void {
    this.#call(op, [target, ...operands], [null], kwargs);
  }

  /** Hands a tensor out to the host. */
  fetch(name: string, value: Value): void {
    value.storage.lastUsedAt = this.#calls.length;
    this.#calls.push({ fetch: name, args: [value.argument] });
  }

  /** @param outputs One for each declared output, in declared order. */
  finish(outputs: readonly Value[]): BuiltProgram {
    for (const { storage } of outputs) storage.lastUsedAt = this.#calls.length;
    const kept = new Set(outputs.map(({ storage }) => storage));
    const beyond = this.#calls.map((_, at) => {
      const alive = this.#storages.filter((it) => !kept.has(it) && it.bornAt <= at && at <= it.lastUsedAt);
      return alive.reduce((sum, { bytes }) => sum.plus(bytes ?? 0), Size.of(WRAPPED_NUMBERS_BYTES));
    });
    return {
      program: { calls: this.#calls, outputs: outputs.map(({ argument }) => argument) },
      workspaceBytes: largest(beyond),
    };
  }

  #call(
    op: string,
    operands: readonly Operand[],
    results: readonly (string | null)[],
    kwargs: Readonly<Record<string, Argument>>,
  ): void {
    const at = this.#calls.length;
    const argumentOf = (operand: Operand): Argument => {
      if (operand instanceof Size) return operand.constant ?? { symbol: `${operand}` };
      if (isList(operand)) return operand.map(argumentOf);
      if (!isValue(operand)) return operand;
      operand.storage.lastUsedAt = at;
      return operand.argument;
    };
    const args = operands.map(argumentOf);
    this.#calls.push({ op, args, results, ...(Object.keys(kwargs).length === 0 ? {} : { kwargs }) });
  }

  #foreign(): Storage {
    return { bytes: null, bornAt: 0, lastUsedAt: 0 };
  }

  #nextName(): string {
    return `t${this.#names++}`;
  }
}

function isList(operand: Operand): operand is readonly Operand[] {
  return Array.isArray(operand);
}

function isValue(operand: Operand): operand is Value {
  return typeof operand === "object" && operand !== null && "storage" in operand;
}

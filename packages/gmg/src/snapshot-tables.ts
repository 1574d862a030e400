/** The compact parts that a snapshot is made of, in both directions. */
import type { LedgerState } from "@slicescheduler/memory";
import type { Cluster, Template } from "@slicescheduler/templates";
import type { Columns, LedgerRow, Runs, SymbolRow } from "./snapshot.ts";

/** Field by field; the fields are named, since there may be no row. */
export function toColumns<Row extends object>(fields: readonly (keyof Row)[], rows: readonly Row[]): Columns<Row> {
  return Object.fromEntries(fields.map((field) => [field, rows.map((row) => row[field])])) as unknown as Columns<Row>;
}

export function toRuns(numbers: Iterable<number>): Runs {
  const runs: number[] = [];
  let next = Number.NaN;
  for (const number of numbers) {
    if (number === next) runs[runs.length - 1] = (runs[runs.length - 1] as number) + 1;
    else runs.push(number, 1);
    next = number + 1;
  }
  return runs;
}

/** Gives equal things one position. */
class Distinct<Item> {
  readonly list: Item[] = [];
  readonly #positions = new Map<string, number>();

  positionOf(item: Item): number {
    const key = JSON.stringify(item);
    const known = this.#positions.get(key);
    if (known !== undefined) return known;
    const position = this.list.push(item) - 1;
    this.#positions.set(key, position);
    return position;
  }
}

export class PartitionLists extends Distinct<readonly string[]> {
  /** −1 for null. */
  of(names: readonly string[] | null): number {
    return names === null ? -1 : this.positionOf([...names]);
  }
}

export class ByteVectors extends Distinct<readonly number[]> {
  /** One vector is often asked for several times: what an instance needs is as a rule what it was granted. */
  readonly #seen = new WeakMap<Float64Array, number>();

  /** −1 for null. Only for vectors that do not change while the snapshot is made. */
  of(bytes: Float64Array | null): number {
    if (bytes === null) return -1;
    const seen = this.#seen.get(bytes);
    if (seen !== undefined) return seen;
    const sparse: number[] = [];
    for (let a = 0; a < bytes.length; a++) if (bytes[a] !== 0) sparse.push(a, bytes[a] as number);
    const position = this.positionOf(sparse);
    this.#seen.set(bytes, position);
    return position;
  }
}

export function symbolRow(template: Template, symbols: Readonly<Record<string, number | undefined>>): SymbolRow {
  return template.symbols.map((name) => (Object.hasOwn(symbols, name) ? (symbols[name] ?? null) : null));
}

/** Own keys only, so that a symbol may be called `__proto__`. */
export function symbolsOf(template: Template, row: SymbolRow): Readonly<Record<string, number>> {
  const given = template.symbols.map((name, i) => [name, row[i] ?? null] as const);
  return Object.fromEntries(given.filter((entry): entry is readonly [string, number] => entry[1] !== null));
}

const COPY_FIELDS = ["tensor", "bytes", "present", "held", "uses", "sends"] as const;

export function packLedger({ accelerators }: LedgerState): LedgerRow[] {
  return accelerators.map(({ peakBytes, workspaceBytes, weights, buffers, copies }) => ({
    peakBytes,
    workspaceBytes,
    weights: weights.map(({ name, bytes }) => [name, bytes] as const),
    buffers: buffers.map(({ bytes, tensors }) => [bytes, ...tensors]),
    copies: toColumns(
      COPY_FIELDS,
      copies.map((copy) => ({ ...copy, present: toFlag(copy.present), held: toFlag(copy.held) })),
    ),
  }));
}

export function unpackLedger(rows: readonly LedgerRow[], { accelerators }: Cluster): LedgerState {
  return {
    format: "slicescheduler.ledger",
    version: 1,
    accelerators: accelerators.map(({ index, name, capacityBytes, baselineBytes, granularityBytes }) => {
      const { peakBytes, workspaceBytes, weights, buffers, copies } = rows[index] as LedgerRow;
      return {
        ...{ name, capacityBytes, baselineBytes, granularityBytes, peakBytes, workspaceBytes },
        weights: weights.map(([weight, bytes]) => ({ name: weight, bytes })),
        buffers: buffers.map(([bytes, ...tensors]) => ({ bytes: bytes ?? -1, tensors })),
        copies: copies.tensor.map((tensor, i) => ({
          tensor,
          bytes: copies.bytes[i] as number,
          present: copies.present[i] === 1,
          uses: copies.uses[i] as number,
          sends: copies.sends[i] as number,
          held: copies.held[i] === 1,
        })),
      };
    }),
  };
}

export function toFlag(value: boolean): 0 | 1 {
  return value ? 1 : 0;
}

/** The numbers of runs; more than `most` of them are refused before they take memory. */
export function fromRuns(runs: Runs, most: number): number[] | null {
  const numbers: number[] = [];
  for (let i = 0; i < runs.length; i += 2) {
    const count = runs[i + 1] ?? 0;
    if (count === 0 || count > most - numbers.length) return null;
    for (let k = 0; k < count; k++) numbers.push((runs[i] as number) + k);
  }
  return numbers;
}

/** Vectors at their full length, each made when it is first asked for and shared: nobody may change one. */
export class ByteVectorReader {
  readonly #sparse: readonly (readonly number[])[];
  readonly #accelerators: number;
  readonly #made: Float64Array[] = [];

  constructor(sparse: readonly (readonly number[])[], accelerators: number) {
    this.#sparse = sparse;
    this.#accelerators = accelerators;
  }

  at(position: number): Float64Array {
    const made = this.#made[position];
    if (made !== undefined) return made;
    const bytes = new Float64Array(this.#accelerators);
    const sparse = this.#sparse[position] ?? [];
    for (let i = 0; i < sparse.length; i += 2) bytes[sparse[i] as number] = sparse[i + 1] as number;
    this.#made[position] = bytes;
    return bytes;
  }

  /** Null at −1. */
  orNull(position: number): Float64Array | null {
    return position < 0 ? null : this.at(position);
  }
}

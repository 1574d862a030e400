/** Checks the form of values that came from outside without copying them, so that a table of a million cells is read once. */
import { at, describe, type Faults } from "@slicescheduler/templates/validation";
import type { Columns } from "./snapshot.ts";

export interface Cell<T> {
  readonly is: (value: unknown) => value is T;
  /** `must be …` */
  readonly what: string;
}

export function whole(min: number, max = Number.MAX_SAFE_INTEGER): Cell<number> {
  return {
    is: (value): value is number =>
      typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max,
    what: `a whole number from ${min} to ${max === Number.MAX_SAFE_INTEGER ? "2^53 − 1" : max}`,
  };
}

export const NUMBER_FROM_ZERO: Cell<number> = {
  is: (value): value is number => typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY,
  what: "a finite number from 0",
};

/** Nanoseconds, or −1 for what has not happened. */
export const TIME: Cell<number> = {
  is: (value): value is number => typeof value === "number" && Number.isFinite(value),
  what: "a finite number of nanoseconds",
};

export const TEXT: Cell<string> = { is: (value) => typeof value === "string", what: "a text" };

export const FLAG: Cell<0 | 1> = { is: (value) => value === 0 || value === 1, what: "0 or 1" };

export function oneOf<T extends string>(known: readonly T[]): Cell<T> {
  const set: ReadonlySet<unknown> = new Set(known);
  return { is: (value): value is T => set.has(value), what: `one of ${known.join(", ")}` };
}

export function orNull<T>(cell: Cell<T>): Cell<T | null> {
  return { is: (value): value is T | null => value === null || cell.is(value), what: `${cell.what}, or null` };
}

export function listOf<T>(cell: Cell<T>): Cell<readonly T[]> {
  return {
    // Not `every`, which passes over holes.
    is: (value): value is readonly T[] => {
      if (!Array.isArray(value)) return false;
      for (let i = 0; i < value.length; i++) if (!cell.is(value[i])) return false;
      return true;
    },
    what: `a list, each ${cell.what}`,
  };
}

/** Whether it is a list of so many, each as its cell says. */
export function isTuple(value: unknown, cells: readonly Cell<unknown>[]): boolean {
  return Array.isArray(value) && value.length === cells.length && cells.every((cell, i) => cell.is(value[i]));
}

/** Adds a fault for each cell that is not as it must be. Returns whether there was none. */
export function checkList<T>(faults: Faults, value: unknown, path: string, cell: Cell<T>): value is readonly T[] {
  const before = faults.count;
  const list = faults.array(value, path);
  for (let i = 0; i < list.length; i++) {
    if (!cell.is(list[i])) faults.add(`${path}[${i}]`, `must be ${cell.what}, is ${describe(list[i])}`);
  }
  return faults.count === before;
}

/** A table has exactly these columns, of one length. Returns that length. */
export function checkColumns<Row extends object>(
  faults: Faults,
  value: unknown,
  path: string,
  cells: { readonly [Field in keyof Row]: Cell<Row[Field]> },
): number {
  const fields = Object.keys(cells) as (keyof Row & string)[];
  const table = faults.record(value, path, fields) as Partial<Columns<Row>>;
  let length = -1;
  for (const field of fields) {
    const column: unknown = table[field];
    if (!checkList(faults, column, at(path, field), cells[field] as Cell<unknown>)) continue;
    if (length < 0) length = column.length;
    if (column.length !== length) faults.add(at(path, field), `has ${column.length} entries, others have ${length}`);
  }
  return Math.max(length, 0);
}

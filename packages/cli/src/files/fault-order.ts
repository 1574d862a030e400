import type { FileFault } from "../errors.ts";

const faultsMax = 100;

/** By place, and no more than one reads. */
export function inOrder(faults: readonly FileFault[]): FileFault[] {
  const sorted = [...faults].sort((a, b) => a.line - b.line || a.column - b.column);
  const next = sorted[faultsMax];
  if (next === undefined) return sorted;
  const message = `and ${sorted.length - faultsMax} more faults from here on`;
  return [...sorted.slice(0, faultsMax), { ...next, path: "", message }];
}

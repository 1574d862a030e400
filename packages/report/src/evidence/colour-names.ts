import { type ColourNames, namedColours } from "../shared/blocks.ts";
import type { Run } from "./run.ts";
import { endOf } from "./timeline-order.ts";

/** Tenants and operators that took the most time in all runs together, by name where they took the same. */
export function colourNames(runs: readonly Run[]): ColourNames {
  const tenants = new Map<string, number>();
  const names = new Map<string, number>();
  const add = (to: Map<string, number>, name: string, ns: number): void => void to.set(name, (to.get(name) ?? 0) + ns);
  for (const { record, tenantOf } of runs) {
    const { operators, operatorNames } = record;
    for (let row = 0; row < operators.count; row++) {
      const ns = endOf(record, row) - (operators.startNs[row] ?? 0);
      add(tenants, tenantOf(row), ns);
      add(names, operatorNames[operators.name[row] ?? -1] ?? "", ns);
    }
  }
  return { tenants: longest(tenants), operators: longest(names) };
}

/** In the order of their names, so that `tenant 0` has the first colour. */
function longest(byName: ReadonlyMap<string, number>): string[] {
  const ranked = [...byName].sort(([a, aNs], [b, bNs]) => bNs - aNs || (a < b ? -1 : 1));
  return ranked
    .slice(0, namedColours)
    .map(([name]) => name)
    .sort((a, b) => (a < b ? -1 : 1));
}

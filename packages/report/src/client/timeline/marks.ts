/** When accelerators were away. */
import type { NoticeMeta } from "../../shared/blocks.ts";

export interface Absence {
  readonly accelerator: number;
  readonly fromNs: number;
  readonly toNs: number;
}

/** From each loss to the return, or to the end of the run. */
export function absences(notices: readonly NoticeMeta[], endNs: number): Absence[] {
  const found: Absence[] = [];
  const since = new Map<number, number>();
  for (const { kind, accelerator, atNs } of notices) {
    if (kind === "acceleratorLost" && !since.has(accelerator)) since.set(accelerator, atNs);
    const fromNs = since.get(accelerator);
    if (kind !== "acceleratorReturned" || fromNs === undefined) continue;
    since.delete(accelerator);
    found.push({ accelerator, fromNs, toNs: atNs });
  }
  return [...found, ...[...since].map(([accelerator, fromNs]) => ({ accelerator, fromNs, toNs: endNs }))];
}

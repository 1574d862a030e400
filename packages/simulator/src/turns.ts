/**
 * When the arbiter's order may change through time alone: an intent's effective rank falls with each `agingNs` it waits, and
 * from `reserveNs` on it reserves its ports. Then a selection gives another result than the last one although no port was freed,
 * and which event brings it about matters, also one that has nothing to do with the intent. Between two such *turns* a further
 * selection changes nothing.
 */
import { NOW, type Run, TURNS } from "./run.ts";

/** An intent is about to be added: `clock[TURNS]` is a lower bound of the next turn of all that are pending. */
export function noteRaised(run: Run, node: number, sinceNs: number): void {
  const { clock, planned } = run;
  run.sinceNs[node] = sinceNs;
  const { intents } = planned;
  const turnNs = nextTurnNs(sinceNs, clock[NOW] as number, intents.agingNs, intents.reserveNs);
  if (intents.size === 0 || turnNs < (clock[TURNS] as number)) clock[TURNS] = turnNs;
}

/** The first `count` of the selected go now; one of them may have turned while it waited. */
export function noteSelected(run: Run, count: number): void {
  const { beginNs, intents } = run.planned;
  const nowNs = run.nowNs;
  for (let at = 0; at < count; at++) {
    const sinceNs = run.sinceNs[intents.selected[at] as number] as number;
    if (nextTurnNs(sinceNs, Math.max(sinceNs, beginNs), intents.agingNs, intents.reserveNs) <= nowNs) run.turned = true;
  }
}

/** The first turn after `afterNs`. With `reserveNs` 0 an intent reserves from the start, which is no turn. */
function nextTurnNs(sinceNs: number, afterNs: number, agingNs: number, reserveNs: number): number {
  const waitedNs = afterNs - sinceNs;
  const agesNs = sinceNs + (waitedNs < agingNs ? agingNs : (Math.floor(waitedNs / agingNs) + 1) * agingNs);
  return waitedNs < reserveNs ? Math.min(agesNs, sinceNs + reserveNs) : agesNs;
}

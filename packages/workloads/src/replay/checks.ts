import { type CheckFailure, ReplayCheckError } from "../errors.ts";
import type { ReplayOutcome } from "./outcome.ts";

/** Accelerators whose HBM ever held more than it may. */
export function overCapacity(outcome: ReplayOutcome): number {
  return outcome.accelerators.filter((a) => a.peakHbmBytes > a.capacityBytes).length;
}

/** All that must hold at the end of a replay and does not, with the numbers. */
export function replayFailures(outcome: ReplayOutcome): CheckFailure[] {
  const failures = [...outcome.audit];
  const fail = (check: string, detail: string): void => {
    failures.push({ check, detail });
  };
  for (const a of outcome.accelerators) {
    if (a.peakHbmBytes > a.capacityBytes) {
      fail("HBM within capacity", `${a.name} held ${a.peakHbmBytes} B of ${a.capacityBytes} B`);
    }
    if (a.usedBytesAtEnd !== a.fixedBytes) {
      const extra = a.usedBytesAtEnd - a.fixedBytes;
      fail(
        "nothing resident but weights",
        `${a.name} holds ${extra} B beyond its ${a.fixedBytes} B of weights and baseline`,
      );
    }
  }
  if (outcome.leftInGraph > 0) fail("nothing left in the graph", `${outcome.leftInGraph} node(s) remain`);
  if (outcome.standstills > 0) fail("no standstill", `${outcome.standstills} operator(s) wait with nothing under way`);
  checkRequests(outcome, fail);
  return failures;
}

function checkRequests(outcome: ReplayOutcome, fail: (check: string, detail: string) => void): void {
  for (const record of outcome.records) {
    const { id, outcome: state, tokens, request } = record;
    const who = `${record.class} request ${id}`;
    if (state === "completed") {
      if (tokens !== request.outputTokens) {
        fail("all requests accounted", `${who} completed with ${tokens} of ${request.outputTokens} tokens`);
      }
      if (record.firstTokenNs === null || record.firstTokenNs < request.arrivalNs) {
        fail(
          "time goes forward",
          `${who} has its first token at ${record.firstTokenNs} ns, arrival ${request.arrivalNs} ns`,
        );
      }
    } else if (state !== "dropped" || record.class === "online") {
      fail("all requests accounted", `${who} ended as ${state} after ${tokens} of ${request.outputTokens} tokens`);
    }
  }
  const offline = outcome.records.filter((record) => record.class === "offline").length;
  if (offline !== outcome.offlineOffered) {
    fail("all requests accounted", `${offline} of ${outcome.offlineOffered} offline requests have a record`);
  }
}

/** Throws REPLAY_CHECK_FAILED with every failure when the replay broke an invariant. */
export function assertReplaySound(outcome: ReplayOutcome): void {
  const failures = replayFailures(outcome);
  if (failures.length > 0) throw new ReplayCheckError(outcome.policy, failures);
}

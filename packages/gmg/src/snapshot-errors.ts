import { type Fault, GmgError, ValidationError } from "@slicescheduler/templates";
import type { GraphEffects } from "./graph-state.ts";

/** Code `GRAPH_STATE_INVALID`: a saved graph is foreign, of another version, truncated or contradicts itself. */
export class GraphStateInvalidError extends ValidationError {
  constructor(faults: readonly Fault[]) {
    super("GRAPH_STATE_INVALID", "saved graph", faults);
  }
}

/** Code `EFFECTS_PENDING`: what changes ask of executors and listeners was not taken, and would be lost in a snapshot. */
export class EffectsPendingError extends GmgError {
  constructor({ releases, holds, withdrawals, reranks, transferReranks, settled }: GraphEffects) {
    super(
      "EFFECTS_PENDING",
      `a snapshot does not carry effects, and ${releases.length} releases, ${holds.length} holds, ${withdrawals.length} withdrawals, ` +
        `${reranks.length + transferReranks.length} reranks and ${settled.length} settled instances were not taken; call takeEffects() and act on them first`,
      {
        releases: releases.length,
        holds: holds.length,
        withdrawals: withdrawals.length,
        reranks: reranks.length + transferReranks.length,
        settled: settled.length,
      },
    );
  }
}

import type { PresentWork } from "./adopt.ts";
import type { ExecutorInstruction } from "./types.ts";

type ProbeOrGiveUp = Extract<ExecutorInstruction, { readonly type: "probe" | "giveUp" }>;

export interface ExecutorCoreOptions {
  /** Called for each copy that is freed or will never be written, while a call of the core is still at work. */
  readonly onFreed?: (tensor: number, accelerator: number) => void;
  /**
   * Called while a call of the core is still at work: for a probe, to see whether its device answers; for an accelerator that was given
   * up, to stop what was under way there and make it ready again. Needed by a backend whose manifest says `probes`.
   */
  readonly onAsked?: (asked: ProbeOrGiveUp, lost: LostWork | null) => void;
  /** Called for each instruction that was not refused, carried out or ignored, before the next one is looked at: for a twin of the core. */
  readonly onTaken?: (instruction: ExecutorInstruction) => void;
  /** Go on from here at this time, in place of an executor that had it. Default: nothing is there. */
  readonly present?: { readonly work: PresentWork; readonly nowNs: number };
}

/** What was under way when an accelerator was lost. The backend stops it, or lets its end come: that will be ignored. */
export interface LostWork {
  /** Issue numbers. One whose start `next` has not given yet is never started. */
  readonly operators: readonly number[];
  /** Those that were sending, from and to the accelerator; likewise. */
  readonly transfers: readonly number[];
}

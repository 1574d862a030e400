import type { ExecutorCore, ExecutorInstruction, IssueInstruction } from "@slicescheduler/executor";

type Recv = Extract<ExecutorInstruction, { type: "activateRecv" }>;

/**
 * A planted fault: an executor that lets operators and receive buffers that do not fit wait until they do, as if memory had not to be
 * reserved beforehand. It knows no buffers that continue each other.
 */
export class PatientQueue {
  /** Receive buffers, in the order in which they were asked for. */
  readonly waiting: Recv[] = [];
  readonly #core: ExecutorCore;
  readonly #issues = new Map<number, IssueInstruction>();

  constructor(core: ExecutorCore) {
    this.#core = core;
  }

  /** What of the instructions is carried out now; operators are not allowed to run yet. */
  heldBack(instructions: readonly ExecutorInstruction[]): ExecutorInstruction[] {
    return instructions.flatMap((it): ExecutorInstruction[] => {
      if (it.type === "activateRecv") this.waiting.push(it);
      if (it.type !== "issue") return it.type === "activateRecv" ? [] : [it];
      this.#issues.set(it.issueNumber, it);
      return [{ ...it, activated: false }];
    });
  }

  /** Something that fits by now; null when there is nothing. */
  next(): ExecutorInstruction | null {
    for (const [at, recv] of this.waiting.entries()) {
      if (!this.#core.ledger.fits(recv.destination, recv.bytes)) continue;
      this.waiting.splice(at, 1);
      return recv;
    }
    const { operators } = this.#core.leftovers();
    const isBusy = (accelerator: number) =>
      operators.some((other) => other.accelerator === accelerator && other.state === "running");
    for (const { issueNumber, accelerator, state } of operators) {
      const issue = this.#issues.get(issueNumber);
      if (issue === undefined || state !== "ready" || isBusy(accelerator)) continue;
      const bytes = issue.outputs.reduce((sum, output) => sum + output.bytes, issue.workspaceBytes);
      if (this.#core.ledger.fits(accelerator, bytes)) return { type: "activate", issueNumber };
    }
    return null;
  }
}

import type { IssueInstruction } from "@slicescheduler/executor";
import type { NativeEngine, NativeFetched } from "../native/addon.ts";
import type { LibtorchExecutorOptions } from "../options.ts";
import { fromNative } from "../programs/host-tensor.ts";
import type { Measured } from "./twin.ts";

interface Done {
  readonly issue: IssueInstruction;
  readonly fetched: number;
  readonly measured: Measured | null;
}

type Listeners = Pick<LibtorchExecutorOptions, "onFetched" | "onObserved">;

/** What operators that are done handed out and took, until their ends are reported. */
export class Reports {
  readonly #listeners: Listeners;
  readonly #nameOf: (template: string, operator: number) => string;
  readonly #done = new Map<number, Done>();
  readonly #fetched = new Map<number, NativeFetched[]>();

  constructor(listeners: Listeners, nameOf: (template: string, operator: number) => string) {
    this.#listeners = listeners;
    this.#nameOf = nameOf;
  }

  /** An operator is done. Keeps nothing that nobody wants to hear. */
  add(issue: IssueInstruction, fetched: number, measured: () => Measured): void {
    const isObserved = this.#listeners.onObserved !== undefined;
    if (fetched === 0 && !isObserved) return;
    this.#done.set(issue.issueNumber, { issue, fetched, measured: isObserved ? measured() : null });
  }

  /** Its end is about to be reported. */
  tell(issueNumber: number, engine: NativeEngine): void {
    const done = this.#done.get(issueNumber);
    if (done === undefined) return;
    this.#done.delete(issueNumber);
    const { issue, fetched, measured } = done;
    const { instance, template, accelerator } = issue;
    const { onFetched, onObserved } = this.#listeners;
    const operator = this.#nameOf(template, issue.operator);
    for (const each of fetched === 0 ? [] : this.#take(issueNumber, engine))
      onFetched?.({ instance, template, operator, issueNumber, name: each.name, ...fromNative(each) });
    if (measured === null) return;
    const { observedNs: durationNs, ...bytes } = measured;
    onObserved?.({ issueNumber, instance, template, operator, accelerator, durationNs, ...bytes });
  }

  clear(): void {
    this.#done.clear();
    this.#fetched.clear();
  }

  #take(issueNumber: number, engine: NativeEngine): readonly NativeFetched[] {
    for (const each of engine.takeFetched() ?? []) {
      const others = this.#fetched.get(each.issueNumber);
      if (others === undefined) this.#fetched.set(each.issueNumber, [each]);
      else others.push(each);
    }
    const fetched = this.#fetched.get(issueNumber) ?? [];
    this.#fetched.delete(issueNumber);
    return fetched;
  }
}

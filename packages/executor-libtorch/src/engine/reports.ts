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

type Fetches = Pick<NativeEngine, "takeFetched">;
type Listeners = Pick<LibtorchExecutorOptions, "onFetched" | "onObserved">;

/** What operators that are done handed out and took, until their ends are reported. */
export class Reports {
  readonly #listeners: Listeners;
  readonly #nameOf: (template: string, operator: number) => string;
  readonly #onThrown: (error: unknown) => void;
  readonly #done = new Map<number, Done>();
  readonly #fetched = new Map<number, NativeFetched[]>();

  /** `onThrown` is given what listeners throw, and why a tensor cannot be handed out. */
  constructor(
    listeners: Listeners,
    nameOf: (template: string, operator: number) => string,
    onThrown: (error: unknown) => void,
  ) {
    this.#listeners = listeners;
    this.#nameOf = nameOf;
    this.#onThrown = onThrown;
  }

  /** An operator is done. Keeps nothing that nobody wants to hear. */
  add(issue: IssueInstruction, fetched: number, measured: () => Measured): void {
    const isObserved = this.#listeners.onObserved !== undefined;
    if (fetched === 0 && !isObserved) return;
    this.#done.set(issue.issueNumber, { issue, fetched, measured: isObserved ? measured() : null });
  }

  /** Its end is about to be reported. Each listener is told of everything, whatever became of the telling before. Throws nothing. */
  tell(issueNumber: number, engine: Fetches): void {
    const done = this.#done.get(issueNumber);
    if (done === undefined) return;
    this.#done.delete(issueNumber);
    const { issue, fetched, measured } = done;
    const { instance, template, accelerator } = issue;
    const { onFetched, onObserved } = this.#listeners;
    const operator = this.#nameOf(template, issue.operator);
    for (const each of fetched === 0 ? [] : this.#take(issueNumber, engine))
      this.#guarded(() =>
        onFetched?.({ instance, template, operator, issueNumber, name: each.name, ...fromNative(each) }),
      );
    if (measured === null) return;
    const { observedNs: durationNs, ...bytes } = measured;
    this.#guarded(() => onObserved?.({ issueNumber, instance, template, operator, accelerator, durationNs, ...bytes }));
  }

  clear(): void {
    this.#done.clear();
    this.#fetched.clear();
  }

  #take(issueNumber: number, engine: Fetches): readonly NativeFetched[] {
    this.#guarded(() => this.#sort(engine.takeFetched() ?? []));
    const fetched = this.#fetched.get(issueNumber) ?? [];
    this.#fetched.delete(issueNumber);
    return fetched;
  }

  #sort(fetched: readonly NativeFetched[]): void {
    for (const each of fetched) {
      const others = this.#fetched.get(each.issueNumber);
      if (others === undefined) this.#fetched.set(each.issueNumber, [each]);
      else others.push(each);
    }
  }

  #guarded(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#onThrown(error);
    }
  }
}

import { EventEmitter } from "eventemitter3";

type Listener<Value> = (value: Value) => void;

/**
 * Typed events whose listeners are kept apart: what one throws goes to `onError` and the others are called all the same.
 * Subclasses emit; everybody may listen.
 */
export class GuardedEmitter<Events extends object> {
  readonly #emitter = new EventEmitter();
  readonly #onError: (error: unknown, event: string) => void;
  /** Per event: the function that is really registered; the listener is its `this`. */
  readonly #guards = new Map<string, (this: { listener: Listener<unknown> }, value: unknown) => void>();
  /** What is registered for a listener, so that it can be taken back. */
  readonly #contexts = new WeakMap<Listener<unknown>, { listener: Listener<unknown> }>();

  constructor(onError: (error: unknown, event: string) => void) {
    this.#onError = onError;
  }

  on<Name extends keyof Events & string>(event: Name, listener: Listener<Events[Name]>): this {
    this.#emitter.on(event, this.#guard(event), this.#context(listener));
    return this;
  }

  /** Called for the next such event only. */
  once<Name extends keyof Events & string>(event: Name, listener: Listener<Events[Name]>): this {
    this.#emitter.once(event, this.#guard(event), this.#context(listener));
    return this;
  }

  off<Name extends keyof Events & string>(event: Name, listener: Listener<Events[Name]>): this {
    this.#emitter.off(event, this.#guard(event), this.#context(listener));
    return this;
  }

  listenerCount(event: keyof Events & string): number {
    return this.#emitter.listenerCount(event);
  }

  removeAllListeners(event?: keyof Events & string): this {
    this.#emitter.removeAllListeners(event);
    return this;
  }

  protected emit<Name extends keyof Events & string>(event: Name, value: Events[Name]): void {
    this.#emitter.emit(event, value);
  }

  #guard(event: string): (this: { listener: Listener<unknown> }, value: unknown) => void {
    const known = this.#guards.get(event);
    if (known !== undefined) return known;
    const onError = this.#onError;
    const guard = function (this: { listener: Listener<unknown> }, value: unknown): void {
      const { listener } = this;
      try {
        listener(value);
      } catch (error) {
        onError(error, event);
      }
    };
    this.#guards.set(event, guard);
    return guard;
  }

  #context<Value>(listener: Listener<Value>): { listener: Listener<unknown> } {
    const key = listener as Listener<unknown>;
    const known = this.#contexts.get(key);
    if (known !== undefined) return known;
    const context = { listener: key };
    this.#contexts.set(key, context);
    return context;
  }
}

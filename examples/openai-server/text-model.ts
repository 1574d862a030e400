/** A model that is served: a request is a prefill and a chain of decode steps, whatever executes them. */
import type { TemplateSpec } from "@slicescheduler/gmg";
import type { InstanceHandle, RequestHandle, SliceScheduler, TemplateHandle } from "slicescheduler";

interface Opening {
  readonly priority: string;
  readonly label: string;
  readonly promptTokens: number;
  /** Tokens that the cache has room for: prompt and output. */
  readonly capacity: number;
  readonly queueTimeoutNs: number;
}

/** What the chain needs of a model. Instances have the outputs `kv`, which the next one continues, and `token`, which it reads. */
export interface TextModel {
  readonly id: string;
  /** Told to clients as `system_fingerprint`: what makes the tokens. */
  readonly fingerprint: string;
  /** Prompt and output together. */
  readonly contextTokens: number;
  readonly scheduler: SliceScheduler;
  open(opening: Opening): RequestHandle;
  prefill(request: RequestHandle, prompt: readonly number[], capacity: number, isLast: boolean): InstanceHandle;
  decode(
    request: RequestHandle,
    before: InstanceHandle,
    at: { past: number; capacity: number },
    isLast: boolean,
  ): InstanceHandle;
  /** What a finished instance has generated; asked once. */
  tokenOf(instance: InstanceHandle, prompt: readonly number[], index: number): number;
  /** Drops what is kept of an instance that was not finished. */
  forget(instance: InstanceHandle): void;
  close(): void;
}

/** What a chain of a prefill and decode steps asks of the scheduler, whatever executes it. */
export function chainOf(
  scheduler: SliceScheduler,
  prefill: TemplateHandle,
  decode: TemplateHandle<TemplateSpec<"past" | "capacity", "kv" | "token", "kv" | "token">>,
): Pick<TextModel, "open" | "decode"> {
  return {
    open: ({ promptTokens, capacity, ...options }) =>
      scheduler.openRequest({
        ...options,
        limits: [
          { template: prefill, symbols: { tokens: promptTokens, capacity } },
          { template: decode, symbols: { past: capacity - 1, capacity } },
        ],
      }),
    decode: (request, before, symbols, isLast) => {
      const inputs = { kv: before.output("kv"), token: before.output("token") };
      return scheduler.submit(decode, { request, symbols, inputs, retain: retained(isLast) });
    },
  };
}

/** What the next step reads. */
export function retained(isLast: boolean): readonly ("kv" | "token")[] {
  return isLast ? [] : ["kv", "token"];
}

export interface Generation {
  readonly prompt: readonly number[];
  /** At least 1. */
  readonly count: number;
  readonly priority: string;
  readonly label: string;
  readonly queueTimeoutNs: number;
  readonly signal: AbortSignal;
  /** False ends the generation. Called as soon as a token is known; it must not wait for anybody. */
  readonly onToken: (token: number) => boolean;
}

/**
 * Generates until `count` tokens are there, `onToken` has enough, or the signal aborts. While one step runs the next one is submitted already: its token comes
 * to it as a tensor, not by way of the host. Nothing of the request is left afterwards, however it ends.
 */
export async function generate(model: TextModel, generation: Generation): Promise<void> {
  const { prompt, count, priority, label, queueTimeoutNs, signal, onToken } = generation;
  signal.throwIfAborted();
  const capacity = prompt.length + count;
  const request = model.open({ priority, label, promptTokens: prompt.length, capacity, queueTimeoutNs });
  const underWay: InstanceHandle[] = [];
  const cancel = () => {
    for (const instance of [...underWay].reverse()) instance.cancel();
  };
  signal.addEventListener("abort", cancel);
  try {
    let last = model.prefill(request, prompt, capacity, count === 1);
    underWay.push(last);
    for (let index = 0; index < count; index++) {
      const next = index + 1;
      if (next < count) {
        const following = model.decode(request, last, { past: prompt.length + index, capacity }, next === count - 1);
        release(last);
        last = following;
        underWay.push(following);
      }
      const [first] = underWay as [InstanceHandle];
      await first.done;
      underWay.shift();
      if (!onToken(model.tokenOf(first, prompt, index))) return;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
    for (const instance of underWay) {
      release(instance);
      model.forget(instance);
    }
    request.close();
  }
}

function release(instance: InstanceHandle): void {
  for (const output of ["kv", "token"]) instance.release(output);
}

/** Greedy generation in tests: all steps of a request are submitted at once, each reads what the one before will have made. */
import type { InstanceHandle, SliceScheduler, TemplateHandle } from "slicescheduler";
import type { HostTensor } from "../programs/host-tensor.ts";
import type { LlamaModel } from "./model.ts";

export interface Feeder {
  feed(instance: number, name: string, tensor: HostTensor): void;
  unfeed(instance: number): void;
}

export interface Handles {
  readonly prefill: TemplateHandle<LlamaModel["prefill"]["template"]>;
  readonly extend: TemplateHandle<LlamaModel["extend"]["template"]>;
  readonly decode: TemplateHandle<LlamaModel["decode"]["template"]>;
}

export interface GenerateOptions {
  readonly prompt: readonly number[];
  readonly count: number;
  /** Longest piece of the prompt. Default: all of it. */
  readonly pieceTokensMax?: number;
  readonly priority?: string;
  readonly partitions?: readonly string[];
}

export function registerLlama(scheduler: SliceScheduler, model: LlamaModel): Handles {
  return {
    prefill: scheduler.register(model.prefill.template),
    extend: scheduler.register(model.extend.template),
    decode: scheduler.register(model.decode.template),
  };
}

/** The instances of the request that yield a token, in order, when all are done. */
export async function generate(
  scheduler: SliceScheduler,
  handles: Handles,
  feeder: Feeder,
  options: GenerateOptions,
): Promise<number[]> {
  const { prompt, count, pieceTokensMax = prompt.length, priority = "online", partitions } = options;
  const capacity = prompt.length + count;
  const request = scheduler.openRequest({ priority, ...(partitions === undefined ? {} : { partitions }) });
  const submitted: InstanceHandle[] = [];
  let before: InstanceHandle | undefined;
  for (let past = 0; past < prompt.length + count - 1; ) {
    const tokens = past < prompt.length ? Math.min(pieceTokensMax, prompt.length - past) : 1;
    const ids = BigInt64Array.from(prompt.slice(past, past + tokens), BigInt);
    const prepare = (instance: number) =>
      feeder.feed(instance, "prompt", { dtype: "int64", shape: [tokens], data: ids });
    const retain = ["kv", "token"] as const;
    const handle: InstanceHandle =
      before === undefined
        ? scheduler.submit(handles.prefill, { request, retain, prepare, symbols: { tokens, capacity } })
        : past < prompt.length
          ? scheduler.submit(handles.extend, {
              ...{ request, retain, prepare },
              symbols: { tokens, past, capacity },
              inputs: { kv: before.output("kv") },
            })
          : scheduler.submit(handles.decode, {
              ...{ request, retain, symbols: { past, capacity } },
              inputs: { kv: before.output("kv"), token: before.output("token") },
            });
    for (const name of retain) before?.release(name);
    submitted.push(handle);
    before = handle;
    past += tokens;
  }
  for (const name of ["kv", "token"] as const) before?.release(name);
  request.close();
  await Promise.all(submitted.map(({ done }) => done));
  for (const { id } of submitted) feeder.unfeed(id);
  return submitted.slice(-count).map(({ id }) => id);
}

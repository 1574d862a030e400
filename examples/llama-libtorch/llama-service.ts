/**
 * Greedy generation with a Llama-shaped model on LibTorch, by way of SliceScheduler: a request is a chain of instances, the prompt in one piece or several and
 * then a decode step per token. A token goes to the next step as a tensor; the host is told of it, but nobody waits for the host.
 */
import { libtorchExecutor } from "@slicescheduler/executor-libtorch";
import {
  defineLlama,
  type LlamaDecodeSpec,
  type LlamaExtendSpec,
  type LlamaPrefillSpec,
  type LlamaShape,
  llamaModel,
  llamaPartitions,
  seededLlamaWeights,
} from "@slicescheduler/executor-libtorch/llama";
import type { ClusterSpec } from "@slicescheduler/gmg";
import {
  InstanceCancelledError,
  type InstanceHandle,
  type RequestHandle,
  SliceScheduler,
  type SliceSchedulerOptions,
  type TemplateHandle,
} from "slicescheduler";

type LibtorchOptions = NonNullable<Parameters<typeof libtorchExecutor>[0]>;

export interface LlamaServiceOptions {
  readonly cluster: ClusterSpec;
  readonly shape: LlamaShape;
  readonly layersPerOperator: number;
  /** Accelerators per pipeline. Default 1, 2 and 4. */
  readonly partitionSizes?: readonly number[];
  /** Default: drawn from seed 1. */
  readonly weights?: ReturnType<typeof seededLlamaWeights>;
  readonly scheduling?: SliceSchedulerOptions["scheduling"];
  readonly executor?: Omit<LibtorchOptions, "onFetched">;
}

export interface Generation {
  readonly prompt: readonly number[];
  /** Tokens to generate, at least 1. */
  readonly count: number;
  readonly priority?: string;
  readonly label?: string;
  /** Names of partitions, see `llamaPartitions`. Default: all. */
  readonly partitions?: readonly string[];
  /** Longest piece of the prompt in one instance. Default: all of it. */
  readonly pieceTokensMax?: number;
  /** Instances submitted beyond the running one. Default 1. */
  readonly lookahead?: number;
  /** Gets each token as soon as the host knows it, and when its step was done, in nanoseconds of the executor's clock. */
  readonly onToken?: (token: number, atNs: number) => void;
}

/** One instance of the chain. */
interface Step {
  readonly tokens: number;
  readonly past: number;
  readonly yields: boolean;
}

export class LlamaService {
  readonly scheduler: SliceScheduler;
  readonly executor: ReturnType<typeof libtorchExecutor>;
  readonly #prefill: TemplateHandle<LlamaPrefillSpec>;
  readonly #extend: TemplateHandle<LlamaExtendSpec>;
  readonly #decode: TemplateHandle<LlamaDecodeSpec>;
  /** Of each instance under way its token, null until that is fetched. */
  readonly #fetched = new Map<number, number | null>();

  constructor(options: LlamaServiceOptions) {
    const { cluster, shape, layersPerOperator, partitionSizes, scheduling } = options;
    const names = cluster.accelerators.map(({ name }) => name);
    const partitions = llamaPartitions(names, shape.layers / layersPerOperator, partitionSizes);
    const model = llamaModel({ shape, layersPerOperator, partitions });
    this.executor = libtorchExecutor({
      ...options.executor,
      onFetched: ({ instance, name, data }) => {
        if (name === "token" && this.#fetched.has(instance)) this.#fetched.set(instance, Number(data[0]));
      },
    });
    defineLlama(this.executor, model, options.weights ?? seededLlamaWeights(shape, 1));
    this.scheduler = new SliceScheduler({
      cluster,
      executor: this.executor,
      ...(scheduling === undefined ? {} : { scheduling }),
    });
    this.#prefill = this.scheduler.register(model.prefill.template);
    this.#extend = this.scheduler.register(model.extend.template);
    this.#decode = this.scheduler.register(model.decode.template);
  }

  /** The tokens, when the last one is there. Rejects with what an instance failed of; nothing of the request is left then. */
  async generate(generation: Generation): Promise<number[]> {
    const { prompt, count, lookahead = 1, onToken } = generation;
    const capacity = prompt.length + count;
    const steps = stepsOf(generation);
    const request = this.#openRequest(generation, steps, capacity);
    const underWay: { readonly step: Step; readonly handle: InstanceHandle }[] = [];
    const tokens: number[] = [];
    let before: InstanceHandle | undefined;
    let next = 0;
    try {
      while (tokens.length < count) {
        for (let step = steps[next]; step !== undefined && underWay.length <= lookahead; step = steps[++next]) {
          const isLast = next === steps.length - 1;
          const handle = this.#submit(generation, request, step, { before, isLast, capacity });
          // The new instance keeps what it needs of the one before; nobody else does.
          before?.release("kv");
          before?.release("token");
          before = handle;
          underWay.push({ step, handle });
        }
        const [first] = underWay;
        if (first === undefined) throw new Error("nothing is under way, and tokens are missing");
        const { doneNs } = await first.handle.done;
        underWay.shift();
        const token = this.#tokenOf(first.handle.id);
        if (!first.step.yields) continue;
        tokens.push(token);
        onToken?.(token, doneNs);
      }
      return tokens;
    } catch (error) {
      for (const { handle } of underWay) {
        handle.cancel();
        this.#forget(handle.id);
      }
      throw await causeOf(underWay, error);
    } finally {
      request.close();
    }
  }

  close(): void {
    this.scheduler.close();
  }

  #openRequest(generation: Generation, steps: readonly Step[], capacity: number): RequestHandle {
    const { priority, label, partitions, lookahead = 1 } = generation;
    const most = (of: readonly Step[]) => ({
      tokens: Math.max(...of.map(({ tokens }) => tokens)),
      past: Math.max(...of.map(({ past }) => past)),
      capacity,
    });
    const [first] = steps;
    const pieces = steps.filter((step) => step !== first && this.#isPrompt(generation, step));
    const decodes = steps.filter((step) => !this.#isPrompt(generation, step));
    const { past: deepest } = decodes.length === 0 ? { past: 0 } : most(decodes);
    return this.scheduler.openRequest({
      ...(priority === undefined ? {} : { priority }),
      ...(label === undefined ? {} : { label }),
      ...(partitions === undefined ? {} : { partitions }),
      concurrentInstances: Math.max(2, lookahead + 1),
      limits: [
        { template: this.#prefill, symbols: { tokens: first?.tokens ?? 1, capacity } },
        ...(pieces.length === 0 ? [] : [{ template: this.#extend, symbols: most(pieces) }]),
        ...(decodes.length === 0 ? [] : [{ template: this.#decode, symbols: { past: deepest, capacity } }]),
      ],
    });
  }

  #isPrompt({ prompt }: Generation, { past }: Step): boolean {
    return past < prompt.length;
  }

  #submit(
    generation: Generation,
    request: RequestHandle,
    step: Step,
    { before, isLast, capacity }: { before: InstanceHandle | undefined; isLast: boolean; capacity: number },
  ): InstanceHandle {
    const { tokens, past } = step;
    const { label = "" } = generation;
    const common = { request, label, retain: isLast ? [] : (["kv", "token"] as const) };
    const ids = BigInt64Array.from(generation.prompt.slice(past, past + tokens), BigInt);
    const prepare = (instance: number): void => {
      this.#fetched.set(instance, null);
      if (!this.#isPrompt(generation, step)) return;
      this.executor.feed(instance, "prompt", { dtype: "int64", shape: [tokens], data: ids });
    };
    if (before === undefined) {
      return this.scheduler.submit(this.#prefill, { ...common, prepare, symbols: { tokens, capacity } });
    }
    const kv = before.output("kv");
    if (this.#isPrompt(generation, step)) {
      return this.scheduler.submit(this.#extend, {
        ...common,
        prepare,
        symbols: { tokens, past, capacity },
        inputs: { kv },
      });
    }
    const inputs = { kv, token: before.output("token") };
    return this.scheduler.submit(this.#decode, { ...common, prepare, symbols: { past, capacity }, inputs });
  }

  #tokenOf(instance: number): number {
    const token = this.#fetched.get(instance) ?? null;
    this.#forget(instance);
    if (token === null) throw new Error(`instance ${instance} is done, and its token was not handed out`);
    return token;
  }

  #forget(instance: number): void {
    this.#fetched.delete(instance);
    this.executor.unfeed(instance);
  }
}

/** A step that fails keeps later ones from being submitted: why it failed says more than that. */
async function causeOf(underWay: readonly { readonly handle: InstanceHandle }[], error: unknown): Promise<unknown> {
  for (const { handle } of underWay) {
    try {
      await handle.done;
    } catch (cause) {
      if (!(cause instanceof InstanceCancelledError)) return cause;
    }
  }
  return error;
}

/** The pieces of the prompt, and a decode step for each token after the first. */
function stepsOf({ prompt, count, pieceTokensMax = prompt.length }: Generation): Step[] {
  const pieces = Math.ceil(prompt.length / pieceTokensMax);
  return Array.from({ length: pieces + count - 1 }, (_, index) => {
    if (index >= pieces) return { tokens: 1, past: prompt.length + index - pieces, yields: true };
    const past = index * pieceTokensMax;
    return { tokens: Math.min(pieceTokensMax, prompt.length - past), past, yields: index === pieces - 1 };
  });
}

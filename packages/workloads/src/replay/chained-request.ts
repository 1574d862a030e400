import type { InstanceHandle, OpenRequestOptions, RequestHandle, SliceScheduler, TemplateHandle } from "slicescheduler";
import type { DecodeSpec, ExtendSpec, PrefillSpec } from "../llama/templates.ts";
import type { Books, Submitted } from "./books.ts";
import type { EngineRequest, EngineRequestOptions } from "./engine.ts";
import type { RequestClass } from "./policy.ts";

/** The passes of one model as a scheduler knows them. */
export interface PassHandles {
  readonly prefill: TemplateHandle<PrefillSpec>;
  /** Null when no lane works prompts off in pieces. */
  readonly extend: TemplateHandle<ExtendSpec> | null;
  readonly decode: TemplateHandle<DecodeSpec>;
}

/** What a request needs of the engine that carries it. */
export interface RequestHost {
  readonly scheduler: SliceScheduler;
  readonly books: Books<ChainedRequest>;
  readonly passes: PassHandles;
}

/** What the instances of a request can come to, for its memory claim. */
export function requestLimits(
  passes: PassHandles,
  options: EngineRequestOptions,
): NonNullable<OpenRequestOptions["limits"]> {
  const { inputTokens, outputTokens } = options;
  const piece = Math.min(inputTokens, options.prefillTokensMax);
  const limits: NonNullable<OpenRequestOptions["limits"]>[number][] = [
    { template: passes.prefill, symbols: { tokens: piece } },
  ];
  if (piece < inputTokens && passes.extend !== null) {
    const lastTokens = ((inputTokens - 1) % piece) + 1;
    limits.push({ template: passes.extend, symbols: { tokens: piece, past: inputTokens - lastTokens } });
  }
  if (outputTokens > 1)
    limits.push({ template: passes.decode, symbols: { past: Math.max(1, inputTokens + outputTokens - 2) } });
  return limits;
}

/**
 * One request as a chain of instances: the prefill, in pieces if it is long, then one decode step per further token. A pass the runner
 * asked for is submitted as soon as no more than `lookahead` are under way.
 */
export class ChainedRequest implements EngineRequest {
  readonly #host: RequestHost;
  readonly #options: EngineRequestOptions;
  readonly #request: RequestHandle;
  #latest: { readonly handle: InstanceHandle; readonly submitted: Submitted } | undefined;
  /** Prompt tokens in instances submitted so far. */
  #promptTokens = 0;
  #stepsWanted = 0;
  #stepsSubmitted = 0;
  #isLastWanted: boolean = false;
  #underWay = 0;
  /** Instances that end before the first token comes. */
  #piecesLeft: number;

  constructor(host: RequestHost, options: EngineRequestOptions, request: RequestHandle) {
    this.#host = host;
    this.#options = options;
    this.#request = request;
    this.#piecesLeft = Math.ceil(options.inputTokens / options.prefillTokensMax) - 1;
  }

  /** As the master numbered it. */
  get number(): number {
    return this.#request.id;
  }

  get class(): RequestClass {
    return this.#options.class;
  }

  submitNext(isLast: boolean): void {
    this.#stepsWanted++;
    this.#isLastWanted = isLast;
    this.#submitAhead();
  }

  /** An instance is done. Returns whether a token came out of it. */
  instanceDone(): boolean {
    this.#underWay--;
    const isPiece = this.#piecesLeft > 0;
    if (isPiece) this.#piecesLeft--;
    this.#submitAhead();
    return !isPiece;
  }

  close(): void {
    this.#request.close();
  }

  #submitAhead(): void {
    while (this.#underWay <= this.#options.lookahead && this.#stepsSubmitted < this.#stepsWanted) this.#submitOne();
  }

  #submitOne(): void {
    const { inputTokens, prefillTokensMax } = this.#options;
    const tokens = Math.min(inputTokens - this.#promptTokens, prefillTokensMax);
    const past = this.#promptTokens;
    this.#promptTokens += tokens;
    const isStep = this.#promptTokens === inputTokens;
    // `past` of a decode step: the prompt and the tokens before the one it takes in.
    const cached = inputTokens + this.#stepsSubmitted - 1;
    if (isStep) this.#stepsSubmitted++;
    const isLast = isStep && this.#isLastWanted && this.#stepsSubmitted === this.#stepsWanted;
    this.#underWay++;
    const before = this.#latest;
    if (before === undefined) this.#prefill(tokens, isLast);
    else if (tokens > 0) this.#extend(before.handle, tokens, past, isLast);
    else this.#decode(before.handle, cached, isLast);
    // The new instance keeps what it needs of the one before; nobody else does.
    before?.handle.release("kv");
    before?.handle.release("token");
  }

  #prefill(tokens: number, isLast: boolean): void {
    const { scheduler, passes } = this.#host;
    this.#book(
      scheduler.submit(passes.prefill, { ...this.#common(isLast), symbols: { tokens } }),
      passes.prefill.name,
      undefined,
    );
  }

  #extend(before: InstanceHandle, tokens: number, past: number, isLast: boolean): void {
    const { scheduler, passes } = this.#host;
    if (passes.extend === null) throw new TypeError("a prompt in pieces needs the extend template, which was left out");
    const options = { ...this.#common(isLast), symbols: { tokens, past }, inputs: { kv: before.output("kv") } };
    this.#book(scheduler.submit(passes.extend, options), passes.extend.name, this.#latest?.submitted);
  }

  #decode(before: InstanceHandle, past: number, isLast: boolean): void {
    const { scheduler, passes } = this.#host;
    const inputs = { kv: before.output("kv"), token: before.output("token") };
    const options = { ...this.#common(isLast), symbols: { past }, inputs };
    this.#book(scheduler.submit(passes.decode, options), passes.decode.name, this.#latest?.submitted);
  }

  #common(isLast: boolean) {
    const { class: priority, partitions } = this.#options;
    const retain = isLast ? [] : (["kv", "token"] as const);
    return { priority, partitions, request: this.#request, retain };
  }

  #book(handle: InstanceHandle, template: string, before: Submitted | undefined): void {
    const submitted = { id: handle.id, template };
    this.#latest = { handle, submitted };
    this.#host.books.submitted(this, submitted, before);
  }
}

/** Lengths of a request as an engine is told them; both at least 1. The output's is declared, as the most it may be. */
export interface SequenceLengths {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A request inside an engine. Its last output token is never cached, so it needs room for `input + output − 1` tokens. */
export interface Sequence extends SequenceLengths {
  readonly id: number;
  /** Pages of the pool that it holds from its admission to its end. */
  readonly pages: number;
  /** Prompt tokens in composed steps. */
  promptTokens: number;
  /** Decode passes in composed steps, of `outputTokens − 1`. */
  decodes: number;
  /** Output tokens that are out. */
  tokensOut: number;
  /** The step that makes its newest token, and the one that made the token before; −1 when there is none. */
  lastYield: number;
  yieldBefore: number;
}

export function newSequence(id: number, lengths: SequenceLengths, pages: number): Sequence {
  const { inputTokens, outputTokens } = lengths;
  const begun = { promptTokens: 0, decodes: 0, tokensOut: 0, lastYield: -1, yieldBefore: -1 };
  return { id, inputTokens, outputTokens, pages, ...begun };
}

/** Tokens whose keys and values it may come to cache. */
export function cacheTokensMax({ inputTokens, outputTokens }: SequenceLengths): number {
  return inputTokens + outputTokens - 1;
}

/** Its prompt is in composed steps as a whole, and output tokens are still to be asked for. */
export function wantsDecode(sequence: Sequence): boolean {
  return sequence.promptTokens === sequence.inputTokens && sequence.decodes < sequence.outputTokens - 1;
}

/** Tokens cached once all composed steps are done. */
export function cachedTokens(sequence: Sequence): number {
  return sequence.promptTokens + sequence.decodes;
}

/** Notes that step `number` will make its next token. */
export function willYield(sequence: Sequence, number: number): void {
  sequence.yieldBefore = sequence.lastYield;
  sequence.lastYield = number;
}

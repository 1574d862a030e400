import { describe, expect, test } from "vitest";
import type { BatchedStep } from "./batcher.ts";
import { TokenBook } from "./token-book.ts";

const lengths = { inputTokens: 10, outputTokens: 3 };
const pool = { pageTokens: 4, poolTokens: 16, stepTokensMax: 8 };

function step(number: number, parts: Partial<BatchedStep>): BatchedStep {
  const { chunks = [], decodes = [] } = parts;
  const tokens = decodes.length + chunks.reduce((sum, chunk) => sum + chunk.tokens, 0);
  return { number, chunks, decodes, tokens, cachedTokens: 0, awaits: null, ...parts };
}

const read = (sequence: number, fromToken: number, tokens: number) => ({ chunks: [{ sequence, fromToken, tokens }] });

function kept(...steps: BatchedStep[]): string[] {
  const book = new TokenBook(pool);
  for (const it of steps) {
    book.composed(it, () => lengths);
    book.done(it);
  }
  return book.failures().map(({ check, detail }) => `${check}: ${detail}`);
}

describe("TokenBook", () => {
  const sound = [
    step(0, read(1, 0, 8)),
    step(1, read(1, 8, 2)),
    step(2, { decodes: [1] }),
    step(3, { decodes: [1] }),
  ] as const;

  test("says nothing of a sound run", () => {
    expect(kept(...sound)).toEqual([]);
  });

  test.each([
    ["a prompt read twice", [sound[0], step(1, read(1, 0, 8))], /admitted twice/],
    ["prompt tokens left out", [sound[0], step(1, read(1, 9, 1))], /from token 9; read: 8/],
    ["a decode before the first token", [sound[0], step(1, { decodes: [1] })], /first token is not out/],
    ["a decode too many", [...sound, step(4, { decodes: [1] })], /decodes request 1/],
    ["a decode of nobody", [step(0, { decodes: [7] })], /decodes request 7/],
    ["a lost token", sound.slice(0, 3), /10 of 10 tokens read and 2 of 3 made/],
    ["a step that is too large", [step(0, read(1, 0, 9))], /says 9 tokens and has 9, at most 8/],
    ["a step that counts wrongly", [step(0, { ...read(1, 0, 8), tokens: 7 })], /says 7 tokens and has 8/],
    ["a pool that overflows", [sound[0], step(1, read(2, 0, 8))], /pages of 24 tokens in use, of 16/],
  ])("finds %s", (_what, steps, message) => {
    expect(kept(...steps).some((failure) => message.test(failure))).toBe(true);
  });
});

import { libtorchAvailable } from "@slicescheduler/executor-libtorch";
import { describe, expect, test } from "vitest";
import { answer } from "./llama-libtorch.ts";

describe.skipIf(!libtorchAvailable())(
  "a model on LibTorch (skipped where `npm run setup:libtorch` has not been run)",
  () => {
    test("each prompt gets its tokens, and the same ones again", async () => {
      const prompts = [12, 40, 5, 33, 20].map((tokens, seed) =>
        Array.from({ length: tokens }, (_, i) => (seed * 131 + i * 37) % 512),
      );
      const answers = await answer(prompts, 6);
      expect(answers.map(({ tokens }) => tokens.length)).toEqual([6, 6, 6, 6, 6]);
      for (const { tokens, firstTokenNs } of answers) {
        expect(tokens.every((token) => Number.isInteger(token) && token >= 0 && token < 512)).toBe(true);
        expect(firstTokenNs).toBeGreaterThan(0);
      }
      // Placement and order are others this time.
      const again = await answer(prompts.toReversed(), 6);
      expect(again.toReversed().map(({ tokens }) => tokens)).toEqual(answers.map(({ tokens }) => tokens));
    });
  },
);

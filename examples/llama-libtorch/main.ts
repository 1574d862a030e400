import { libtorchAvailable } from "@slicescheduler/executor-libtorch";
import { answer } from "./llama-libtorch.ts";

if (libtorchAvailable()) {
  const prompts = [12, 40, 5, 33].map((tokens, seed) =>
    Array.from({ length: tokens }, (_, i) => (seed * 131 + i * 37) % 512),
  );
  for (const { priority, tokens, firstTokenNs } of await answer(prompts, 6))
    console.log(
      `${priority.padEnd(7)}  first token after ${(firstTokenNs / 1e6).toFixed(0)} ms; tokens ${tokens.join(", ")}`,
    );
} else {
  console.error("LibTorch is not set up here: `npm run setup:libtorch` does it; docs/libtorch.md says what it takes");
  process.exitCode = 1;
}

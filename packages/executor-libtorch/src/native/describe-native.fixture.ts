// biome-ignore lint/correctness/noUndeclaredDependencies: the tests' own tool.
import { describe } from "vitest";
import { libtorchAvailable } from "./addon.ts";

/** `describe` where the native addon is built; elsewhere the tests are skipped, and say why. */
export function describeNative(name: string, body: () => void): void {
  if (libtorchAvailable()) describe(name, body);
  else describe.skip(`${name} (skipped: the native addon is not built; npm run setup:libtorch)`, body);
}

import type { Reporter, TestModule } from "vitest/node";

/** Closes a run with one plain line that any CI can read: `N passed, N failed[, N skipped]`. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    // A file that cannot be loaded has no tests, an error outside of them has none either: each counts as one failure.
    let failed = unhandledErrors.length;
    let passed = 0;
    let skipped = 0;
    for (const module of modules) {
      const states = [...module.children.allTests()].map((test) => test.result().state);
      const failures = states.filter((state) => state === "failed" || state === "pending").length;
      passed += states.filter((state) => state === "passed").length;
      skipped += states.filter((state) => state === "skipped").length;
      failed += failures === 0 && !module.ok() ? 1 : failures;
    }
    process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`);
  }
}

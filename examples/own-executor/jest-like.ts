const TEST_MS_MAX = 30_000;

/** As much of a runner in Jest's manner as the suite needs: tests are collected, then run one after the other, each within a time limit. */
export class JestLike {
  readonly #tests: (readonly [string, () => unknown])[] = [];

  readonly test = (name: string, body: (done: () => void) => unknown): void => {
    // Jest takes a parameter for a callback that ends the test.
    if (body.length > 0) throw new TypeError(`the test ${JSON.stringify(name)} takes parameters`);
    this.#tests.push([name, () => body(() => {})]);
  };

  /** Prints a line per test and the counts, and sets the exit code. */
  async run(): Promise<void> {
    const tests = this.#tests;
    let failed = 0;
    for (const [name, body] of tests) {
      try {
        await within(TEST_MS_MAX, body());
        console.log(`✓ ${name}`);
      } catch (error) {
        failed++;
        console.log(`✕ ${name}\n${error instanceof Error ? error.message : String(error)}`);
      }
    }
    console.log(`Tests: ${failed} failed, ${tests.length - failed} passed, ${tests.length} total`);
    if (failed > 0 || tests.length === 0) process.exitCode = 1;
  }
}

async function within(ms: number, result: unknown): Promise<void> {
  let timeout: NodeJS.Timeout | undefined;
  const late = new Promise((_, reject) => {
    timeout = setTimeout(() => reject(new Error(`Exceeded timeout of ${ms} ms for a test.`)), ms);
  });
  try {
    await Promise.race([result, late]);
  } finally {
    clearTimeout(timeout);
  }
}

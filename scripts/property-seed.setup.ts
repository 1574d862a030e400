/** Properties draw other cases in every run; `SEED=N npm test` draws the same again. A failure prints the seed of its own. */
const seed = process.env["SEED"];
if (seed !== undefined) {
  const { default: fc } = await import("fast-check");
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
}

export {};

import type { Scene } from "./scene.ts";
import { BASELINE_BYTES, FREE_BYTES, GRANULARITY_BYTES } from "./world.ts";

/**
 * Measures what is in use on an accelerator from outside: an operator whose workspace takes exactly what is free has to run, one that needs a
 * granule more has to be refused. Where the backend keeps accounts of its own, they have to say the same.
 */
export class MemoryProbe {
  readonly #scene: Scene;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Fails unless so many bytes are in use besides the baseline. Nothing may be activated there that can run. */
  async uses(accelerator: number, bytes: number, why: string): Promise<void> {
    const scene = this.#scene;
    const { numbers, settings } = scene;
    const expected = `${bytes} bytes in use on accelerator ${accelerator} besides the baseline: ${why}`;
    if (settings.manifest.keepsAccounts === true) {
      const told = scene.executor.stats?.().accelerators[accelerator]?.usedHbmBytes;
      const seen = told === undefined ? "stats() tells nothing of it" : `stats() tells ${told - BASELINE_BYTES}`;
      scene.expect(told === bytes + BASELINE_BYTES, expected, seen);
    }
    const freeBytes = FREE_BYTES - bytes;
    const fits = numbers.work(accelerator, { scratchBytes: freeBytes });
    const tooLarge = numbers.work(accelerator, { scratchBytes: freeBytes + GRANULARITY_BYTES });
    const endOf = (issue: number) =>
      scene.events.find(
        (event) => "issueNumber" in event && event.issueNumber === issue && event.type !== "operatorStarted",
      );
    scene.execute(fits, tooLarge);
    await scene.until(
      () => endOf(fits.issueNumber) !== undefined && endOf(tooLarge.issueNumber) !== undefined,
      () => `ends of ${fits.issueNumber} and ${tooLarge.issueNumber}`,
    );
    scene.expect(
      endOf(fits.issueNumber)?.type === "operatorDone",
      expected,
      `an operator that needs the other ${freeBytes} bytes did not fit: more is in use`,
    );
    scene.expect(
      endOf(tooLarge.issueNumber)?.type === "operatorFailed",
      expected,
      `an operator that needs ${freeBytes + GRANULARITY_BYTES} bytes ran: less is in use, or the capacity was passed`,
    );
  }

  /** Fails unless nothing is in use on any accelerator but the baseline. */
  async isEmpty(why: string): Promise<void> {
    for (const accelerator of this.#scene.cluster.accelerators.keys()) await this.uses(accelerator, 0, why);
  }
}

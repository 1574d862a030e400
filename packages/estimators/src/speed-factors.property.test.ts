import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SpeedFactors } from "./speed-factors.ts";

/** What `SpeedFactors` does, recomputed from the kept numbers for every question, with nothing kept in order. */
class SlowTwin {
  readonly logs = new Map<string, readonly number[]>();
  deviation = 0.2;

  observe(accelerator: string, log: number): void {
    const kept = this.logs.get(accelerator) ?? [];
    if (kept.length > 0) {
      const step = Math.min(Math.abs(log - middle(kept)), 2.5 * this.deviation);
      this.deviation = Math.max(this.deviation + 0.03 * (step - this.deviation), 0.002);
    }
    const next = [...kept, log].slice(-32);
    this.logs.set(accelerator, this.isNewLevel(accelerator, next) ? next.slice(-3) : next);
  }

  isNewLevel(accelerator: string, logs: readonly number[]): boolean {
    if (logs.length <= 3) return false;
    const far = Math.max(0.14, 6 * this.deviation);
    const side = (off: number) => (Math.abs(off) > far ? Math.sign(off) : 0);
    const sides = logs.slice(-3).map((log) => side(log - middle(logs.slice(0, -3))));
    if (sides[0] === 0 || new Set(sides).size > 1) return false;
    const others = [...this.logs].filter(([name, kept]) => name !== accelerator && kept.length >= 3);
    const alike = others.filter(([, kept]) => side((kept.at(-1) ?? 0) - middle(kept)) === sides[0]);
    return alike.length * 2 <= others.length;
  }

  factor(accelerator: string): number {
    const known = [...this.logs.values()].filter((kept) => kept.length >= 3);
    const kept = this.logs.get(accelerator) ?? [];
    if (!known.includes(kept)) return 1;
    const levels = known.map(middle).sort((a, b) => a - b);
    const log = middle(kept) - (levels[Math.ceil(levels.length / 2) - 1] ?? Number.NaN);
    const least = Math.max(0.0953, (5 * 1.57 * this.deviation) / Math.sqrt(kept.length));
    return Math.abs(log) < least ? 1 : Math.exp(log);
  }
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[sorted.length / 2 - 1] ?? Number.NaN) + upper) / 2;
}

/** Noise, a level of each accelerator that changes at times, wild ones. */
const observations = fc.array(
  fc.record({
    accelerator: fc.nat(6),
    times: fc.integer({ min: 1, max: 6 }),
    level: fc.constantFrom(0, 0, 0, 0.05, 0.12, 0.2, Math.log(3), -Math.log(2)),
    noise: fc.double({ min: -0.05, max: 0.05, noNaN: true }),
    wild: fc.constantFrom(0, 0, 0, 0, 0, 0, 6, -6),
  }),
  { maxLength: 120 },
);

describe("speed factors", () => {
  it("are what the slow twin says after every observation, saved and loaded at any moment or not", () => {
    fc.assert(
      fc.property(observations, fc.integer({ min: 1, max: 40 }), (commands, savedEvery) => {
        let factors = new SpeedFactors();
        const twin = new SlowTwin();
        for (const [index, { accelerator, times, level, noise, wild }] of commands.entries()) {
          for (let i = 0; i < times; i++) {
            const log = level + noise * (i % 2 === 0 ? 1 : -1) + (i === 0 ? wild : 0);
            factors.observe(`a${accelerator}`, log);
            twin.observe(`a${accelerator}`, log);
          }
          if (index % savedEvery === 0) factors = SpeedFactors.load(JSON.parse(JSON.stringify(factors.save())));
          for (let a = 0; a < 8; a++) expect(factors.factor(`a${a}`)).toBe(twin.factor(`a${a}`));
        }
      }),
      { numRuns: 150 },
    );
  });

  it("cannot drift together: their lower median is exactly 1, whatever was observed", () => {
    fc.assert(
      fc.property(observations, (commands) => {
        const factors = new SpeedFactors();
        const samples = new Map<string, number>();
        for (const { accelerator, times, level, noise, wild } of commands) {
          const name = `a${accelerator}`;
          for (let i = 0; i < times; i++) factors.observe(name, level + noise + wild);
          samples.set(name, (samples.get(name) ?? 0) + times);
          const known = [...samples].filter(([, count]) => count >= 3).map(([it]) => factors.factor(it));
          known.sort((a, b) => a - b);
          if (known.length > 0) expect(known[(known.length - 1) >> 1]).toBe(1);
        }
      }),
    );
  });

  it("an accelerator that is alone has the speed of its kind", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -20, max: 20, noNaN: true }), { maxLength: 60 }), (logs) => {
        const factors = new SpeedFactors();
        for (const log of logs) {
          factors.observe("a", log);
          expect(factors.factor("a")).toBe(1);
        }
      }),
    );
  });
});

import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { nsBetween, parseInstant } from "./instant.ts";

const unitNs = { s: 10n ** 9n, ms: 10n ** 6n, us: 10n ** 3n, ns: 1n } as const;
const units = fc.constantFrom("s", "ms", "us", "ns");

/** The twin: the same in whole numbers without limit. */
function twinNs(whole: bigint, fraction: string, exponent: number, unit: keyof typeof unitNs): bigint {
  const digits = BigInt(`${whole}${fraction}`);
  const power = BigInt(fraction.length - exponent);
  const scaled = digits * unitNs[unit];
  return power >= 0n ? scaled / 10n ** power : scaled * 10n ** -power;
}

describe("numbers", () => {
  test.prop([
    fc.bigInt({ min: 0n, max: 10n ** 12n }),
    fc.stringMatching(/^\d{0,15}$/),
    fc.integer({ min: -12, max: 0 }),
    units,
  ])("are exact to the nanosecond in every unit, with fraction and exponent", (whole, fraction, exponent, unit) => {
    const text = `${whole}${fraction === "" ? "" : `.${fraction}`}${exponent === 0 ? "" : `e${exponent}`}`;
    const found = parseInstant(text, unit);
    const expected = twinNs(whole, fraction, exponent, unit);
    expect(found).toEqual({ seconds: Number(expected / 10n ** 9n), ns: Number(expected % 10n ** 9n) });
  });

  test.prop([fc.integer({ min: 0, max: 2 ** 52 }), fc.integer({ min: 0, max: 2 ** 52 })])(
    "distances are exact below 104 days",
    (a, b) => {
      const [from, to] = [a, b].map((ns) => parseInstant(String(ns), "ns"));
      if (from === undefined || to === undefined) throw new Error("not read");
      expect(nsBetween(from, to)).toBe(b - a);
    },
  );

  test.each(["", "-1", "+1", "1,5", "0x10", "NaN", "Infinity", " 1", "1e", "1e999", "1e30", "9".repeat(40)])(
    "%j is none",
    (text) => expect(parseInstant(text, "s")).toBeUndefined(),
  );
});

describe("dates", () => {
  test.prop([fc.date({ min: new Date(0), max: new Date("2200-01-01T00:00:00Z"), noInvalidDate: true })])(
    "are what the language reads them as, in both spellings",
    (date) => {
      const ms = date.getTime();
      const expected = { seconds: Math.floor(ms / 1000), ns: (ms % 1000) * 1e6 };
      expect(parseInstant(date.toISOString(), "iso")).toEqual(expected);
      expect(parseInstant(date.toISOString().replace("T", " ").replace("Z", "+00:00"), "iso")).toEqual(expected);
    },
  );

  test.each([
    ["2024-05-10 00:00:00.009930+00:00", "2024-05-10T00:00:00.009930Z"],
    ["2024-05-10 02:30:00+02:30", "2024-05-10 00:00:00"],
    ["2024-05-09 19:00:00-0500", "2024-05-10 00:00:00"],
  ])("%s is %s", (text, same) => expect(parseInstant(text, "iso")).toEqual(parseInstant(same, "iso")));

  test.each([
    "2024-02-30 00:00:00",
    "2024-05-10",
    "2024-05-10 24:00:00",
    "2024-05-10 00:00:60",
    "2024-05-10 00:00:00+25:00",
  ])("%s is none", (text) => expect(parseInstant(text, "iso")).toBeUndefined());
});

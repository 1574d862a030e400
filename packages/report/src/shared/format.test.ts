import { expect, test } from "vitest";
import {
  clockUnit,
  formatBytes,
  formatClock,
  formatCount,
  formatNs,
  formatNumber,
  formatShare,
  formatTime,
} from "./format.ts";

test("durations have three digits and a unit", () => {
  const shown = [0, 850, 999.9, 42_310_000, 7_905e6, 999.9e6, 119.9e9, 125e9, 1800e9, 7200e9, 9000e9, Number.NaN];
  expect(shown.map(formatNs)).toEqual([
    ...["0 ns", "850 ns", "1 µs", "42.3 ms", "7.91 s", "1 s", "120 s", "2 min 5 s", "30 min", "2 h", "2 h 30 min", "–"],
  ]);
  expect(formatNs(-1500)).toBe("−1.5 µs");
});

test("bytes, counts, shares and numbers", () => {
  expect([64e9, 1.5e12, 512, 12_345, 0].map(formatBytes)).toEqual(["64 GB", "1.5 TB", "512 B", "12.3 kB", "0 B"]);
  expect([1394, 1_000_000, 7, Number.NaN].map(formatCount)).toEqual(["1,394", "1,000,000", "7", "–"]);
  expect([0.9, 0, 1, Number.NaN].map(formatShare)).toEqual(["90.0 %", "0.0 %", "100.0 %", "–"]);
  expect([0.7746, 1.643, 28.06, 1234.5, 0].map(formatNumber)).toEqual(["0.775", "1.64", "28.1", "1,235", "0"]);
});

test("marks of an axis tell each other apart", () => {
  expect(formatClock(750e9, 30e9)).toBe("12:30");
  expect(formatClock(750.25e9, 0.25e9)).toBe("12:30.3");
  expect(formatClock(750.25e9, 0.01e9)).toBe("12:30.25");
  expect(formatClock(3_723e9, 1e9)).toBe("1:02:03");
  expect(formatClock(-1e9, 1e9)).toBe("−0:01");
  expect(formatClock(1_000_000_001, 1)).toBe("0:01.000000001");
  expect(formatClock(59_999_999_999, 1e9)).toBe("1:00");
});

test("times of a short run are in seconds, those of a long one on a clock with its unit beside it", () => {
  expect([0, 5e9, 12.5e9].map((ns) => formatTime(ns, 5e9, 23e9))).toEqual(["0 s", "5 s", "13 s"]);
  expect(formatTime(12.5e9, 0.5e9, 23e9)).toBe("12.5 s");
  expect(formatTime(0.02e9, 0.02e9, 0.1e9)).toBe("0.02 s");
  expect(formatTime(-1e9, 1e9, 23e9)).toBe("−1 s");
  expect(formatTime(750e9, 30e9, 1800e9)).toBe("12:30");
  expect([clockUnit(5e9, 23e9), clockUnit(5e9, 1800e9), clockUnit(4000e9, 4000e9)]).toEqual(["", "min:s", "h:min:s"]);
});

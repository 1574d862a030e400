import { describe, expect, test } from "vitest";
import { parsePythonDistribution, parseServeGenLengths, parseServeGenWindows } from "./servegen.ts";

describe("parseServeGenWindows", () => {
  test("reads a busy and a silent window", () => {
    expect(parseServeGenWindows("0,15.665,1.03,Weibull,0.98,0.064\n600,0,0,,0,0\n", "x")).toEqual([
      {
        startSeconds: 0,
        requestsPerSecond: 15.665,
        interArrivalCv: 1.03,
        distribution: "Weibull",
        shape: 0.98,
        scaleSeconds: 0.064,
      },
      {
        startSeconds: 600,
        requestsPerSecond: 0,
        interArrivalCv: 0,
        distribution: null,
        shape: 0,
        scaleSeconds: 0,
      },
    ]);
  });

  test.each([
    ["a negative rate", "0,-1,1,Gamma,1,1", "TRACE_MALFORMED_ROW"],
    ["a rate without a distribution", "0,1,1,,0,0", "TRACE_MALFORMED_ROW"],
    ["an unknown distribution", "0,1,1,Pareto,1,1", "TRACE_MALFORMED_ROW"],
    ["a blank number", "0,,1,Gamma,1,1", "TRACE_MALFORMED_ROW"],
    ["too few fields", "0,1,1", "TRACE_MALFORMED_ROW"],
    ["a window that repeats", "0,1,1,Gamma,1,1\n0,1,1,Gamma,1,1", "TRACE_OUT_OF_ORDER"],
  ])("refuses %s", (_, text, code) => {
    expect(() => parseServeGenWindows(text, "x")).toThrowError(expect.objectContaining({ code }));
  });
});

describe("parsePythonDistribution", () => {
  test.each([
    ["code instead of a dict", "__import__('os').system('true')", /not a dict/],
    ["a call inside the dict", "{1: open('x')}", /expected "tokens: probability"/],
    ["a key that repeats", "{1: 0.5, 1: 0.5}", /twice/],
    ["probabilities that do not add up", "{1: 0.5}", /add up to 0.5/],
    ["a negative probability", "{1: -0.5, 2: 1.5}", /expected "tokens: probability"/],
    ["a missing comma", "{1: 0.5 2: 0.5}", /expected ","/],
  ])("names %s", (_, text, reason) => expect(parsePythonDistribution(text)).toMatch(reason));
});

describe("parseServeGenLengths", () => {
  test("leaves silent windows out and sorts by start", () => {
    const busy = { input_tokens: "{7: 1.0}", output_tokens: "{3: 0.25, 2: 7.5e-1}" };
    const text = JSON.stringify({ "43200": busy, "21600": { input_tokens: "{}", output_tokens: "{}" }, "0": busy });
    const found = parseServeGenLengths(text, "x");
    expect(found.map((window) => window.startSeconds)).toEqual([0, 43200]);
    expect(found[0]?.outputTokens).toEqual([
      { tokens: 2, probability: 0.75 },
      { tokens: 3, probability: 0.25 },
    ]);
  });

  test("names the window and the side of a fault", () => {
    const text = JSON.stringify({ "600": { input_tokens: "{1: 1}", output_tokens: "{x: 1}" } });
    expect(() => parseServeGenLengths(text, "d.json")).toThrowError(/d\.json: window 600, output_tokens: expected/);
  });
});

import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import type { TraceFault } from "../errors.ts";
import { Sequencer } from "./sequencer.ts";
import type { TraceRequest } from "./types.ts";

type Given = TraceRequest | TraceFault;

function given(seconds: readonly number[], reorderRows: number): Given[] {
  const sequencer = new Sequencer(reorderRows);
  const out: Given[] = [];
  seconds.forEach((at, index) => {
    const request = { inputTokens: index + 1, outputTokens: 1 };
    const next = sequencer.push({ line: index + 1, at: { seconds: at, ns: 0 }, request });
    if (next !== undefined) out.push(next);
  });
  for (let next = sequencer.pop(); next !== undefined; next = sequencer.pop()) out.push(next);
  return out;
}

/** The twin: looks through all that it holds, each time. */
function twin(seconds: readonly number[], reorderRows: number): { index: number; late: boolean }[] {
  const held: number[] = [];
  const out: { index: number; late: boolean }[] = [];
  let last = Number.NEGATIVE_INFINITY;
  const release = (): void => {
    const least = Math.min(...held.map((index) => seconds[index] ?? 0));
    const index =
      held.splice(
        held.findIndex((it) => seconds[it] === least),
        1,
      )[0] ?? 0;
    out.push({ index, late: least < last });
    last = Math.max(last, least);
  };
  seconds.forEach((_, index) => {
    held.push(index);
    if (held.length > reorderRows) release();
  });
  while (held.length > 0) release();
  return out;
}

test.prop([fc.array(fc.nat(30), { maxLength: 60 }), fc.nat(8)])(
  "gives what a search through the held rows gives, equal arrivals in the order of the file",
  (seconds, reorderRows) => {
    const expected = twin(seconds, reorderRows);
    const first = seconds[expected[0]?.index ?? 0] ?? 0;
    expect(given(seconds, reorderRows)).toEqual(
      expected.map(({ index, late }) =>
        late
          ? expect.objectContaining({ code: "TRACE_OUT_OF_ORDER", line: index + 1 })
          : { arrivalNs: ((seconds[index] ?? 0) - first) * 1e9, inputTokens: index + 1, outputTokens: 1 },
      ),
    );
  },
);

test.prop([fc.array(fc.nat(100), { minLength: 1, maxLength: 40 })])(
  "with room for all rows any order is put right",
  (seconds) => {
    const found = given(seconds, seconds.length);
    expect(found.every((it) => "arrivalNs" in it)).toBe(true);
  },
);

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runWorld, worlds } from "../../test/world.ts";
import { RunRecordInvalidError, TimelineError } from "../errors.ts";
import { textGantt } from "../gantt/text-gantt.ts";
import type { RunRecord } from "../run-record.ts";
import { chromeTrace } from "../trace/chrome-trace.ts";
import { ByteReader } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import { crc32 } from "./crc32.ts";
import { decodeRunRecord } from "./decode.ts";
import { encodeRunRecord } from "./encode.ts";

const anyNumber = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.constantFrom(Number.NaN, -0, Number.POSITIVE_INFINITY, Number.MIN_SAFE_INTEGER),
);

/** With a checksum that is right, so that what comes before it is looked at. */
function sealed(bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice();
  new DataView(copy.buffer).setUint32(copy.length - 4, crc32(copy.subarray(0, copy.length - 4)), true);
  return copy;
}

/** Decodes, or says what was wrong; anything but a typed error fails the test. */
function decoded(bytes: Uint8Array): RunRecord | RunRecordInvalidError {
  try {
    return decodeRunRecord(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(RunRecordInvalidError);
    return error as RunRecordInvalidError;
  }
}

/** Whatever a file says, it can be drawn and traced, or is refused in so many words. */
function drawn(record: RunRecord): void {
  expect([...chromeTrace(record)].length).toBeGreaterThan(0);
  try {
    expect(textGantt(record, { width: 60 }).length).toBeGreaterThan(0);
  } catch (error) {
    expect(error).toBeInstanceOf(TimelineError);
  }
}

describe("files of run records", () => {
  it("give back what was written", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const { record } = await runWorld(world);
        expect(decodeRunRecord(encodeRunRecord(record))).toEqual(record);
      }),
      { numRuns: 30 },
    );
  });

  it("write any column of numbers exactly, alone and relative to another", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyNumber, anyNumber)), (pairs) => {
        const first = pairs.map(([it]) => it);
        const second = pairs.map(([, it]) => it);
        const writer = new ByteWriter();
        writer.column(first);
        writer.column(second, first);
        const reader = new ByteReader(writer.take());
        const read = reader.column(first.length);
        expect([...read]).toEqual(first);
        expect([...reader.column(second.length, read)]).toEqual(second);
        expect(reader.left).toBe(0);
      }),
    );
  });

  it("are refused with the place when they are damaged, cut off, foreign or of another version", async () => {
    const [world] = fc.sample(worlds, { seed: 5, numRuns: 1 });
    if (world === undefined) throw new Error("no world was drawn");
    const bytes = encodeRunRecord((await runWorld(world)).record);
    for (let length = 0; length < bytes.length; length++)
      expect(() => decodeRunRecord(bytes.subarray(0, length))).toThrow(RunRecordInvalidError);
    for (let at = 0; at < bytes.length; at++) {
      const damaged = bytes.slice();
      damaged[at] = (damaged[at] as number) ^ 1;
      expect(() => decodeRunRecord(damaged)).toThrow(RunRecordInvalidError);
    }
    expect(() => decodeRunRecord(new TextEncoder().encode("{}"))).toThrow("byte 0: this is no file of a run record");
    const newer = bytes.slice();
    newer[4] = 2;
    expect(() => decodeRunRecord(newer)).toThrow(
      "byte 4: the file is of version 2, this release reads 1; a newer release",
    );
  });

  it("with a right checksum and anything else wrong either decode, or are refused with the place", async () => {
    const [world] = fc.sample(worlds, { seed: 7, numRuns: 1 });
    if (world === undefined) throw new Error("no world was drawn");
    const bytes = encodeRunRecord((await runWorld(world)).record);
    const counts = { decoded: 0, refused: 0 };
    const edit = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255), fc.constantFrom("set", "cut", "insert"));
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        const changed = [...bytes];
        for (const [at, value, kind] of edits) {
          if (kind === "set") changed[at] = value;
          else changed.splice(at, kind === "cut" ? value : 0, ...(kind === "insert" ? [value] : []));
        }
        if (changed.length < 9) return;
        const result = decoded(sealed(Uint8Array.from(changed)));
        if (result instanceof Error) counts.refused++;
        else {
          counts.decoded++;
          expect(decodeRunRecord(encodeRunRecord(result))).toEqual(result);
          drawn(result);
        }
      }),
      { numRuns: 2000 },
    );
    expect(counts.refused).toBeGreaterThan(100);
    expect(counts.decoded).toBeGreaterThan(0);
  });

  it("take no memory for what they only announce", () => {
    const writer = new ByteWriter();
    for (const byte of [0x53, 0x53, 0x52, 0x52, 1]) writer.byte(byte);
    writer.text("");
    writer.column([0, 1]);
    writer.whole(2 ** 50);
    writer.uint32(0);
    expect(() => decodeRunRecord(sealed(writer.take()))).toThrow("1125899906842624 priority classes are announced");
  });

  it("assign no key of the decisions' text to an object", () => {
    const hostile = [
      '[{"__proto__":{"polluted":1},"round":1,"atNs":0,"instance":0,"operators":[0],"partition":"p","candidates":[]}]',
      '{"length":1}',
      "[null]",
      `${"[".repeat(100_000)}`,
      '[{"round":1,"atNs":0,"instance":0,"operators":["x"],"partition":"p","candidates":[]}]',
      '[{"round":1,"atNs":0,"instance":0,"operators":[],"partition":"p","candidates":[{"partition":"p"}]}]',
    ];
    const results = hostile.map((text) => decoded(withDecisions(text)));
    expect(results.map((result) => result instanceof Error)).toEqual([false, true, true, true, true, true]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(Object.keys((results[0] as RunRecord).decisions.kept[0] ?? {})).not.toContain("__proto__");
  });
});

/** A file of an empty record with this text in the place of the decisions. */
function withDecisions(text: string): Uint8Array {
  const writer = new ByteWriter();
  for (const byte of [0x53, 0x53, 0x52, 0x52, 1]) writer.byte(byte);
  writer.text("");
  writer.column([0, 1]);
  // Priority classes, tenants, accelerators, names of operators, operators.
  for (let count = 0; count < 5; count++) writer.whole(0);
  for (let column = 0; column < 12; column++) writer.column([]);
  writer.whole(0);
  for (let column = 0; column < 8; column++) writer.column([]);
  writer.whole(0);
  for (let column = 0; column < 12; column++) writer.column([]);
  for (let count = 0; count < 4; count++) writer.whole(1);
  writer.text(text);
  for (let count = 0; count < 6; count++) writer.whole(0);
  writer.uint32(0);
  return sealed(writer.take());
}

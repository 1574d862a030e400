/** Saved replays that were made to take memory: a small file stands for little. */
import { deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { decodeSavedReplay } from "./saved-replay.ts";

/** A file with this text for its header. */
function withHeader(json: string): Uint8Array {
  const packed = deflateRawSync(Buffer.from(json, "latin1"), { level: 9 });
  const prefix = Buffer.alloc(9);
  prefix.write("SLRP", "latin1");
  prefix.writeUInt8(1, 4);
  prefix.writeUInt32LE(packed.length, 5);
  return Buffer.concat([prefix, packed]);
}

describe("a header that unpacks to far more than it is packed to", () => {
  test.each<[what: string, json: string, reason: RegExp]>([
    [
      "empty lists, more bytes than any replay's",
      `[${"[],".repeat(1e7)}[]]`,
      /bytes hold more than \d+, which no replay leaves/,
    ],
    [
      "empty lists, few bytes and many values",
      `[${"[],".repeat(1e6)}[]]`,
      /up to 2000003 values; at most 524288 are read/,
    ],
    ["one long text", `"${" ".repeat(3e7)}"`, /bytes hold more than/],
  ])("%s: is refused before it is made", (_, json, reason) => {
    const file = withHeader(json);
    expect(file.length).toBeLessThan(64 * 1024);
    const before = process.memoryUsage().heapUsed;
    expect(() => decodeSavedReplay(file, "bomb.run")).toThrowError(
      expect.objectContaining({ code: "SAVED_REPLAY_INVALID", message: expect.stringMatching(reason) }),
    );
    // What a list takes, times a million, is more.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(16e6);
  });

  test("what is no JSON is told with what is wrong", () => {
    expect(() => decodeSavedReplay(withHeader("{,}"), "f.run")).toThrow(
      /f\.run: byte 9: the header cannot be read as JSON \(/,
    );
  });
});

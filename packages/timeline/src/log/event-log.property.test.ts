import fc from "fast-check";
import type { Notice } from "slicescheduler";
import { describe, expect, it } from "vitest";
import { runWorld, worlds } from "../../test/world.ts";
import { EventLogError } from "../errors.ts";
import { EventLogReader, readEventLog } from "./reader.ts";
import { recordEventLog, replayEventLog } from "./replay.ts";

describe("event logs", () => {
  it("replay to what the master answered when it ran, notice by notice", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const { log, notices, events } = await runWorld(world);
        const answered: Notice[] = [];
        const replayed = replayEventLog(readEventLog(log), {
          onReaction: (reaction) => answered.push(...reaction.notices),
        });
        expect(answered).toEqual(notices);
        expect(replayed.events).toBe(events.length);
        replayed.core.validate();
      }),
      { numRuns: 30 },
    );
  });

  it("give the timeline that a recorder at the scheduler gave", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const { log, record } = await runWorld(world);
        expect(recordEventLog(readEventLog(log))).toEqual({ ...record, label: "" });
      }),
      { numRuns: 25 },
    );
  });

  it("replay up to a time, and no further", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, fc.nat(4000), fc.nat(50), async (world, untilNs, eventsMax) => {
        const { log, events } = await runWorld(world);
        const until = replayEventLog(readEventLog(log), { untilNs, eventsMax });
        const some = events.filter(({ nowNs }) => nowNs <= untilNs).slice(0, eventsMax);
        expect(until.events).toBe(some.length);
        expect(until.nowNs).toBe(some.at(-1)?.nowNs ?? 0);
      }),
      { numRuns: 15 },
    );
  });

  it("read the same however they are cut into pieces", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, fc.array(fc.nat(400), { maxLength: 40 }), async (world, lengths) => {
        const { log } = await runWorld(world);
        const text = log.join("");
        const reader = new EventLogReader();
        let start = 0;
        for (const length of lengths) {
          reader.push(text.slice(start, start + length));
          start += length;
        }
        reader.push(text.slice(start));
        expect(reader.end()).toEqual(readEventLog(text));
      }),
      { numRuns: 15 },
    );
  });

  it("whatever is written into them, are read and replayed or refused with the line", async () => {
    const [world] = fc.sample(worlds, { seed: 11, numRuns: 1 });
    if (world === undefined) throw new Error("no world was drawn");
    const { log } = await runWorld(world);
    const counts = { read: 0, replayed: 0, refused: 0 };
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(-1, 0, 1, 2 ** 53, 1e308, "__proto__", { ["__proto__"]: { polluted: 1 } }, null, [], {
        $number: "NaN",
      }),
    );
    await fc.assert(
      fc.property(fc.nat(log.length - 1), fc.nat(), value, fc.nat(3), (line, at, hostile, how) => {
        const lines = [...log];
        lines[line] = `${changed(lines[line] as string, at, hostile, how)}\n`;
        try {
          const read = readEventLog(lines);
          counts.read++;
          replayEventLog(read);
          counts.replayed++;
        } catch (error) {
          expect(error).toBeInstanceOf(EventLogError);
          expect((error as EventLogError).line).toBeGreaterThan(0);
          counts.refused++;
        }
        expect(({} as { polluted?: number }).polluted).toBeUndefined();
      }),
      { numRuns: 1000 },
    );
    expect(counts.read).toBeGreaterThan(counts.replayed);
    expect(counts.replayed).toBeGreaterThan(20);
    expect(counts.refused).toBeGreaterThan(100);
  });
});

/** The line with one of its values replaced, a field added or removed, or with a character of it changed. */
function changed(line: string, at: number, hostile: unknown, how: number): string {
  if (how === 0) return line.slice(0, at % line.length) + JSON.stringify(hostile) + line.slice((at % line.length) + 1);
  const root: unknown = JSON.parse(line);
  const places: { holder: Record<string, unknown>; key: string }[] = [];
  const visit = (holder: Record<string, unknown>) => {
    for (const [key, inner] of Object.entries(holder)) {
      places.push({ holder, key });
      if (typeof inner === "object" && inner !== null) visit(inner as Record<string, unknown>);
    }
  };
  visit(root as Record<string, unknown>);
  const place = places[at % places.length];
  if (place === undefined) return line;
  if (how === 1) place.holder[place.key] = hostile;
  else if (how === 2) delete place.holder[place.key];
  else place.holder[`more${at % 3}`] = hostile;
  return JSON.stringify(root);
}

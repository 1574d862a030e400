/** `report` writes a page, and never over what it reads. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tinyReplay, tinyWorkload } from "../tiny-workload.fixture.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);
beforeAll(async () => {
  expect((await run([...tinyReplay, "--policy", "static-online", "--record", "k.run"])).code).toBe(0);
});

describe("report", () => {
  test("refuses an output that it reads, and leaves it as it was", async () => {
    const before = readFileSync(join(dir, "k.run"));
    const { code, err } = await run(["report", "k.run", "-o", "./k.run"]);
    expect([code, err]).toEqual([2, "error: --output ./k.run is the file that is read as run k.run; name another\n"]);
    expect(readFileSync(join(dir, "k.run"))).toEqual(before);
    expect((await run(["report", "k.run", "-o", "k.html"])).code).toBe(0);
  });
});

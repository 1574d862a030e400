import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { tinyReplay, tinyWorkload } from "../tiny-workload.fixture.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);
const requests = tinyReplay.slice(1);

describe("serve-view", () => {
  test("serves a page while the replay runs, until it is interrupted", async () => {
    let interrupt = (): void => {};
    const seen: Promise<Response>[] = [];
    const printed = await run(["serve-view", ...requests, "--speed", "1000", "--json"], {
      onListening: (callback) => {
        interrupt = callback;
      },
      onOut: (text) => {
        const { url } = JSON.parse(text);
        const page = fetch(url);
        seen.push(page);
        void page.finally(() => interrupt());
      },
    });
    expect(printed.code).toBe(0);
    const [page] = await Promise.all(seen);
    expect(page?.status).toBe(200);
    expect(await page?.text()).toMatch(/<!doctype html>/i);
    const view = JSON.parse(printed.out);
    expect(view).toMatchObject({ policy: "slicescheduler", speed: 1000, token: null });
    expect(view.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    await expect(fetch(view.url)).rejects.toThrow();
  });

  test("--exit ends with the replay; --control makes a token", async () => {
    const { code, out, err } = await run([
      "serve-view",
      ...requests,
      "--speed",
      "1000",
      "--exit",
      "--control",
      "--json",
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(out).token).toMatch(/^[\w-]{32}$/);
    expect(err).toContain("the replay is over\n");
    expect(err).toContain("it ends with the replay, or by Ctrl+C");
  });

  test("on all addresses: it answers under the one it prints, warns, and names the option for others", async () => {
    let interrupt = (): void => {};
    const seen: Promise<Response>[] = [];
    const { code, err } = await run(["serve-view", ...requests, "--host", "0.0.0.0", "--json"], {
      onListening: (callback) => {
        interrupt = callback;
      },
      onOut: (text) => {
        const page = fetch(JSON.parse(text).url);
        seen.push(page);
        void page.finally(() => interrupt());
      },
    });
    expect([code, (await seen[0])?.status]).toEqual([0, 200]);
    expect(err).toMatch(/open to everybody in the network; .* names given with --allow-host/);
  });

  test("with every accelerator drained on the page the replay goes on to its end", async () => {
    const rows = Array.from({ length: 32 }, (_, index) => `${index * 250_000_000},100,2,chat,,`);
    writeFileSync(
      join(dir, "long.csv"),
      `arrivalNs,inputTokens,outputTokens,tenant,class,session\n${rows.join("\n")}\n`,
    );
    const statuses: Promise<number>[] = [];
    const longer = ["--trace", "long.csv", "--recipe", "plain", "--speed", "0.2"];
    const { code, err } = await run(["serve-view", ...longer, "--control", "--exit", "--json"], {
      onOut: (text) => {
        const { url, token } = JSON.parse(text);
        const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
        for (const name of ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"]) {
          const body = JSON.stringify({ action: "drain", accelerator: name });
          statuses.push(fetch(`${url}api/actions`, { method: "POST", headers, body }).then(({ status }) => status));
        }
      },
    });
    expect([code, err]).toEqual([0, expect.stringContaining("the replay is over")]);
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
    expect(statuses).toHaveLength(8);
  });

  test("faults of options, and of the live view, in a line each", async () => {
    const { code, err } = await run(["serve-view", "--speed", "0", "--port", "99999", "--policy", "x"]);
    expect(code).toBe(2);
    expect(err.trimEnd().split("\n")).toHaveLength(3);
    const host = await run(["serve-view", ...requests, "--host", "192.0.2.1", "--exit"]);
    expect([host.code, host.err]).toEqual([2, expect.stringMatching(/^error: /)]);
  });
});

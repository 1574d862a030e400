import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startLive } from "./live.ts";

/** What comes true sooner or later; machines are shared. */
const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: 60_000 });

const dashboard = readFileSync(new URL("../../docs/dashboards/slicescheduler.json", import.meta.url), "utf8");

/** Operators of a class that were done, in a text that was scraped. */
const done = (text: string, of: string) =>
  Number(
    new RegExp(`^slicescheduler_operators_total\\{class="${of}",tenant="\\w+",outcome="done"\\} (\\d+)`, "m").exec(
      text,
    )?.[1] ?? 0,
  );

test("what is scraped moves on, has every label value the dashboard asks for, and the page is there", async () => {
  const live = await startLive();
  try {
    const scrape = async () => {
      const response = await fetch(live.metricsUrl);
      expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
      return response.text();
    };
    const first = await scrape();
    for (const of of ["online", "offline"]) {
      await eventually(async () => done(await scrape(), of)).toBeGreaterThan(done(first, of) + 3);
    }
    const text = await scrape();
    expect(text).toMatch(
      /slicescheduler_operator_duration_seconds_bucket\{le="0\.1",class="online",kind="virtual"\} [1-9]/,
    );
    expect(text).toContain('slicescheduler_hbm_capacity_bytes{accelerator="a0"} 32000000');
    // What is compared with "=" has to be there: a misspelt value would show nothing, for ever.
    const compared = [...dashboard.matchAll(/(\w+)=\\"(\w+)\\"/g)].map(([, label, value]) => `${label}="${value}"`);
    expect(new Set(compared)).toEqual(
      new Set(['outcome="done"', 'outcome="failed"', 'state="idle"', 'direction="in"']),
    );
    for (const pair of compared)
      if (pair !== 'outcome="failed"')
        expect([pair, text.includes(pair) || pair === 'direction="in"']).toEqual([pair, true]);
    expect((await fetch(live.viewUrl)).status).toBe(200);
  } finally {
    await live.close();
  }
});

test("with every accelerator drained in the live view it refuses and waits, and goes on once one is resumed", async () => {
  const token = "a token of some length";
  const live = await startLive({ token });
  try {
    const act = async (action: "drain" | "resume", accelerator: string) => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
      const body = JSON.stringify({ action, accelerator });
      const answer = await fetch(`${live.viewUrl}api/actions`, { method: "POST", headers, body });
      expect(answer.status).toBe(200);
    };
    const scrape = async () => (await fetch(live.metricsUrl)).text();
    const refused = async () =>
      Number(/^slicescheduler_refusals_total\{code="ACCELERATOR_UNAVAILABLE"\} (\d+)/m.exec(await scrape())?.[1] ?? 0);
    await eventually(async () => done(await scrape(), "offline")).toBeGreaterThan(3);
    for (const accelerator of ["a0", "a1", "a2"]) await act("drain", accelerator);
    // Chats every tenth of a second, and each of the six of the batch once a second.
    await eventually(refused).toBeGreaterThan(30);
    await eventually(() => live.scheduler.stats().issuedOperators).toBe(0);
    const before = await scrape();
    await act("resume", "a1");
    for (const of of ["online", "offline"])
      await eventually(async () => done(await scrape(), of)).toBeGreaterThan(done(before, of) + 3);
  } finally {
    await live.close();
  }
});

import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type LiveView, type LiveViewOptions, serveLiveView } from "../src/index.ts";
import { world } from "./world.ts";

const TOKEN = "correct horse battery staple";
const open: LiveView[] = [];

afterEach(async () => {
  for (const view of open.splice(0)) await view.close();
});

async function served(options: LiveViewOptions = {}) {
  const it = world();
  const view = await serveLiveView(it.scheduler, options);
  open.push(view);
  return { ...it, view };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Sends exactly these headers, a foreign Host included. */
function ask(view: LiveView, path: string, options: { method?: string; headers?: object; body?: string } = {}) {
  const { method = "GET", headers = {}, body } = options;
  return new Promise<Answer>((resolve, reject) => {
    const request = httpRequest(
      { host: "127.0.0.1", port: view.port, path, method, headers: { ...headers } },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

const json = { "content-type": "application/json" };
const act = (view: LiveView, action: object, headers: object = { authorization: `Bearer ${TOKEN}` }) =>
  ask(view, "/api/actions", { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(action) });

/** The states of a stream, as they come. */
async function* states(view: LiveView) {
  const abort = new AbortController();
  const response = await fetch(`${view.url}events`, { signal: abort.signal });
  expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  let text = "";
  try {
    for await (const chunk of (response.body ?? expect.fail()).pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const [, data] = /^event: state\ndata: (.*)$/.exec(text.slice(0, end)) ?? [];
        text = text.slice(end + 2);
        if (data !== undefined) yield JSON.parse(data);
      }
    }
  } finally {
    abort.abort();
  }
}

async function until(isTrue: () => boolean) {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

test("serves a page of its own, with nothing from elsewhere and nothing inline", async () => {
  const { view } = await served({ title: 'A "cluster" <b>' });
  const page = await ask(view, "/");
  expect(page.status).toBe(200);
  expect(page.headers["content-security-policy"]).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/);
  expect(page.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  expect(page.headers["x-content-type-options"]).toBe("nosniff");
  expect(page.headers["access-control-allow-origin"]).toBeUndefined();
  expect(page.text).toContain("A &quot;cluster&quot; &lt;b&gt;");
  expect(page.text).not.toMatch(/https?:\/\/|<script>|<style>|\son\w+=|style=/);
  const script = await ask(view, "/view.js");
  expect(script.headers["content-type"]).toBe("text/javascript; charset=utf-8");
  expect(script.text).not.toMatch(/https?:\/\/|innerHTML|eval\(/);
  expect((await ask(view, "/view.css")).headers["content-type"]).toBe("text/css; charset=utf-8");
  expect((await ask(view, "/nothing")).status).toBe(404);
  expect((await ask(view, "/", { method: "DELETE" })).status).toBe(405);
  expect((await ask(view, "/api/actions")).status).toBe(405);
});

test("streams the state as it changes, and stops when nobody looks", async () => {
  const { view, busy, time } = await served({ intervalMs: 100 });
  const stream = states(view);
  expect((await stream.next()).value.figures[0]).toEqual(["Requests", "0"]);
  expect(view.clients).toBe(1);
  busy();
  const second = (await stream.next()).value;
  expect(second.figures[0]).toEqual(["Requests", "7"]);
  expect(second.decisions.length).toBeGreaterThan(0);
  time.run();
  expect((await stream.next()).value.figures[0]).toEqual(["Requests", "0"]);
  await stream.return(undefined);
  await until(() => view.clients === 0);
});

test("no more pages may look than it was told, and closing ends them", async () => {
  const { view } = await served({ clientsMax: 2 });
  const streams = [states(view), states(view)];
  for (const stream of streams) await stream.next();
  expect((await ask(view, "/events")).status).toBe(503);
  const ends = streams.map((stream) => stream.next().catch(() => ({ done: true })));
  await view.close();
  expect((await Promise.all(ends)).every(({ done }) => done)).toBe(true);
  await expect(ask(view, "/")).rejects.toThrow();
});

describe("foreign pages", () => {
  test("a name that was made to point here, or a page from elsewhere, gets nothing but 403", async () => {
    const { view, scheduler, submit } = await served({ token: TOKEN });
    submit(1e9, "x");
    for (const path of ["/", "/view.js", "/events", "/api/instances/0"]) {
      for (const headers of [
        { host: `evil.example:${view.port}` },
        { origin: "http://evil.example" },
        { origin: "null" },
        { "sec-fetch-site": "cross-site" },
      ]) {
        const answer = await ask(view, path, { headers });
        expect([path, headers, answer.status]).toEqual([path, headers, 403]);
        expect(answer.text).not.toContain("chain");
        expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
      }
    }
    for (const headers of [{ host: `evil.example:${view.port}` }, { origin: "http://evil.example" }]) {
      const answer = await act(
        view,
        { action: "drain", accelerator: "a0" },
        { ...headers, authorization: `Bearer ${TOKEN}` },
      );
      expect(answer.status).toBe(403);
    }
    expect(
      (await ask(view, "/api/actions", { method: "OPTIONS", headers: { origin: "http://evil.example" } })).status,
    ).toBe(403);
    expect(scheduler.overview().accelerators[0]?.state).toBe("up");
  });

  test("a name that was allowed may, a request without any may not", async () => {
    const { view } = await served({ allowedHosts: ["ops.example"] });
    expect((await ask(view, "/", { headers: { host: "ops.example" } })).status).toBe(200);
    const refused = await ask(view, "/", { headers: { host: "other.example" } });
    expect(JSON.parse(refused.text).error.message).toBe(
      'the live view does not answer to the name "other.example"; allow it with --allow-host of serve-view, or the option allowedHosts',
    );
    const raw = await new Promise<string>((resolve, reject) => {
      const socket = connect(view.port, "127.0.0.1", () => socket.write("GET / HTTP/1.0\r\n\r\n"));
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk.toString();
      });
      socket.on("close", () => resolve(text));
      socket.on("error", reject);
    });
    expect(raw).toMatch(/^HTTP\/1\.1 403/);
  });
});

describe("actions", () => {
  test("without a token nothing can be changed, whatever is sent", async () => {
    const { view, scheduler, submit } = await served();
    submit(1e9, "x");
    for (const headers of [{}, { authorization: `Bearer ${TOKEN}` }, { authorization: "Bearer undefined" }])
      expect((await act(view, { action: "cancel", instance: 0 }, headers)).status).toBe(403);
    expect(scheduler.stats().instances).toBe(1);
    expect((await ask(view, "/")).text).toContain('data-read-only="true"');
  });

  test("with it accelerators are drained and resumed, and instances cancelled", async () => {
    const { view, scheduler, submit, time } = await served({ token: TOKEN });
    const handle = submit(1e9, "x");
    for (const headers of [{}, { authorization: "Bearer wrong" }])
      expect((await act(view, { action: "drain", accelerator: "a0" }, headers)).status).toBe(401);
    expect(scheduler.overview().accelerators[0]?.state).toBe("up");
    expect((await act(view, { action: "drain", accelerator: "a0" })).status).toBe(200);
    // Nothing lies there: it is over at once.
    expect(scheduler.overview().accelerators[0]?.state).toBe("drained");
    expect((await act(view, { action: "resume", accelerator: "a0" })).status).toBe(200);
    expect(scheduler.overview().accelerators[0]?.state).toBe("up");
    expect((await act(view, { action: "cancel", instance: handle.id })).status).toBe(200);
    await expect(handle.done).rejects.toMatchObject({ code: "INSTANCE_CANCELLED" });
    time.run();
  });

  test("what is no action is refused with its reason", async () => {
    const { view } = await served({ token: TOKEN });
    const code = async (answer: Promise<Answer>) => JSON.parse((await answer).text).error.code;
    expect(await code(act(view, { action: "drain", accelerator: "nowhere" }))).toBe("UNKNOWN_ACCELERATOR");
    expect(await code(act(view, { action: "cancel", instance: 99 }))).toBe("UNKNOWN_INSTANCE");
    for (const action of [{}, { action: "drain" }, { action: "__proto__" }, { action: "cancel", instance: "0" }, []])
      expect(await code(act(view, action))).toBe("NO_ACTION");
    const authorization = `Bearer ${TOKEN}`;
    const post = (headers: object, body: string) =>
      ask(view, "/api/actions", { method: "POST", headers: { authorization, ...headers }, body });
    expect(await code(post({ "content-type": "text/plain" }, "{}"))).toBe("NOT_JSON");
    expect(await code(post({ "content-type": "application/x-www-form-urlencoded" }, "{}"))).toBe("NOT_JSON");
    expect(await code(post(json, "{"))).toBe("NO_ACTION");
    expect(await code(post(json, JSON.stringify({ action: "x".repeat(5000) })))).toBe("TOO_LARGE");
  });

  test("an instance is explained, a few times a second", async () => {
    let nowMs = 0;
    const { view, submit } = await served({ time: { nowMs: () => nowMs, after: () => () => {} } });
    submit(1e9, "x");
    const status = async (id: string) => (await ask(view, `/api/instances/${id}`)).status;
    const known = await ask(view, "/api/instances/0");
    expect(JSON.parse(known.text)).toMatchObject({ operators: { rows: [{ key: "attention" }, { key: "mlp" }] } });
    expect(await status("77")).toBe(404);
    expect(await status("-1")).toBe(404);
    for (let asked = 2; asked < 10; asked++) expect(await status("0")).toBe(200);
    expect(await status("0")).toBe(429);
    nowMs += 1000;
    expect(await status("0")).toBe(200);
  });
});

test("wrong options are refused, all at once; a taken port is said", async () => {
  const { view, scheduler } = await served();
  const wrong = { port: 70_000, rows: 0, intervalMs: 1, token: "short", colour: "red" };
  const error = await serveLiveView(scheduler, wrong).catch((error: unknown) => error);
  expect(error).toMatchObject({ code: "INVALID_OPTIONS" });
  expect((error as { faults: string[] }).faults).toHaveLength(5);
  await expect(serveLiveView(scheduler, { port: view.port })).rejects.toMatchObject({ code: "ADDRESS_UNAVAILABLE" });
  await view.close();
  await view.close();
});

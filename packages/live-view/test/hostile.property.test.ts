import { connect } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { serveLiveView } from "../src/index.ts";
import { world } from "./world.ts";

/** What comes back for exactly these bytes, until the other end has said all. */
function sent(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes));
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      // A stream does not end by itself.
      if (text.includes("text/event-stream")) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(text));
  });
}

test("no request takes it down, changes anything, or is answered to a name that it does not have", async () => {
  const { scheduler, submit } = world();
  submit(1e9, "x");
  const token = "correct horse battery staple";
  const view = await serveLiveView(scheduler, { token, clientsMax: 1000 });
  const before = JSON.stringify(scheduler.overview());
  const names = [`127.0.0.1:${view.port}`, `localhost:${view.port}`, "evil.example", "", `evil.example:${view.port}`];
  const line = fc.string({ maxLength: 60 }).map((text) => text.replace(/[\r\n]/g, ""));
  const request = fc.record({
    method: fc.constantFrom("GET", "POST", "HEAD", "OPTIONS", "PUT", "TRACE", "FETCH"),
    path: fc.oneof(
      fc.constantFrom(
        "/",
        "/events",
        "/view.js",
        "/api/actions",
        "/api/instances/0",
        "/api/instances/99999999999999999999",
        "/../etc/passwd",
        "*",
        "//",
      ),
      line,
    ),
    host: fc.constantFrom(...names),
    headers: fc.array(
      fc.tuple(
        fc.constantFrom("Origin", "Sec-Fetch-Site", "Authorization", "Content-Type", "X-Any", "Transfer-Encoding"),
        line,
      ),
      { maxLength: 3 },
    ),
    body: fc.oneof(
      fc.json(),
      line,
      fc.constant('{"action":"drain","accelerator":"a0"}'),
      fc.constant('{"action":"cancel","instance":0}'),
    ),
  });
  try {
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, host, headers, body }) => {
        const head = [
          `${method} ${path} HTTP/1.1`,
          `Host: ${host}`,
          "Connection: close",
          `Content-Length: ${Buffer.byteLength(body)}`,
        ];
        const answer = await sent(
          view.port,
          `${[...head, ...headers.map(([name, text]) => `${name}: ${text}`)].join("\r\n")}\r\n\r\n${body}`,
        );
        const [, status] = /^HTTP\/1\.1 (\d+)/.exec(answer) ?? [];
        if (status === "200") expect(names.slice(0, 2)).toContain(host);
        expect(Number(status ?? 400)).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
    expect(JSON.stringify(scheduler.overview())).toBe(before);
    expect((await fetch(view.url)).status).toBe(200);
  } finally {
    await view.close();
  }
});

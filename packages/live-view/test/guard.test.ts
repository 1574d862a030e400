import { describe, expect, test } from "vitest";
import { Guard } from "../src/guard.ts";
import { TokenCheck } from "../src/token.ts";

const guard = new Guard(4000, ["ops.example", "proxy.example:8443"]);
const asked = (headers: Record<string, string>, path = "/events", method = "GET") =>
  guard.refusal({ method, path, headers })?.code ?? null;

describe("guard", () => {
  test("answers to this machine's names and those allowed, on its port", () => {
    for (const host of [
      "127.0.0.1:4000",
      "localhost:4000",
      "LOCALHOST:4000",
      "[::1]:4000",
      "ops.example",
      "ops.example:4000",
      "proxy.example:8443",
    ])
      expect([host, asked({ host })]).toEqual([host, null]);
  });

  test("refuses every other name, so that a rebound one does not help", () => {
    for (const host of [
      "",
      "evil.example",
      "evil.example:4000",
      "localhost:4001",
      "localhost",
      "localhost.evil.example:4000",
      "127.0.0.1.nip.example:4000",
      "proxy.example:4000",
      "ops.example:9",
    ])
      expect([host, asked({ host })]).toEqual([host, "FOREIGN_HOST"]);
    expect(asked({})).toBe("FOREIGN_HOST");
  });

  test("refuses pages from elsewhere, by their origin or by where the browser says they are", () => {
    const host = "localhost:4000";
    for (const origin of ["http://localhost:4000", "http://127.0.0.1:4000", "https://ops.example"])
      expect([origin, asked({ host, origin })]).toEqual([origin, null]);
    for (const origin of [
      "http://evil.example",
      "null",
      "http://localhost:4001",
      "http://localhost:4000.evil.example",
      "file://",
      "http://evil.example/localhost:4000",
    ])
      expect([origin, asked({ host, origin })]).toEqual([origin, "FOREIGN_ORIGIN"]);
    const from = (site: string) => ({ host, "sec-fetch-site": site });
    expect(asked(from("same-origin"))).toBeNull();
    expect(asked(from("none"))).toBeNull();
    expect(asked(from("cross-site"))).toBe("FOREIGN_ORIGIN");
    expect(asked(from("same-site"))).toBe("FOREIGN_ORIGIN");
    // A link from elsewhere leads to the page only.
    expect(asked({ ...from("cross-site"), "sec-fetch-mode": "navigate" }, "/")).toBeNull();
    expect(asked({ ...from("cross-site"), "sec-fetch-mode": "navigate" }, "/events")).toBe("FOREIGN_ORIGIN");
    expect(asked({ ...from("cross-site"), "sec-fetch-mode": "navigate" }, "/", "POST")).toBe("FOREIGN_ORIGIN");
  });
});

describe("token", () => {
  const token = "a-token-of-some-length";

  test("only the very token passes", () => {
    const check = new TokenCheck(token, () => 0);
    expect(check.isReadOnly).toBe(false);
    expect(check.refusal(`Bearer ${token}`)).toBeNull();
    for (const wrong of [
      undefined,
      "",
      token,
      `Basic ${token}`,
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      "Bearer ",
    ])
      expect([wrong, check.refusal(wrong)?.status]).toEqual([wrong, 401]);
  });

  test("after ten wrong ones nobody's is looked at for the rest of the minute", () => {
    let nowMs = 1000;
    const check = new TokenCheck(token, () => nowMs);
    for (let i = 0; i < 10; i++) expect(check.refusal("Bearer wrong")?.status).toBe(401);
    expect(check.refusal("Bearer wrong")?.status).toBe(429);
    expect(check.refusal(`Bearer ${token}`)?.status).toBe(429);
    nowMs += 60_001;
    expect(check.refusal(`Bearer ${token}`)).toBeNull();
  });

  test("without one nothing passes", () => {
    const check = new TokenCheck(null, () => 0);
    expect(check.isReadOnly).toBe(true);
    expect(check.refusal("Bearer ")?.code).toBe("READ_ONLY");
    expect(check.refusal("Bearer null")?.code).toBe("READ_ONLY");
  });
});

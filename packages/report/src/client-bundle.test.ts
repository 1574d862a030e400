import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { clientBundle } from "../scripts/bundle-client.mjs";
import { clientScript, clientStyle } from "./client-bundle.ts";

test("the bundle is what its sources give", async () => {
  const committed = readFileSync(fileURLToPath(new URL("./client-bundle.ts", import.meta.url)), "utf8");
  const fresh = await clientBundle();
  expect(committed === fresh, "stale: run node packages/report/scripts/bundle-client.mjs").toBe(true);
});

test("nothing in it ends the element that holds it, or asks for anything from elsewhere", () => {
  expect(clientScript).not.toMatch(/<\/script|<!--/i);
  expect(clientStyle).not.toMatch(/<\/style|@import|url\(/i);
  expect(clientScript).not.toMatch(/\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|\beval\(|new Function/);
});

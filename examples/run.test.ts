import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const here = import.meta.dirname;
const folders = readdirSync(here, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const isRun = (name: string) => existsSync(join(here, name, "main.ts"));
/** They run until they are interrupted. */
const SERVERS = ["live", "openai-server"];
const run = join(here, "run.mjs");

test.each(folders.filter((name) => isRun(name) && !SERVERS.includes(name)))(
  "%s runs as its reader would run it",
  (name) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [run, name], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout.length).toBeGreaterThan(50);
    expect(stdout).not.toMatch(/NaN|undefined|never/);
  },
);

test.each(SERVERS)("%s serves the pages that it names, and ends when it is interrupted", async (name) => {
  const env = { ...process.env, PORT: "0", METRICS_PORT: "0", VIEW_PORT: "0", LIVE_PORT: "0" };
  const server = spawn(process.execPath, [run, name], { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  try {
    let out = "";
    server.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    await expect.poll(() => out, { timeout: 60_000 }).toContain("to look at it");
    const pages = [...out.matchAll(/http:\S+\/(?:metrics)?(?= )/g)].map(([url]) => url);
    expect(pages).toHaveLength(2);
    for (const url of pages) expect([url, (await fetch(url)).status]).toEqual([url, 200]);
    server.kill("SIGINT");
    expect(await ended).toBe(0);
  } finally {
    server.kill("SIGKILL");
  }
});

test("a name that is none is answered with those that there are", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [run, "constructor"], { encoding: "utf8" });
  expect([status, stdout]).toEqual([2, ""]);
  for (const name of folders.filter(isRun)) expect(stderr).toContain(name);
});

test("README.md has a line for each, with a file that is there", () => {
  const links = [
    ...readFileSync(join(here, "README.md"), "utf8").matchAll(/^\| \[([\w-]+)\]\(([^)]+)\) \| .{10,} \|$/gm),
  ];
  expect(links.map(([, name]) => name).sort()).toEqual(folders.sort());
  for (const [, , file = ""] of links) expect([file, existsSync(join(here, file))]).toEqual([file, true]);
});

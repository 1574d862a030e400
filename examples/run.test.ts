import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { libtorchAvailable } from "@slicescheduler/executor-libtorch";
import { expect, test } from "vitest";

const here = import.meta.dirname;
const folders = readdirSync(here, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const isRun = (name: string) => existsSync(join(here, name, "main.ts"));
/** They run until they are interrupted. */
const SERVERS = ["live", "openai-server"];
const run = join(here, "run.mjs");

const isLackingLibtorch = (name: string) => name === "llama-libtorch" && !libtorchAvailable();

test.each(folders.filter((name) => isRun(name) && !SERVERS.includes(name) && !isLackingLibtorch(name)))(
  "%s runs as its reader would run it",
  (name) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [run, name], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout.length).toBeGreaterThan(50);
    expect(stdout).not.toMatch(/NaN|undefined|never/);
  },
);

test.skipIf(libtorchAvailable())("llama-libtorch says what it lacks where that is not set up", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [run, "llama-libtorch"], { encoding: "utf8" });
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^LibTorch is not set up here: `npm run setup:libtorch` .*\n$/);
});

test("a setting that is none, or a port that is taken, is told in one line", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  const none = { PORT: "0", LIVE_PORT: "0", METRICS_PORT: "0", VIEW_PORT: "0" };
  const free = "to another one, or to 0 for any that is free";
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, number, string])[] = [
    [
      "openai-server",
      { PORT: "abc" },
      2,
      'PORT is "abc": a port is a whole number from 0, for any that is free, to 65535',
    ],
    ["openai-server", { PORT: String(port) }, 1, `port ${port} is taken: set PORT ${free}`],
    ["openai-server", { LIVE_PORT: String(port) }, 1, `port ${port} is taken: set LIVE_PORT ${free}`],
    ["openai-server", { LIVE_TOKEN: "abc" }, 2, "LIVE_TOKEN has 3 characters: a token has at least 16, random ones"],
    [
      "live",
      { VIEW_PORT: "70000" },
      2,
      'VIEW_PORT is "70000": a port is a whole number from 0, for any that is free, to 65535',
    ],
    ["live", { METRICS_PORT: String(port) }, 1, `port ${port} is taken: set METRICS_PORT ${free}`],
    ["live", { VIEW_PORT: String(port) }, 1, `port ${port} is taken: set VIEW_PORT ${free}`],
    ["live", { TOKEN: "abc" }, 2, "TOKEN has 3 characters: a token has at least 16, random ones"],
  ];
  for (const [name, settings, code, line] of cases) {
    const env = { ...process.env, ...none, ...settings };
    const { status, stdout, stderr } = spawnSync(process.execPath, [run, name], { encoding: "utf8", env });
    expect([name, status, stdout, stderr]).toEqual([name, code, "", `${line}\n`]);
  }
  taken.close();
});

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

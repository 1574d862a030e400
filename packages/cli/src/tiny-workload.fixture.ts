/** A few requests, so that a real replay takes a moment. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replay } from "@slicescheduler/workloads";
import { type Ran, type RunOptions, runMain } from "./main.fixture.ts";

export interface TinyWorkload {
  /** Its folder, with `tiny.csv` in it. */
  readonly dir: string;
  /** Takes its folder away. */
  remove(): void;
  /** Runs a command in that folder, replays for real. */
  run(args: readonly string[], options?: RunOptions): Promise<Ran>;
}

/** In the canonical form: three tenants' requests and two that may wait. */
const requests = [
  "arrivalNs,inputTokens,outputTokens,tenant,class,session",
  "0,300,4,chat,,",
  "200000000,500,2,chat,,",
  "250000000,900,3,code,,",
  "300000000,2048,3,,offline,",
  "900000000,100,5,search,,",
  "1200000000,2048,2,,offline,",
];

export function tinyWorkload(): TinyWorkload {
  const dir = mkdtempSync(join(tmpdir(), "cli-"));
  writeFileSync(join(dir, "tiny.csv"), `${requests.join("\n")}\n`);
  return {
    dir,
    remove: () => rmSync(dir, { recursive: true }),
    run: (args, options = {}) => runMain(args, { replay, cwd: dir, ...options }),
  };
}

/** Options that replay it. */
export const tinyReplay: readonly string[] = ["replay", "--trace", "tiny.csv", "--recipe", "plain"];

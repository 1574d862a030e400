import { test } from "vitest";
import { WorkloadRun } from "../workload-run.ts";
import { chaosWorld } from "./chaos-world.ts";
test("dbg", async () => {
  for (const seed of (process.env.SEEDS ?? "").split(",").map(Number)) {
    const run = new WorkloadRun(chaosWorld(seed));
    let n = 1e9;
    run.scheduler.on("acceleratorLost", ({ acceleratorName, atNs }) => { run.time.at(atNs + 20e9, { kind: 3, number: n++ }, () => run.scheduler.resumeAccelerator(acceleratorName)); });
    try { while (run.step()) if (run.errors.length > 0) throw run.errors[0]; } catch (e) {
      console.log(seed, (e as Error).stack?.split("\n").slice(0, 14).join("\n"), JSON.stringify(run.recorded.slice(-Number(process.env.N ?? 4)).map(({ event, nowNs, instructions }) => [nowNs, event, instructions.map((i) => ({...i, symbols: undefined, template: undefined}))])).replaceAll("],[", "],\n["));
    }
  }
}, 600000);

import { test } from "vitest";
import { WorkloadRun } from "../workload-run.ts";
import { chaosWorld } from "./chaos-world.ts";
test("dbg", async () => {
  const run = new WorkloadRun(chaosWorld(145));
  let n = 1e9;
  const lines: string[] = [];
  const s = run.scheduler as any;
  run.scheduler.on("acceleratorLost", ({ acceleratorName, atNs }) => { run.time.at(atNs + 20e9, { kind: 3, number: n++ }, () => run.scheduler.resumeAccelerator(acceleratorName)); });
  for (const name of ["operatorIssued","operatorStarted","operatorDone","operatorFailed","operatorWithdrawn","instanceDone","instanceFailed","instanceCancelled","acceleratorLost","acceleratorReturned","acceleratorSuspect","transferQuarantined","transferReleased"]) s.on(name, (v: any) => { if (v.instance === undefined || v.instance === 0) lines.push(`${v.atNs / 1e6} ${name} ${v.instance ?? ""} ${v.operatorName ?? ""} ${v.acceleratorName ?? ""} ${v.reason ?? ""} ${v.error?.message ?? ""} ${v.again ?? ""}`.slice(0, 200)); });
  while (run.step()) { if (run.watcher.found.length > 0) break; }
  console.log(lines.join("\n"));
}, 600000);

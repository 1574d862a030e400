import { EVENT_KIND } from "@slicescheduler/executor";
import { expect, test } from "vitest";
import { EMPTY, overdueWorld } from "./overdue.fixture.ts";

const onto1 = { partitions: ["01"], symbols: {} };

/**
 * Transfer 0 has the ports of both accelerators from 50 ns to 160 ns. Transfers 1 and 2 are offline intents by then; at 155 ns somebody online
 * wants what transfer 2 brings.
 */
function competing(cancelsAtNs: number | null) {
  // So many may be issued that nobody has to give way.
  const scheduling = { operatorsPerAcceleratorMax: 16, simulatedOperatorsPerMs: 1e9, timeliness: 1e6 };
  const { time, scheduler, told, pass, make, far, atRest } = overdueWorld({}, { scheduling });
  scheduler.submit(pass, { ...onto1, priority: "offline" });
  const request = scheduler.openRequest({ concurrentInstances: 8, chains: 8, partitions: ["01"], priority: "offline" });
  const made = [0, 1].map(() => scheduler.submit(make, { request, symbols: {}, retain: ["made"] }));
  const reading = made.map((each) => ({ request, symbols: {}, inputs: { made: each.output("made") } }));
  for (const each of reading) scheduler.submit(far, each);
  const asks = { kind: EVENT_KIND.application, number: 0 };
  time.at(155, asks, () => {
    const urgent = scheduler.submit(far, { ...(reading[1] as (typeof reading)[number]), priority: "online" });
    urgent.done.catch(() => {});
    if (cancelsAtNs !== null) time.at(cancelsAtNs, asks, () => urgent.cancel());
    scheduler.validate();
  });
  time.run();
  for (const each of made) each.release("made");
  request.close();
  expect(atRest()).toEqual(EMPTY);
  return told.filter((line) => line.includes("transferDone"));
}

test("an intent becomes as urgent as who joins those that wait for it", () => {
  expect(competing(null)).toEqual(["160 transferDone 0", "270 transferDone 2", "380 transferDone 1"]);
});

test("and falls back when that one is cancelled before it is selected", () => {
  expect(competing(157)).toEqual(["160 transferDone 0", "270 transferDone 1", "380 transferDone 2"]);
  expect(competing(161)).toEqual(["160 transferDone 0", "270 transferDone 2", "380 transferDone 1"]);
});

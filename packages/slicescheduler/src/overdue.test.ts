import { EVENT_KIND } from "@slicescheduler/executor";
import { expect, test, vi } from "vitest";
import { DEADLINE_MIN_NS, EMPTY, overdueWorld } from "./overdue.fixture.ts";

const onto1 = { partitions: ["01"], symbols: {} };

/** Of the first transfer. */
const isEndOf0 = (event: { type: string; transfer?: number }) => event.type === "transferDone" && event.transfer === 0;
const isReadyOf0 = (event: { type: string; transfer?: number }) => event.type === "recvReady" && event.transfer === 0;

test("when an end never comes, who waits for it fails at the deadline by itself, and others go on over the same ports", async () => {
  const { time, scheduler, told, pass, again, atRest } = overdueWorld({ movesNs: 1e6 });
  const stuck = scheduler.submit(pass, onto1);
  const next = scheduler.submit(pass, onto1);
  time.run(5000);
  // Made at 50 ns, the data of both take 110 ns; the first has its ports until its deadline.
  const overdueNs = 50 + DEADLINE_MIN_NS;
  expect(told).toEqual([
    `${overdueNs} transferQuarantined 0 sending`,
    `${overdueNs} instanceFailed 0`,
    `${overdueNs + 110} transferDone 1`,
    `${overdueNs + 160} instanceDone 1`,
  ]);
  await expect(stuck.done).rejects.toMatchObject({
    code: "TRANSFER_OVERDUE",
    details: {
      instance: 0,
      transfer: 0,
      sourceName: "a0",
      destinationName: "a1",
      bytes: 100,
      from: "sending",
      sinceNs: 50,
      deadlineNs: overdueNs,
      atNs: overdueNs,
    },
  });
  await expect(next.done).resolves.toMatchObject({ doneNs: overdueNs + 160 });
  // Both buffers stay, since something may still read one and write the other.
  expect(atRest().master).toEqual([1, 1, 0, 100, 100, 0]);
  expect(scheduler.stats().accelerators.map(({ quarantinedTransfers }) => quarantinedTransfers)).toEqual([1, 1, 0]);
  time.run();
  expect(told.at(-1)).toBe("1000050 transferReleased 0 done");
  expect(atRest()).toEqual(EMPTY);
  const { lateEvents } = scheduler.stats();
  again({ type: "transferDone", transfer: 0, observedNs: 110 });
  again({ type: "transferFailed", transfer: 0, reason: "late" });
  expect(scheduler.stats().lateEvents).toBe(lateEvents + 2);
  expect(atRest()).toEqual(EMPTY);
  expect(told.filter((line) => line.includes("Released"))).toHaveLength(1);
});

test("a late end tells the estimators nothing, whatever it says it took", () => {
  const { time, scheduler, pass } = overdueWorld({ movesNs: 1e6 });
  scheduler.submit(pass, onto1);
  time.run();
  const beginNs = time.nowNs();
  const { id } = scheduler.submit(pass, onto1);
  expect(scheduler.plan().instances).toMatchObject([
    // Nothing of the second operator was observed: it is taken for 1000 ns.
    { instance: id, endNs: beginNs + 50 + 110 + 1000 },
  ]);
  time.run();
  expect(time.nowNs()).toBe(beginNs + 210);
});

test.each(["transferFailed", "transferCancelled"] as const)("%s ends a quarantined transfer as well", (type) => {
  const { time, scheduler, told, pass, again, atRest } = overdueWorld({ keepsBack: isEndOf0 });
  scheduler.submit(pass, onto1);
  time.run();
  again({ type, transfer: 0, reason: "late" });
  expect(told.at(-1)).toBe(`1050 transferReleased 0 ${type.slice(8).toLowerCase()}`);
  expect(atRest().master).toEqual(EMPTY.master);
});

test("one that is stuck before its send is given up: its buffers are free as soon as the executor has heard of it", async () => {
  const { time, scheduler, told, pass, atRest } = overdueWorld({ keepsBack: isReadyOf0 });
  const { done } = scheduler.submit(pass, onto1);
  time.run();
  expect(told).toEqual([
    "1050 transferQuarantined 0 receiving",
    "1050 instanceFailed 0",
    "1050 transferReleased 0 cancelled",
  ]);
  await expect(done).rejects.toMatchObject({ code: "TRANSFER_OVERDUE", details: { from: "receiving" } });
  expect(atRest()).toEqual(EMPTY);
});

test("so is one whose receive buffer was never asked for, as the instruction was lost", () => {
  const { time, scheduler, told, pass, atRest } = overdueWorld({
    keepsBack: () => false,
    drops: ({ type }) => type === "activateRecv",
  });
  scheduler.submit(pass, onto1);
  time.run();
  expect(told.at(-1)).toBe("1050 transferReleased 0 cancelled");
  expect(atRest()).toEqual(EMPTY);
});

test("a receive buffer that is confirmed too late is counted until it is given back, and nothing is sent", () => {
  const { time, scheduler, told, sent, pass, deliver, again, atRest } = overdueWorld({
    keepsBack: (event) => isReadyOf0(event) || event.type === "transferCancelled",
  });
  scheduler.submit(pass, onto1);
  time.run();
  expect(atRest().master).toEqual([1, 1, 0, 100, 0, 0]);
  deliver("recvReady");
  expect(atRest().master).toEqual([1, 1, 0, 100, 100, 0]);
  again({ type: "recvReady", transfer: 0 });
  expect(atRest().master).toEqual([1, 1, 0, 100, 100, 0]);
  expect(sent.some(({ type }) => type === "activateSend")).toBe(false);
  deliver("transferCancelled");
  expect(told.at(-1)).toBe("1050 transferReleased 0 cancelled");
  expect(atRest()).toEqual(EMPTY);
});

test.each(["a0", "a1"])("loss of %s ends a quarantined transfer, once", (name) => {
  const { time, executor, scheduler, told, pass, deliver, atRest } = overdueWorld({ keepsBack: isEndOf0 });
  scheduler.submit(pass, onto1);
  time.run();
  executor.loseAccelerator(name);
  expect(told.filter((line) => line.includes("Released"))).toEqual(["1050 transferReleased 0 lost"]);
  expect(atRest()).toEqual(EMPTY);
  deliver();
  expect(told.filter((line) => line.includes("Released"))).toHaveLength(1);
  executor.returnAccelerator(name);
  const again = scheduler.submit(pass, onto1);
  time.run();
  expect(told.at(-1)).toBe(`${time.nowNs()} instanceDone ${again.id}`);
  expect(atRest()).toEqual(EMPTY);
});

test.each(["late end", "loss"])("a drain waits for a quarantined transfer, until its %s", (how) => {
  const { time, executor, scheduler, told, pass, deliver } = overdueWorld({ keepsBack: isEndOf0 });
  scheduler.submit(pass, onto1);
  scheduler.drainAccelerator("a1");
  time.run();
  expect(told).not.toContain("1050 acceleratorDrained a1");
  expect(scheduler.stats().accelerators[1]).toMatchObject({ name: "a1", quarantinedTransfers: 1 });
  if (how === "loss") executor.loseAccelerator("a1");
  else deliver();
  expect(told).toContain("1050 acceleratorDrained a1");
});

test("whoever comes later and would read the copy that does not come fails at once, until it has come; elsewhere its tensor can be read", async () => {
  const { time, scheduler, told, make, near, far, atRest } = overdueWorld({ movesNs: 1e6 });
  const request = scheduler.openRequest({ concurrentInstances: 4, chains: 4, partitions: ["01"] });
  const made = scheduler.submit(make, { request, symbols: {}, retain: ["made"] });
  const reading = { request, symbols: {}, inputs: { made: made.output("made") } };
  scheduler.submit(far, reading);
  time.run(2000);
  const behind = scheduler.submit(far, reading);
  const beside = scheduler.submit(near, reading);
  time.run(3000);
  expect(told).toEqual([
    "50 instanceDone 0",
    "1050 transferQuarantined 0 sending",
    "1050 instanceFailed 1",
    "2000 instanceFailed 2",
    "2050 instanceDone 3",
  ]);
  await expect(behind.done).rejects.toMatchObject({ code: "TRANSFER_OVERDUE", details: { atNs: 2000 } });
  await expect(beside.done).resolves.toBeDefined();
  time.run();
  scheduler.submit(far, reading);
  time.run();
  expect(told.slice(5)).toEqual(["1000050 transferReleased 0 done", "1000100 instanceDone 4"]);
  made.release("made");
  request.close();
  expect(atRest()).toEqual(EMPTY);
});

test("what is still to be issued and would read the copy that does not come fails with it", () => {
  const { time, scheduler, told, make, far, atRest } = overdueWorld(
    { movesNs: 1e6 },
    { scheduling: { operatorsPerAcceleratorMax: 1 } },
  );
  const request = scheduler.openRequest({ concurrentInstances: 4, chains: 4, partitions: ["01"] });
  const made = scheduler.submit(make, { request, symbols: {} });
  const reading = { request, symbols: {}, inputs: { made: made.output("made") } };
  for (let i = 0; i < 6; i++) scheduler.submit(far, reading);
  expect(scheduler.stats().issuedOperators).toBeLessThan(7);
  time.run(2000);
  expect(told.filter((line) => line.includes("Failed"))).toEqual(
    [1, 2, 3, 4, 5, 6].map((id) => `1050 instanceFailed ${id}`),
  );
  time.run();
  request.close();
  expect(atRest()).toEqual(EMPTY);
});

test("a request that lost another accelerator and cannot leave what is quarantined fails, and so does what comes later", async () => {
  const world = overdueWorld({ movesNs: 1e6 });
  const { time, executor, scheduler, told, make, wide, far, atRest } = world;
  const request = scheduler.openRequest({ concurrentInstances: 4, chains: 4, partitions: ["012"] });
  const made = scheduler.submit(make, { request, symbols: {}, retain: ["made"] });
  scheduler.submit(far, { request, symbols: {}, inputs: { made: made.output("made") } });
  time.run(2000);
  const running = scheduler.submit(wide, { request, symbols: {} });
  time.run(2010);
  executor.loseAccelerator("a2");
  time.run(3000);
  await expect(running.done).rejects.toMatchObject({ code: "TRANSFER_OVERDUE" });
  executor.returnAccelerator("a2");
  const later = scheduler.submit(wide, { request, symbols: {} });
  time.run(4000);
  await expect(later.done).rejects.toMatchObject({ code: "TRANSFER_OVERDUE" });
  time.run();
  expect(told.at(-1)).toBe("1000050 transferReleased 0 done");
  const after = scheduler.submit(wide, { request, symbols: {} });
  time.run();
  await expect(after.done).resolves.toBeDefined();
  made.release("made");
  request.close();
  expect(atRest()).toEqual(EMPTY);
});

test("plans go on beside a quarantined transfer, and while a receive buffer is being allocated", () => {
  const { time, scheduler, told, pass, deliver } = overdueWorld({
    movesNs: 1e6,
    keepsBack: (event) => event.type === "recvReady" && event.transfer === 1,
  });
  scheduler.submit(pass, onto1);
  scheduler.submit(pass, onto1);
  time.run(100);
  // Nothing of the reader was observed: it is taken for 1000 ns.
  expect(scheduler.plan().instances).toMatchObject([{ endNs: 160 + 1000 }, { endNs: 160 + 2000 }]);
  time.run(1060);
  // The second was selected when the first gave up its ports, and is told to be asked for its receive buffer now.
  expect(scheduler.plan().instances).toMatchObject([{ instance: 1, outcome: "done", endNs: 1060 + 110 + 1000 }]);
  const { submitted, plan } = scheduler.whatIf(pass, onto1);
  expect(submitted).toMatchObject([{ outcome: "done" }]);
  expect(plan.stopped).toBe("settled");
  deliver();
  time.run(1300);
  expect(scheduler.plan().instances).toEqual([]);
  expect(told.at(-1)).toBe("1220 instanceDone 1");
  scheduler.validate();
});

test("a quarantined transfer is predicted to end in no plan, and to take the memory that it takes", () => {
  const { time, scheduler, pass, make } = overdueWorld({ movesNs: 1e6 }, { memorySafety: "predicted" });
  scheduler.submit(pass, onto1);
  time.run(2000);
  // 100 of 1000 bytes are taken there: nine more fit, and a tenth waits for what is released.
  const request = scheduler.openRequest({ concurrentInstances: 20, chains: 20, partitions: ["01"] });
  for (let i = 0; i < 9; i++) scheduler.submit(make, { request, symbols: {}, retain: ["made"] });
  const tenth = scheduler.submit(make, { request, symbols: {}, retain: ["made"] });
  expect(scheduler.plan().stopped).toBe("standstill");
  time.run(5000);
  expect(scheduler.stats().accelerators[0]).toMatchObject({ usedHbmBytes: 1000 });
  const waiting = scheduler.explain(tenth.id)?.operators[0]?.waiting;
  expect(waiting).toMatchObject({ why: "memory" });
  time.run();
  expect(scheduler.explain(tenth.id)?.state).toBe("done");
});

test("with default deadlines nothing is kept awake: time ends with the last operator, and wakes are not moved with every transfer", () => {
  const { time, scheduler, pass } = overdueWorld({}, { arbitration: {} });
  const callAt = vi.spyOn(time, "callAt");
  for (let i = 0; i < 50; i++) scheduler.submit(pass, onto1);
  time.run();
  expect(time.nowNs()).toBe(50 + 50 * 110 + 50);
  expect(callAt.mock.calls.length).toBeLessThan(5);
  expect(time.pending).toBe(0);
});

test("a wake that comes before anything is overdue asks again, and tells the master nothing", () => {
  const events: string[] = [];
  const { time, scheduler, told, pass } = overdueWorld(
    { movesNs: 3000 },
    {
      arbitration: { deadlineMinNs: 200, deadlineFactor: 1 },
      onEvent: ({ type }, nowNs) => events.push(`${nowNs} ${type}`),
    },
  );
  for (let i = 0; i < 4; i++) scheduler.submit(pass, onto1);
  time.run();
  expect(told.filter((line) => line.includes("Quarantined"))).toEqual(["250 transferQuarantined 0 sending"]);
  expect(events.filter((line) => line.endsWith("timePassed"))).toEqual(["250 timePassed"]);
});

test("an end at the very deadline comes in time, whatever else happens at that instant", () => {
  const { time, scheduler, told, pass, make } = overdueWorld(
    {},
    { arbitration: { deadlineMinNs: 110, deadlineFactor: 1 } },
  );
  scheduler.submit(pass, onto1);
  // Before the end of the transfer, at the same time.
  time.at(160, { kind: EVENT_KIND.operator, number: 0 }, () => scheduler.submit(make, onto1));
  time.run();
  expect(told).toContain("160 transferDone 0");
  expect(told.filter((line) => line.includes("Quarantined"))).toEqual([]);
});

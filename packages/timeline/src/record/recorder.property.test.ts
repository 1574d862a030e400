import fc from "fast-check";
import type { MasterEvent, Notice } from "slicescheduler";
import { describe, expect, it } from "vitest";
import { cluster, runWorld, type WorldRun, worlds } from "../../test/world.ts";
import { OPERATOR_OUTCOMES, REQUEST_OUTCOMES } from "../run-record.ts";

interface SlowOperator {
  issueNumber: number;
  name: string;
  issuedNs: number;
  startNs: number;
  endNs: number;
  accelerator: number;
  outcome: string;
  rank: number;
  tenant: string;
  round: number;
}

type Opened = Extract<MasterEvent, { type: "requestOpened" }>;

/** What a recorder is to find, by looking through all that was told for each operator. */
function slowOperators({ notices, events }: WorldRun): SlowOperator[] {
  return notices.flatMap((started, position) => {
    if (started.name !== "operatorStarted") return [];
    const { issueNumber, accelerator, request, instance, template, operatorName } = started.value;
    const end = notices.slice(position).find((notice) => endsIt(notice, issueNumber, accelerator));
    const issuedAt = notices.findIndex(
      (notice) => notice.name === "operatorIssued" && notice.value.issueNumber === issueNumber,
    );
    const decision = notices.slice(0, issuedAt).findLast(({ name }) => name === "decision") as Extract<
      Notice,
      { name: "decision" }
    >;
    const opened = events.find(({ event }) => event.type === "requestOpened" && event.request === request)
      ?.event as Opened;
    const submitted = events.find(({ event }) => event.type === "instanceSubmitted" && event.instance === instance)
      ?.event as Extract<MasterEvent, { type: "instanceSubmitted" }>;
    return [
      {
        issueNumber,
        name: `${template}/${operatorName}`,
        issuedNs: (notices[issuedAt] as Extract<Notice, { name: "operatorIssued" }>).value.atNs,
        startNs: started.value.atNs,
        endNs: (end?.value as { atNs: number } | undefined)?.atNs ?? Number.NaN,
        accelerator,
        outcome: end === undefined ? "running" : (OUTCOME_OF[end.name] ?? ""),
        rank: submitted.rank ?? opened.rank,
        tenant: opened.tenant,
        round: decision.value.round,
      },
    ];
  });
}

const OUTCOME_OF: Readonly<Record<string, string>> = {
  operatorDone: "done",
  operatorFailed: "failed",
  acceleratorLost: "lost",
};

function endsIt(notice: Notice, issueNumber: number, accelerator: number): boolean {
  if (notice.name === "operatorDone" || notice.name === "operatorFailed")
    return notice.value.issueNumber === issueNumber;
  return notice.name === "acceleratorLost" && notice.value.accelerator === accelerator;
}

function recordedOperators({ record }: WorldRun): SlowOperator[] {
  const { operators, operatorNames, tenants } = record;
  return Array.from({ length: operators.count }, (_, row) => ({
    issueNumber: operators.issueNumber[row] as number,
    name: operatorNames[operators.name[row] as number] ?? "",
    issuedNs: operators.issuedNs[row] as number,
    startNs: operators.startNs[row] as number,
    endNs: operators.endNs[row] as number,
    accelerator: operators.accelerator[row] as number,
    outcome: OPERATOR_OUTCOMES[operators.outcome[row] as number] ?? "",
    rank: operators.rank[row] as number,
    tenant: tenants[operators.tenant[row] as number] ?? "none",
    round: operators.round[row] as number,
  }));
}

describe("RunRecorder", () => {
  it("has of each operator what a slow look through all notices finds", async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const run = await runWorld(world);
        const slow = slowOperators(run);
        expect(recordedOperators(run)).toEqual(slow);
        for (const { outcome } of slow) seen.add(outcome);
      }),
      { numRuns: 80 },
    );
    for (const outcome of ["done", "failed", "lost"]) expect(seen).toContain(outcome);
  });

  it("has every transfer that was told of, with its data's way and time", async () => {
    let transfers = 0;
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const { notices, record } = await runWorld(world);
        const told = notices.flatMap((notice) => (notice.name === "transferDone" ? [notice.value] : []));
        const { count, transfer, source, destination, bytes, startNs, endNs, tensor } = record.transfers;
        expect(count).toBe(told.length);
        told.forEach((value, row) => {
          expect([transfer[row], source[row], destination[row], bytes[row], tensor[row]]).toEqual([
            value.transfer,
            value.source,
            value.destination,
            value.bytes,
            value.tensor,
          ]);
          expect([startNs[row], endNs[row]]).toEqual([value.atNs - value.observedNs, value.atNs]);
        });
        transfers += told.length;
      }),
      { numRuns: 30 },
    );
    expect(transfers).toBeGreaterThan(20);
  });

  it("has HBM as the master has it after each step of the clock, and its peak", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const seen: { atNs: number; usedBytes: number[] }[] = [];
        const { record } = await runWorld(world, {
          onStep: (scheduler, time) => {
            const usedBytes = cluster.accelerators.map((_, index) => scheduler.usedHbmBytes(index));
            seen.push({ atNs: time.nowNs(), usedBytes });
          },
        });
        record.hbm.forEach(({ count, atNs, usedBytes, peakBytes }, accelerator) => {
          const at = (ns: number) => usedBytes[atNs.findLastIndex((step) => step <= ns)];
          seen.forEach((step, index) => {
            if (seen[index + 1]?.atNs !== step.atNs) expect(at(step.atNs)).toBe(step.usedBytes[accelerator]);
          });
          expect(peakBytes).toBeGreaterThanOrEqual(Math.max(...usedBytes));
          for (let step = 1; step < count; step++) {
            expect(atNs[step] as number).toBeGreaterThan(atNs[step - 1] as number);
          }
        });
      }),
      { numRuns: 40 },
    );
  });

  it("has the peak that the devices report, but for what comes and goes within an instant", async () => {
    let equal = 0;
    let all = 0;
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const run = await runWorld({ ...world, outage: null, faultShare: 0 });
        for (const [at, { peakHbmBytes }] of run.executor.stats().accelerators.entries()) {
          const seenBytes = run.record.hbm[at]?.peakBytes ?? Number.NaN;
          expect(seenBytes).toBeLessThanOrEqual(peakHbmBytes);
          all += 1;
          if (seenBytes === peakHbmBytes) equal += 1;
        }
      }),
      { numRuns: 30, endOnFailure: true },
    );
    expect(equal).toBeGreaterThan(all / 2);
  });

  it("has of each request its class, tenant, times and outcome", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const { record, events, notices } = await runWorld(world);
        const opened = events.flatMap(({ event }) => (event.type === "requestOpened" ? [event] : []));
        const { requests, tenants } = record;
        expect(requests.count).toBe(opened.length);
        opened.forEach((event, row) => {
          expect(requests.id[row]).toBe(event.request);
          expect(requests.labels[row]).toBe(event.label);
          expect(requests.rank[row]).toBe(event.rank);
          expect(tenants[requests.tenant[row] as number]).toBe(event.tenant);
          const submitted = events.find(
            (it) => it.event.type === "instanceSubmitted" && it.event.request === event.request,
          );
          expect(requests.submittedNs[row]).toBe(submitted?.nowNs ?? Number.NaN);
          const ends = notices.filter(
            (it) =>
              (it.name === "instanceDone" || it.name === "instanceFailed" || it.name === "instanceCancelled") &&
              it.value.request === event.request,
          );
          const last = ends.at(-1);
          expect(requests.endNs[row]).toBe((last?.value as { atNs: number } | undefined)?.atNs ?? Number.NaN);
          const live = events.filter(
            (it) => it.event.type === "instanceSubmitted" && it.event.request === event.request,
          );
          const outcome = live.length > ends.length ? "open" : OUTCOME_OF_INSTANCE[last?.name ?? ""];
          expect(REQUEST_OUTCOMES[requests.outcome[row] as number]).toBe(outcome ?? "open");
          const done = ends.filter(({ name }) => name === "instanceDone");
          expect(requests.instancesDone[row]).toBe(done.length);
          expect(requests.firstDoneNs[row]).toBe((done[0]?.value as { atNs: number } | undefined)?.atNs ?? Number.NaN);
        });
      }),
      { numRuns: 40 },
    );
  });

  it("keeps the newest rows when there are too many, and says how many have gone", async () => {
    const limits = { operatorsMax: 5, transfersMax: 2, hbmStepsMax: 4, requestsMax: 3, noticesMax: 2, decisionsMax: 2 };
    const gone = { operators: 0, transfers: 0, hbmSteps: 0, requests: 0, notices: 0 };
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const all = (await runWorld(world)).record;
        const { record } = await runWorld(world, { recorder: limits });
        expect(record.operators.count).toBeLessThanOrEqual(5);
        expect(record.operators.count + record.dropped.operators).toBe(all.operators.count);
        expect(record.operators.issueNumber).toEqual(all.operators.issueNumber.slice(record.dropped.operators));
        expect(record.operators.endNs).toEqual(all.operators.endNs.slice(record.dropped.operators));
        expect(record.transfers.transfer).toEqual(all.transfers.transfer.slice(record.dropped.transfers));
        expect(record.notices).toEqual(all.notices.slice(record.dropped.notices));
        expect(record.requests.labels).toEqual(all.requests.labels.slice(record.dropped.requests));
        for (const name of Object.keys(gone) as (keyof typeof gone)[]) gone[name] += record.dropped[name];
        record.hbm.forEach(({ count, atNs, usedBytes }, accelerator) => {
          const whole = all.hbm[accelerator];
          expect(count).toBeLessThanOrEqual(4);
          expect(atNs).toEqual(whole?.atNs.slice(whole.count - count));
          expect(usedBytes).toEqual(whole?.usedBytes.slice(whole.count - count));
        });
      }),
      { numRuns: 30 },
    );
    for (const rows of Object.values(gone)) expect(rows).toBeGreaterThan(0);
  });
});

const OUTCOME_OF_INSTANCE: Readonly<Record<string, string>> = {
  instanceDone: "done",
  instanceFailed: "failed",
  instanceCancelled: "cancelled",
};

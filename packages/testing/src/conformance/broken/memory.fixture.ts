import type { Executor, ExecutorInstruction } from "@slicescheduler/executor";
import { type Relay, relayedExecutor } from "../../relayed-executor.ts";
import { virtualBackend } from "../virtual-backend.fixture.ts";
import { type BrokenBackend, deaf, issuing, relayed, withCluster } from "./kit.fixture.ts";

export const BROKEN_MEMORY: readonly BrokenBackend[] = [
  {
    fault: "does not hear release",
    check: "memory: a result is held until it is released",
    seen: /stats\(\) tells 3072/,
    create: deaf("release"),
  },
  {
    fault: "does not hear hold",
    check: "memory: a hold keeps a released copy that is there or still expected",
    seen: /threw|stats\(\) tells 0|nothing is left/,
    create: deaf("hold"),
  },
  {
    fault: "has no limit of memory",
    check: "memory: what is free is HBM without margin and baseline",
    seen: /needs 16448 bytes ran/,
    create: withCluster((cluster) => ({
      ...cluster,
      accelerators: cluster.accelerators.map((one) => ({ ...one, hbmBytes: one.hbmBytes * 1_000 })),
    })),
  },
  {
    fault: "forgets the margin",
    check: "memory: what is free is HBM without margin and baseline",
    seen: /needs 16448 bytes ran/,
    create: withCluster((cluster) => ({
      ...cluster,
      accelerators: cluster.accelerators.map((one) => ({ ...one, marginBytes: 0 })),
    })),
  },
  {
    fault: "does not round up",
    check: "memory: each allocation is rounded up to the granularity",
    seen: /stats\(\) tells 112/,
    create: withCluster((cluster) => ({
      ...cluster,
      accelerators: cluster.accelerators.map((one) => ({ ...one, granularityBytes: 1 })),
    })),
  },
  {
    fault: "does not count workspace",
    check:
      "failures: an operator that does not fit as it would start fails with the cause outOfMemory, leaves nothing, and the next one has its turn",
    seen: /it was not heard/,
    create: issuing((issue) => ({ ...issue, workspaceBytes: 0 })),
  },
  {
    fault: "copies what continues an input",
    check: "memory: an output that continues an input shares its buffer and takes only what it grows by",
    seen: /stats\(\) tells 4096/,
    create: issuing((issue) => ({
      ...issue,
      outputs: issue.outputs.map((output) => ({ ...output, aliases: null })),
    })),
  },
  {
    fault: "frees after the next operator has started",
    check: "memory: memory is freed before the end is reported and before the next operator starts",
    seen: /operatorDone|nothing is left to happen/,
    create: relayed(releasesLate),
  },
  {
    fault: "does not load weights",
    check:
      "memory: weights are in use from when they are loaded; loading them again changes nothing; what does not fit or has another size is refused",
    seen: /stats\(\) tells 0/,
    create: deaf("loadWeights"),
  },
  {
    fault: "keeps accounts that forget the peak",
    check: "memory: the account of stats() counts what happened",
    seen: /^0 and/,
    create: () => {
      const backend = virtualBackend();
      const stats = () => {
        const told = backend.executor.stats?.() ?? {
          accelerators: [],
          overCapacityRefused: 0,
          operatorsFailed: 0,
          ignored: 0,
        };
        return { ...told, accelerators: told.accelerators.map((one) => ({ ...one, peakHbmBytes: 0 })) };
      };
      return { ...backend, executor: { ...relayedExecutor(backend.executor, {}), stats } };
    },
  },
];

/** What a finished operator was the last to need stays until its successor has started. */
function releasesLate(device: Executor): Relay {
  let releases: ExecutorInstruction[] = [];
  return {
    execute: (instructions, pass) => {
      releases.push(...instructions.filter(({ type }) => type === "release"));
      pass(instructions.filter(({ type }) => type !== "release"));
    },
    deliver: (event, pass) => {
      pass(event);
      if (event.type !== "operatorStarted" && event.type !== "operatorFailed") return;
      const late = releases;
      releases = [];
      if (late.length > 0 && event.type === "operatorFailed") device.execute(late);
      else releases = late;
    },
  };
}

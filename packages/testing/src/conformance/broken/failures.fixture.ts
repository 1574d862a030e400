import { ALWAYS } from "../rules.ts";
import { type BrokenBackend, type Instruction, relayed, retelling } from "./kit.fixture.ts";

export const BROKEN_FAILURES: readonly BrokenBackend[] = [
  {
    fault: "gives every failure one cause",
    check: "failures: an operator whose input is gone fails with the cause inputLost",
    rule: ALWAYS.operatorLife.rule,
    seen: /fault/,
    create: retelling("operatorFailed", (event) => [{ ...event, cause: "fault" }]),
  },
  {
    fault: "stops an accelerator at its first failure",
    check:
      "failures: an operator that fails touches nobody else: its results are forgotten, its consumers stay blocked, all else goes on",
    seen: /nothing is left to happen/,
    create: relayed(() => {
      let hasFailed = false;
      return {
        deliver: (event, pass) => {
          if (!hasFailed) pass(event);
          if (event.type === "operatorFailed" && event.cause === "fault") hasFailed = true;
        },
      };
    }),
  },
  {
    fault: "keeps silent about a transfer that failed",
    check: "failures: a transfer that fails leaves no copy and keeps its source; its consumers stay blocked",
    seen: /nothing is left to happen/,
    create: retelling("transferFailed", () => []),
  },
  {
    fault: "answers no probe",
    check: "accelerators: a probe of an accelerator that is in order is answered, by its number, and finds it healthy",
    seen: /nothing is left to happen/,
    create: retelling("probed", () => []),
  },
  {
    fault: "takes whatever it is asked for broken",
    check: "accelerators: a probe of an accelerator that is in order is answered, by its number, and finds it healthy",
    seen: /probe 7, not healthy/,
    create: retelling("probed", (event) => [{ ...event, healthy: false }]),
  },
  {
    fault: "gives nothing up",
    check:
      "accelerators: an accelerator that is given up ends as one that is lost, and returns empty; work elsewhere goes on",
    seen: /nothing is left to happen/,
    create: relayed(() => ({
      execute: (instructions, pass) => pass(instructions.filter(({ type }) => type !== "giveUp")),
    })),
  },
  {
    fault: "tells nothing of a lost accelerator",
    check: "accelerators: an accelerator that is lost takes its queue along without a word; work elsewhere goes on",
    seen: /nothing is left to happen/,
    create: retelling("acceleratorLost", () => []),
  },
  {
    fault: "withdraws what was lost",
    check: "accelerators: an accelerator that is lost takes its queue along without a word; work elsewhere goes on",
    rule: ALWAYS.lost.rule,
    seen: /withdrawn 10/,
    create: relayed(() => {
      const issued: number[] = [];
      return {
        execute: (instructions, pass) => {
          for (const one of instructions)
            if (one.type === "issue" && one.accelerator === 0) issued.push(one.issueNumber);
          pass(instructions);
        },
        deliver: (event, pass) => {
          pass(event);
          if (event.type !== "acceleratorLost") return;
          for (const issueNumber of issued.splice(0)) pass({ type: "withdrawn", issueNumber });
        },
      };
    }),
  },
  {
    fault: "comes back with its weights",
    check: "accelerators: an accelerator that returns is empty, and serves from its acceleratorReturned on",
    seen: /stats\(\) tells 2048/,
    create: relayed((device) => {
      const weights: Instruction<"loadWeights">[] = [];
      return {
        execute: (instructions, pass) => {
          for (const one of instructions) if (one.type === "loadWeights") weights.push(one);
          pass(instructions);
        },
        deliver: (event, pass) => {
          pass(event);
          if (event.type === "acceleratorReturned") device.execute(weights);
        },
      };
    }),
  },
];

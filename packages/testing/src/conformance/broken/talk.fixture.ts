import { ExecutorError, type ExecutorEvent, type ExecutorInstruction } from "@slicescheduler/executor";
import { ALWAYS } from "../rules.ts";
import { type BrokenBackend, relayed, retelling, telling } from "./kit.fixture.ts";

export const BROKEN_TALK: readonly BrokenBackend[] = [
  {
    fault: "delivers from within execute, also inside an event",
    check: `events: ${ALWAYS.nested.rule}`,
    rule: ALWAYS.nested.rule,
    seen: /withdrawn 11/,
    create: relayed(() => {
      let hand: ((event: ExecutorEvent) => void) | null = null;
      return {
        execute: (instructions, pass) => {
          pass(instructions);
          for (const one of instructions)
            if (one.type === "withdraw") hand?.({ type: "withdrawn", issueNumber: one.issueNumber });
        },
        deliver: (event, pass) => {
          hand = pass;
          if (event.type !== "withdrawn") pass(event);
        },
      };
    }),
  },
  {
    fault: "loses ends of operators",
    check: `events: ${ALWAYS.operatorLife.rule}`,
    seen: /nothing is left to happen/,
    create: retelling("operatorDone", (event) => (event.issueNumber % 2 === 0 ? [event] : [])),
  },
  {
    fault: "reports ends twice",
    check: `events: ${ALWAYS.operatorLife.rule}`,
    rule: ALWAYS.operatorLife.rule,
    seen: /operatorDone 10/,
    create: retelling("operatorDone", (event) => [event, event]),
  },
  {
    fault: "does not tell starts",
    check: `events: ${ALWAYS.operatorLife.rule}`,
    rule: ALWAYS.operatorLife.rule,
    seen: /operatorDone 10/,
    create: retelling("operatorStarted", () => []),
  },
  {
    fault: "hears answers to an event only at the next one",
    check: "events: what a master answers to an event counts before anything starts at that instant",
    seen: /operatorStarted 12/,
    create: relayed((device) => {
      let isBusy = false;
      let answers: ExecutorInstruction[] = [];
      return {
        execute: (instructions, pass) => {
          if (isBusy) answers.push(...instructions);
          else pass(instructions);
        },
        deliver: (event, pass) => {
          const late = answers;
          answers = [];
          isBusy = true;
          pass(event);
          isBusy = false;
          if (late.length > 0) device.execute(late);
        },
      };
    }),
  },
  {
    fault: "takes no instructions while it delivers",
    check: "events: what a master answers to an event counts before anything starts at that instant",
    rule: ALWAYS.accepts.rule,
    seen: /threw/,
    create: relayed(() => {
      let isBusy = false;
      return {
        execute: (instructions, pass) => {
          if (isBusy) throw new ExecutorError("REENTRANT", "not while an event is delivered");
          pass(instructions);
        },
        deliver: (event, pass) => {
          isBusy = true;
          pass(event);
          isBusy = false;
        },
      };
    }),
  },
  {
    fault: "keeps numbers in 32 bits",
    check: "events: numbers up to 2^53 − 1 come back as they went",
    rule: ALWAYS.known.rule,
    seen: /operatorStarted -/,
    create: telling((event) => ["issueNumber" in event ? { ...event, issueNumber: event.issueNumber | 0 } : event]),
  },
  {
    fault: "measures in microseconds",
    check: `events: ${ALWAYS.observed.rule}`,
    rule: ALWAYS.observed.rule,
    seen: /observed 29\.|observed 2[0-9.]+ ns/,
    create: retelling("operatorDone", (event) => [{ ...event, observedNs: event.observedNs / 1_000 + 0.5 }]),
  },
  {
    fault: "measures since the beginning of the run",
    check: `events: ${ALWAYS.observed.rule}`,
    rule: ALWAYS.observed.rule,
    seen: /operatorDone/,
    create: retelling("operatorDone", (event) => [{ ...event, observedNs: event.observedNs + 10 }]),
  },
];

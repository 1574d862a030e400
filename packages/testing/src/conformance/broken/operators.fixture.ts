import type { Executor, ExecutorEvent, ExecutorInstruction, IssueInstruction } from "@slicescheduler/executor";
import type { Relay } from "../../relayed-executor.ts";
import { ALWAYS } from "../rules.ts";
import { type BrokenBackend, deaf, type Instruction, issuing, relayed, retelling } from "./kit.fixture.ts";

/** A rank in which only the order of issue counts within a class; `sign` −1: the latest first. */
function byIssue({ issueNumber, rank }: IssueInstruction, sign: 1 | -1): number {
  return rank * 10_000 + 5_000 + sign * Math.min(issueNumber, 4_000);
}

export const BROKEN_OPERATORS: readonly BrokenBackend[] = [
  {
    fault: "starts operators whose inputs are missing",
    check: `operators: ${ALWAYS.inputs.rule}`,
    rule: ALWAYS.inputs.rule,
    seen: /operatorStarted/,
    create: issuing((issue) => ({
      ...issue,
      inputs: [],
      outputs: issue.outputs.map((output) => ({ ...output, aliases: null })),
    })),
  },
  {
    fault: "runs operators in the order of their issue, and waits for the first",
    check: "operators: operators run by dependency, not in the order of their issue",
    seen: /nothing is left to happen/,
    create: relayed(inOrderOfIssue),
  },
  {
    fault: "says that everything issued has started",
    check: `operators: ${ALWAYS.alone.rule}`,
    rule: ALWAYS.alone.rule,
    seen: /operatorStarted 12/,
    create: relayed(() => {
      const waiting: IssueInstruction[] = [];
      return {
        execute: (instructions, pass) => {
          waiting.push(...instructions.filter(({ type }) => type === "issue").map((one) => one as IssueInstruction));
          pass(instructions);
        },
        deliver: (event, pass) => {
          const started = event.type === "operatorStarted" ? waiting.splice(0) : [];
          if (event.type !== "operatorStarted") pass(event);
          for (const { issueNumber } of started) pass({ type: "operatorStarted", issueNumber });
        },
      };
    }),
  },
  {
    fault: "does not look at ranks",
    check: "operators: a lower rank starts first, whatever was issued or became ready before",
    rule: ALWAYS.order.rule,
    seen: /operatorStarted 10/,
    create: issuing((issue) => ({ ...issue, rank: 0 })),
  },
  {
    fault: "starts the latest issue of a rank first",
    check: "operators: of one rank and ready time, the lower issue number starts first",
    rule: ALWAYS.order.rule,
    seen: /operatorStarted 14/,
    create: issuing((issue) => ({ ...issue, rank: byIssue(issue, -1) })),
  },
  {
    fault: "does not look at ready times",
    check: "operators: of one rank, what became ready earlier starts first",
    rule: ALWAYS.order.rule,
    seen: /operatorStarted 11/,
    create: issuing((issue) => ({ ...issue, rank: byIssue(issue, 1) })),
  },
  {
    fault: "starts what is held back",
    check: `operators: ${ALWAYS.heldBack.rule}`,
    rule: ALWAYS.heldBack.rule,
    seen: /operatorStarted 11/,
    create: issuing((issue) => ({ ...issue, activated: true })),
  },
  {
    fault: "does not hear activate",
    check: `operators: ${ALWAYS.heldBack.rule}`,
    seen: /nothing is left to happen/,
    create: deaf("activate"),
  },
  {
    fault: "does not hear rerank",
    check: "operators: an operator that gets another rank takes its place in the new class, and what runs goes on",
    rule: ALWAYS.order.rule,
    seen: /operatorStarted 13/,
    create: deaf("rerank"),
  },
  {
    fault: "does not hear withdraw",
    check: "withdrawals: an operator that has not started is withdrawn, and leaves nothing",
    seen: /nothing is left to happen/,
    create: deaf("withdraw"),
  },
  {
    fault: "says that an operator which runs was withdrawn",
    check: "withdrawals: withdrawing what already runs is answered by its normal end",
    rule: ALWAYS.operatorLife.rule,
    seen: /withdrawn 10/,
    create: relayed(withdrawsWhatRuns),
  },
  {
    fault: "withdraws without telling that the transfer is cancelled",
    check:
      "withdrawals: a planned transfer is cancelled with the last operator that waits for it, before that is reported",
    seen: /withdrawn 12/,
    create: retelling("transferCancelled", () => []),
  },
];

/** One issue per accelerator is passed on at a time. */
function inOrderOfIssue(device: Executor): Relay {
  const lines = new Map<number, IssueInstruction[]>();
  const next = (accelerator: number): readonly ExecutorInstruction[] => lines.get(accelerator)?.slice(0, 1) ?? [];
  return {
    execute: (instructions, pass) => {
      const passed: ExecutorInstruction[] = [];
      for (const instruction of instructions) {
        if (instruction.type !== "issue") {
          passed.push(instruction);
          continue;
        }
        const { accelerator } = instruction;
        const line = lines.get(accelerator) ?? [];
        lines.set(accelerator, [...line, instruction]);
        if (line.length === 0) passed.push(instruction);
      }
      pass(passed);
    },
    deliver: (event, pass) => {
      pass(event);
      if (event.type !== "operatorDone" && event.type !== "operatorFailed" && event.type !== "withdrawn") return;
      for (const [accelerator, line] of lines) {
        if (line[0]?.issueNumber !== event.issueNumber) continue;
        lines.set(accelerator, line.slice(1));
        device.execute(next(accelerator));
      }
    },
  };
}

function withdrawsWhatRuns(): Relay {
  const running = new Set<number>();
  const silent = new Set<number>();
  let told: ExecutorEvent[] = [];
  return {
    execute: (instructions, pass) => {
      const isWithdrawn = (one: ExecutorInstruction): one is Instruction<"withdraw"> =>
        one.type === "withdraw" && running.has(one.issueNumber);
      for (const { issueNumber } of instructions.filter(isWithdrawn)) {
        silent.add(issueNumber);
        told.push({ type: "withdrawn", issueNumber });
      }
      pass(instructions);
    },
    deliver: (event, pass) => {
      if (event.type === "operatorStarted") running.add(event.issueNumber);
      if (event.type === "operatorDone") running.delete(event.issueNumber);
      if (event.type !== "operatorDone" || !silent.has(event.issueNumber)) pass(event);
      const now = told;
      told = [];
      for (const withdrawn of now) pass(withdrawn);
    },
  };
}

import { ExecutorError, type ExecutorEvent } from "@slicescheduler/executor";
import { ALWAYS } from "../rules.ts";
import { type BrokenBackend, deaf, relayed, retelling } from "./kit.fixture.ts";

export const BROKEN_TRANSFERS: readonly BrokenBackend[] = [
  {
    fault: "sends without being told",
    check: "transfers: recv comes before send, and each waits until it is told",
    rule: ALWAYS.transferLife.rule,
    seen: /transferDone 70/,
    create: relayed((device) => ({
      deliver: (event, pass) => {
        pass(event);
        if (event.type === "recvReady") device.execute([{ type: "activateSend", transfer: event.transfer }]);
      },
    })),
  },
  {
    fault: "reports an operator before the intents of its results",
    check:
      "transfers: the intents of an operator's results are raised all in one event, by rising number, just before its end is reported",
    seen: /operatorDone 10, then intentsRaised/,
    create: relayed(() => {
      let intents: ExecutorEvent | null = null;
      return {
        deliver: (event, pass) => {
          if (event.type === "intentsRaised") {
            intents = event;
            return;
          }
          pass(event);
          if (intents !== null) pass(intents);
          intents = null;
        },
      };
    }),
  },
  {
    fault: "raises intents one by one",
    check:
      "transfers: the intents of an operator's results are raised all in one event, by rising number, just before its end is reported",
    seen: /operatorStarted 10, then operatorDone 10/,
    create: retelling("intentsRaised", ({ transfers }) =>
      transfers.map((transfer) => ({ type: "intentsRaised", transfers: [transfer] })),
    ),
  },
  {
    fault: "raises intents backwards",
    check:
      "transfers: the intents of an operator's results are raised all in one event, by rising number, just before its end is reported",
    rule: ALWAYS.transferLife.rule,
    seen: /intentsRaised 72,71,70/,
    create: retelling("intentsRaised", ({ transfers }) => [
      { type: "intentsRaised", transfers: transfers.toReversed() },
    ]),
  },
  {
    fault: "gives up a transfer whose receive buffer does not fit",
    check: "transfers: a receive buffer that does not fit is refused with recvFailed, and can be asked for again",
    seen: /nothing is left to happen|recvFailed/,
    create: relayed(() => {
      const failed = new Set<number>();
      return {
        execute: (instructions, pass) =>
          pass(instructions.filter((one) => one.type !== "activateRecv" || !failed.has(one.transfer))),
        deliver: (event, pass) => {
          if (event.type === "recvFailed") failed.add(event.transfer);
          pass(event);
        },
      };
    }),
  },
  {
    fault: "does not hear cancelTransfer",
    check: "transfers: a planned transfer can be cancelled; its consumers stay blocked until they are withdrawn",
    seen: /nothing is left to happen/,
    create: deaf("cancelTransfer"),
  },
  {
    fault: "refuses to ignore a late cancelTransfer",
    check: "transfers: a transfer that sends or has ended cannot be cancelled: the instruction is ignored",
    rule: ALWAYS.accepts.rule,
    seen: /UNKNOWN_TRANSFER/,
    create: relayed(() => {
      const ready = new Set<number>();
      return {
        execute: (instructions, pass) => {
          for (const one of instructions) {
            if (one.type === "activateSend") ready.add(one.transfer);
            if (one.type === "cancelTransfer" && ready.has(one.transfer))
              throw new ExecutorError("UNKNOWN_TRANSFER", `transfer ${one.transfer} is on its way`);
          }
          pass(instructions);
        },
      };
    }),
  },
  {
    fault: "moves a tensor once for each consumer's sake",
    check: "transfers: there is one transfer of a tensor to an accelerator, however many operators wait for it there",
    rule: ALWAYS.transferLife.rule,
    seen: /transferDone 70/,
    create: retelling("transferDone", (event) => [event, event]),
  },
];

import { type Executor, ExecutorError } from "@slicescheduler/executor";
import { relayedExecutor } from "../../relayed-executor.ts";
import { ALWAYS } from "../rules.ts";
import { virtualBackend } from "../virtual-backend.fixture.ts";
import { type BrokenBackend, relayed } from "./kit.fixture.ts";

export const BROKEN_MANNERS: readonly BrokenBackend[] = [
  {
    fault: "takes whatever it is told",
    check: "wrong instructions: an issue with an impossible field is refused, and its number can still be used",
    seen: /it was taken/,
    create: relayed(() => ({
      execute: (instructions, pass) => {
        try {
          pass(instructions);
        } catch (error) {
          if (!(error instanceof ExecutorError)) throw error;
        }
      },
    })),
  },
  {
    fault: "refuses without a code",
    check: "wrong instructions: issue numbers rise and are never used again",
    seen: /it threw Error: no/,
    create: relayed(() => ({
      execute: (instructions, pass) => {
        try {
          pass(instructions);
        } catch {
          throw new Error("no");
        }
      },
    })),
  },
  {
    fault: "forgets what comes before a wrong instruction",
    check: "wrong instructions: what comes before a wrong instruction in its batch stays carried out",
    seen: /nothing is left to happen/,
    create: relayed((device) => ({
      execute: (instructions, pass) => {
        if (instructions.some((one) => one.type === "issue" && one.template === "never registered"))
          device.execute(instructions.filter((one) => one.type === "issue" && one.template === "never registered"));
        pass(instructions);
      },
    })),
  },
  {
    fault: "goes on after close",
    check:
      "opening and closing: close with work in flight is clean: nothing is delivered afterwards, and execute is refused",
    rule: ALWAYS.afterClose.rule,
    seen: /operatorDone|operatorStarted|transferDone/,
    create: () => {
      const backend = virtualBackend();
      return { ...backend, executor: { ...relayedExecutor(backend.executor, {}), close: () => {} } };
    },
  },
  {
    fault: "opens twice",
    check: "opening and closing: a second open is refused",
    seen: /nothing was thrown/,
    create: () => {
      const backend = virtualBackend();
      let isOpen = false;
      const open: Executor["open"] = (context) => {
        if (!isOpen) backend.executor.open(context);
        isOpen = true;
      };
      return { ...backend, executor: { ...relayedExecutor(backend.executor, {}), open } };
    },
  },
  {
    fault: "states another manifest",
    check: "opening and closing: the manifest of each backend is the one that was given to the suite",
    seen: /undefined|"other"/,
    create: () => {
      const backend = virtualBackend();
      const manifest = { name: "other", simulatedTime: true };
      return { ...backend, executor: { ...relayedExecutor(backend.executor, {}), manifest } };
    },
  },
  {
    fault: "states what it cannot show",
    check: "opening and closing: the backend has what its manifest states",
    seen: /no hook/,
    create: () => {
      const { failOperator: _, ...backend } = virtualBackend();
      return backend;
    },
  },
  {
    fault: "cannot be closed before it is opened",
    check: "opening and closing: the manifest of each backend is the one that was given to the suite",
    rule: ALWAYS.accepts.rule,
    seen: /NOT_OPEN/,
    create: relayed((device) => ({
      close: () => {
        // Throws before `open`.
        device.stats?.();
      },
    })),
  },
];

import type { ExecutorInstruction } from "@slicescheduler/executor";
import type { GlobalMappingGraph, OperatorNode } from "@slicescheduler/gmg";
import type { AcceleratorNoticeName, Notice, Notices, Reaction } from "./events.ts";

/** What the handling of one event has brought about so far, in order. */
export class Outbox {
  readonly #graph: GlobalMappingGraph;
  #reaction: Reaction = { instructions: [], notices: [] };

  constructor(graph: GlobalMappingGraph) {
    this.#graph = graph;
  }

  /** Begins the answer to the next event. */
  open(): Reaction {
    this.#reaction = { instructions: [], notices: [] };
    return this.#reaction;
  }

  instruct(instruction: ExecutorInstruction): void {
    this.#reaction.instructions.push(instruction);
  }

  tell<Name extends keyof Notices>(name: Name, value: Notices[Name]): void {
    this.#reaction.notices.push({ name, value } as Notice);
  }

  tellAccelerator(name: AcceleratorNoticeName, accelerator: number, atNs: number, reason = ""): void {
    this.tell(name, { accelerator, acceleratorName: this.#nameOf(accelerator), reason, atNs });
  }

  operatorNotice(operator: OperatorNode, atNs: number): Notices["operatorIssued"] {
    const { instance, index, accelerator, issueNumber } = operator;
    return {
      instance: instance.id,
      operator: index,
      operatorName: instance.template.operators[index]?.name ?? "",
      template: instance.template.name,
      request: instance.request.id,
      label: instance.label,
      accelerator,
      acceleratorName: this.#nameOf(accelerator),
      issueNumber,
      atNs,
    };
  }

  #nameOf(accelerator: number): string {
    return this.#graph.cluster.accelerators[accelerator]?.name ?? "";
  }
}

import type { ClusterSpec, TemplateSpec } from "@slicescheduler/templates";
import type { ExecutorInstruction, IssuedOutput, IssueInstruction } from "../src/index.ts";

/** Three accelerators of 1000 bytes; the third, far, is linked to the second alone. */
export const cluster: ClusterSpec = {
  accelerators: ["a0", "a1", "far"].map((name) => ({
    name,
    kind: "k",
    hbmBytes: 1100,
    marginBytes: 100,
    flopsPerSecond: 1e12,
    hbmBytesPerSecond: 1e9,
  })),
  links: [
    {
      name: "pair",
      latencyNs: 10,
      bytesPerSecond: 1e9,
      capacity: 2,
      connects: [
        ["a0", "a1"],
        ["a1", "a0"],
      ],
    },
    { name: "onward", latencyNs: 10, bytesPerSecond: 1e9, connects: [["a1", "far"]] },
  ],
};

export const template: TemplateSpec = {
  name: "t",
  symbols: ["tokens"],
  operators: [
    { name: "compute", outputs: { out: { shape: ["tokens"], dtype: "int8" } }, flops: "tokens * 1000000" },
    { name: "move", outputs: { out: { shape: ["tokens"], dtype: "int8" } }, movedBytes: "tokens * 7" },
  ],
  outputs: {},
  partitions: [{ name: "p", accelerators: ["a0"], layout: [0, 0] }],
};

export const register: ExecutorInstruction = { type: "registerTemplate", template };

/** An operator of no inputs and one output: the tensor of its issue number, of 10 bytes. */
export function issue(issueNumber: number, changes: Partial<IssueInstruction> = {}): IssueInstruction {
  return {
    type: "issue",
    issueNumber,
    accelerator: 0,
    instance: issueNumber,
    template: "t",
    operator: 0,
    symbols: { tokens: 1 },
    rank: 0,
    activated: true,
    inputs: [],
    outputs: [output(issueNumber, 10)],
    workspaceBytes: 0,
    ...changes,
  };
}

export function output(tensor: number, bytes: number, aliases: number | null = null): IssuedOutput {
  return { tensor, bytes, aliases };
}

/** A tensor that is on the operator's accelerator, or will be by something issued before. */
export function local(tensor: number) {
  return { tensor, transfer: null, source: -1 };
}

export function recv(transfer: number, tensor: number, bytes: number): ExecutorInstruction {
  return { type: "activateRecv", transfer, tensor, source: 0, destination: 1, bytes };
}

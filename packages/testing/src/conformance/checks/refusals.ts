import type { ExecutorInstruction, IssueInstruction } from "@slicescheduler/executor";
import type { Check } from "../check.ts";
import { WHERE } from "../rules.ts";
import { made } from "../work.ts";

/** What no correct master says is refused at once with a typed error, and changes nothing. */
export const refusalChecks: readonly Check[] = [
  {
    rule: "an issue with an impossible field is refused, and its number can still be used",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      scene.execute(producer);
      await scene.done(producer);
      const good = numbers.map(0, numbers.here(made(producer)), 256, { scratchBytes: 64 });
      for (const [code, change] of impossible(good)) scene.refuses([code], { ...good, ...change });
      for (const rank of [-1, 0.5, Number.NaN])
        scene.refuses(["INVALID_INSTRUCTION"], { type: "rerank", issueNumber: producer.issueNumber, rank });
      scene.execute(good);
      await scene.done(good);
      await stage.memory(scene).uses(0, 512 + 256, "only two results were made");
    },
  },
  {
    rule: "an issue that plans an impossible transfer is refused",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const producers = [numbers.source(0, 512), numbers.source(0, 256)] as const;
      const pending = numbers.bring(made(producers[0]), 0);
      const waiting = numbers.sink(1, pending);
      const held = producers.map((producer) => ({ ...producer, activated: false }));
      scene.execute(...held, waiting);
      const good = numbers.sink(1, numbers.bring(made(producers[1]), 0));
      const wrong: readonly (readonly [string, Partial<IssueInstruction>])[] = [
        ["to itself", { accelerator: 0 }],
        ["without a link", { accelerator: 2 }],
        ["by another's number", { inputs: good.inputs.map((input) => ({ ...input, transfer: pending.transfer })) }],
        ["from nowhere", { inputs: good.inputs.map((input) => ({ ...input, source: 3 })) }],
      ];
      for (const [, change] of wrong)
        scene.refuses(["INVALID_INSTRUCTION", "UNKNOWN_ACCELERATOR"], { ...good, ...change });
      const both = numbers.join(1, [good.inputs[0] ?? pending, numbers.bring(made(producers[0]), 0)], 64);
      scene.refuses(["INVALID_INSTRUCTION"], {
        ...both,
        inputs: both.inputs.map((input) => ({ ...input, transfer: good.inputs[0]?.transfer ?? null })),
      });
      scene.execute(good, ...held.map(({ issueNumber }) => ({ type: "activate", issueNumber }) as const));
      await scene.done(good, waiting);
    },
  },
  {
    rule: "issue numbers rise and are never used again",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const [lower, higher] = [numbers.work(0), numbers.work(0)];
      scene.execute(higher);
      scene.refuses(["ISSUE_ORDER"], lower);
      await scene.done(higher);
      scene.refuses(["ISSUE_ORDER", "DUPLICATE_ISSUE"], higher);
      await scene.quiet();
      scene.silent("no event of a refused issue", ["operatorStarted", lower.issueNumber]);
    },
  },
  {
    rule: "an output that its accelerator already has is refused",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const first = numbers.source(0, 512, { held: true });
      const second = numbers.source(0, 512);
      scene.execute(first);
      scene.refuses(["DUPLICATE_OUTPUT"], { ...second, outputs: first.outputs });
      scene.execute(second, { type: "activate", issueNumber: first.issueNumber });
      await scene.done(first, second);
    },
  },
  {
    rule: "instructions about accelerators that are not there in the cluster, and unknown instructions, are refused",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      for (const accelerator of [3, -1, 0.5])
        for (const wrong of about(accelerator)) scene.refuses(["UNKNOWN_ACCELERATOR"], wrong);
      const unknown = { type: "unheardOf", issueNumber: 1 } as unknown as ExecutorInstruction;
      scene.refuses(["INVALID_INSTRUCTION"], unknown);
      scene.refuses(["INVALID_INSTRUCTION"], { type: "loadWeights", accelerator: 0, name: "w", bytes: -8 });
      const work = numbers.work(0);
      scene.execute(work);
      await scene.done(work);
      await stage.memory(scene).isEmpty("everything else was refused");
    },
  },
  {
    rule: "what comes before a wrong instruction in its batch stays carried out",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const good = numbers.source(0, 512);
      scene.refuses(["UNKNOWN_TEMPLATE"], { ...numbers.work(0), template: "never registered" }, [good]);
      await scene.done(good);
      const next = numbers.sink(0, numbers.here(made(good)));
      scene.execute(next);
      await scene.done(next);
    },
  },
];

/** Each with the code of its refusal. */
function impossible(good: IssueInstruction): readonly (readonly [string, Partial<IssueInstruction>])[] {
  const input = good.inputs[0] ?? { tensor: 0, transfer: null, source: -1 };
  const output = good.outputs[0] ?? { tensor: 0, bytes: 0, aliases: null };
  const invalid: readonly Partial<IssueInstruction>[] = [
    { issueNumber: good.issueNumber + 0.5 },
    { instance: -1 },
    { operator: 1 },
    { operator: -1 },
    { rank: Number.NaN },
    { rank: -1 },
    { workspaceBytes: -64 },
    { workspaceBytes: 2 ** 53 },
    { inputs: [input, input] },
    { inputs: [{ ...input, tensor: 1.5 }] },
    { outputs: [output, output] },
    { outputs: [{ ...output, tensor: input.tensor }] },
    { outputs: [{ ...output, bytes: 0.5 }] },
    { outputs: [{ ...output, aliases: output.tensor }] },
  ];
  return [
    ["UNKNOWN_TEMPLATE", { template: "never registered" }],
    ["UNKNOWN_ACCELERATOR", { accelerator: 3 }],
    ...invalid.map((change) => ["INVALID_INSTRUCTION", change] as const),
  ];
}

function about(accelerator: number): readonly ExecutorInstruction[] {
  return [
    { type: "loadWeights", accelerator, name: "w", bytes: 64 },
    { type: "hold", tensor: 1, accelerator },
    { type: "release", tensor: 1, accelerator },
  ];
}

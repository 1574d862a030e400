import fc from "fast-check";
import { expect, test } from "vitest";
import { type Adders, program } from "../test/programs.ts";
import { type CriticalStep, type SimOperator, Simulator } from "./index.ts";

const runs = { numRuns: 150 };

/** What is declared, as the adders were told. */
function declared(simulator: Simulator) {
  const accelerator: number[] = [];
  const inputs: number[][] = [];
  const maker = new Map<number, number>();
  const running = new Set<number>();
  const record = new Proxy(simulator as unknown as Adders, {
    get: (target, name: keyof Adders) => {
      if (typeof target[name] !== "function") return target[name];
      return (...args: number[]) => {
        const result = (target[name] as (...args: number[]) => unknown).apply(target, args);
        if (name === "addOperator") {
          accelerator.push(args[0] as number);
          inputs.push([]);
        } else if (name === "setRunning") running.add(args[0] as number);
        else if (name === "addInput") inputs[args[0] as number]?.push(args[1] as number);
        else if (name === "addOutput") maker.set(result as number, args[0] as number);
        return result;
      };
    },
  });
  return { record, accelerator, inputs, maker, running };
}

test("each step starts when the one before ends, and because of it", () => {
  const waits = new Map<string, number>();
  fc.assert(
    fc.property(program, ({ options, nowNs, accelerators, base, candidates }) => {
      const simulator = new Simulator(options);
      const { record, accelerator, inputs, maker, running } = declared(simulator);
      simulator.begin(nowNs, accelerators);
      for (const call of [...base, ...(candidates[0] ?? [])]) call(record);
      const { makespanNs } = simulator.run();
      const transfers = simulator.transfers();
      const portsOf = ({ source, destination }: { source: number; destination: number }) => [
        `out ${source}`,
        `in ${destination}`,
        ...(options.topology.route(source, destination) ?? []),
      ];
      const path = simulator.criticalPath();
      const justified = (step: CriticalStep, before: CriticalStep | undefined): boolean => {
        if (before === undefined)
          return step.waitedFor === "begin" && (step.startNs <= nowNs || running.has(step.operator));
        if (before.doneNs !== step.startNs || step.sinceNs > step.startNs) return false;
        const moved = transfers[step.transfer];
        const ended = transfers[before.transfer];
        if (step.waitedFor === "accelerator") return before.operator >= 0 && before.accelerator === step.accelerator;
        if (step.waitedFor === "port") {
          if (moved === undefined) return false;
          // With aging and reservations the turn of a transfer can also come with time alone.
          const ports = portsOf(moved);
          const freed = ended !== undefined && portsOf(ended).some((port) => ports.includes(port));
          return (
            freed || transfers.every((it) => it.doneNs !== step.startNs || !portsOf(it).some((p) => ports.includes(p)))
          );
        }
        const read = moved === undefined ? (inputs[step.operator] ?? []) : [moved.tensor as number];
        const arrived =
          ended === undefined ? read.some((it) => maker.get(it) === before.operator) : read.includes(ended.tensor);
        return step.waitedFor === "input" && arrived && step.sinceNs === step.startNs;
      };
      for (const [index, step] of path.entries()) {
        waits.set(step.waitedFor, (waits.get(step.waitedFor) ?? 0) + 1);
        if (!justified(step, path[index - 1])) expect(path).toBe(`justified at step ${index}`);
        expect(step.operator === -1 ? accelerators.length : accelerator[step.operator]).toBe(
          step.operator === -1 ? accelerators.length : step.accelerator,
        );
      }
      expect((path.at(-1)?.doneNs ?? nowNs) - nowNs).toBe(makespanNs);
      for (const operator of accelerator.keys()) {
        const doneNs = simulator.doneNs(operator as SimOperator);
        const last = simulator.criticalPath(operator as SimOperator).at(-1);
        expect(last?.doneNs ?? Number.NaN).toBe(doneNs);
      }
    }),
    runs,
  );
  for (const wait of ["begin", "input", "accelerator", "port"]) expect(waits.get(wait) ?? 0).toBeGreaterThan(5);
});

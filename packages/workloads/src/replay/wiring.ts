/** Which operators of a pass need which of the pass before, read from the templates alone: what the audit holds a run to. */
import type { Template } from "@slicescheduler/gmg";
import type { Dependency } from "./audit.ts";

/** One need of a consuming template: its operator, and the operator of the producing template it waits for. */
export interface PassDependency {
  readonly operator: number;
  readonly onOperator: number;
}

/** What `consumer` needs when each of its inputs is bound to the output of `producer` with the same name. */
export function passDependencies(
  consumer: Pick<Template, "inputs" | "operators">,
  producer: Pick<Template, "outputs">,
): PassDependency[] {
  return consumer.operators.flatMap((operator) =>
    operator.inputs.flatMap(({ slot }) => {
      if (slot < 0) return [];
      const input = consumer.inputs.find(({ first, count }) => slot >= first && slot < first + count);
      const output = producer.outputs.find(({ name }) => name === input?.name);
      const ref = output?.refs[slot - (input?.first ?? 0)];
      if (ref === undefined) throw new TypeError(`input slot ${slot} has no output of the same name to bind to`);
      return [{ operator: operator.index, onOperator: ref.operator }];
    }),
  );
}

/** The needs of one instance on the instance before it. */
export function onInstance(dependencies: readonly PassDependency[], instance: number): Dependency[] {
  return dependencies.map(({ operator, onOperator }) => ({ operator, onInstance: instance, onOperator }));
}

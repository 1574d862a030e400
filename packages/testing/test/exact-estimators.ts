import { MasterCore, type SliceSchedulerOptions } from "slicescheduler";
import { type Durations, operatorNs, type RunOptions } from "../src/index.ts";

type Estimators = NonNullable<NonNullable<SliceSchedulerOptions["scheduling"]>["estimators"]>;
type Model = ReturnType<Estimators["operator"]>;

/** Estimators that know nothing yet. */
export function newEstimators({ cluster }: Pick<RunOptions, "cluster">): Estimators {
  return new MasterCore({ cluster }).scheduler.estimators;
}

/** Estimators that know the true durations of a world from the start; of transfers, what its links declare. */
export function exactEstimators(world: Pick<RunOptions, "cluster">, durations: Durations): Estimators {
  const models = new Map<string, Model>();
  const operator = (model: string, kind: string): Model => {
    const found = models.get(`${model}/${kind}`);
    if (found !== undefined) return found;
    const [template = "", name = ""] = model.split("/");
    const made = trueModel(world, (features) => {
      const work = { template, operator: Number(name.slice(1)), accelerator: { kind }, symbols: { ...features } };
      return operatorNs(durations, work as unknown as Parameters<typeof operatorNs>[1]);
    });
    models.set(`${model}/${kind}`, made);
    return made;
  };
  const ofLinks = trueModel(world, (_, declaredNs) => declaredNs);
  const transfer = (): Model => ofLinks;
  return Object.assign(newEstimators(world), { operator, findOperator: operator, transfer, findTransfer: transfer });
}

function trueModel(
  world: Pick<RunOptions, "cluster">,
  trueNs: (features: readonly number[], priorNs: number) => number,
): Model {
  const predict: Model["predict"] = (features, priorNs) => ({
    durationNs: Math.max(1, Math.round(trueNs(features, priorNs))),
    confidence: 1,
    source: "history",
  });
  return Object.assign(newEstimators(world).operator("", ""), { predict, observe: () => {} });
}

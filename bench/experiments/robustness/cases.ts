/** What a run may meet, one case at a time; each is compared with the undisturbed run. */
import { EstimatorBank, FrozenBank, type OperatorObservation } from "@slicescheduler/estimators";
import type { Candidate } from "@slicescheduler/scheduler";
import type { ReplayOptions, ReplayScheduling } from "@slicescheduler/workloads";

/** What a case changes of the replay's options. */
type Change = Pick<ReplayOptions, "disturbance" | "noise" | "scheduling">;

export interface Case {
  readonly name: string;
  readonly summary: string;
  /** @param learned what the estimators know after a run with all durations × `factor`. */
  change(windowNs: number, learned: (factor: number) => EstimatorBank): Change;
}

export const undisturbed: Case = {
  name: "undisturbed",
  summary: "noise of 0.62 %, estimators cold",
  change: () => ({}),
};

export const cases: readonly Case[] = [
  undisturbed,
  {
    name: "warm",
    summary: "estimators loaded from a run before",
    change: (_, learned) => ({ scheduling: { estimators: learned(1) } }),
  },
  {
    name: "predicted-x2",
    summary: "estimators loaded that predict twice the truth",
    change: (_, learned) => ({ scheduling: { estimators: learned(2) } }),
  },
  {
    name: "predicted-half",
    summary: "estimators loaded that predict half of the truth",
    change: (_, learned) => ({ scheduling: { estimators: learned(0.5) } }),
  },
  {
    name: "always-x2",
    summary: "estimators that predict twice the truth and never learn otherwise",
    change: (_, learned) => ({ scheduling: { estimators: new FrozenBank(learned(2)) } }),
  },
  {
    name: "always-half",
    summary: "estimators that predict half of the truth and never learn otherwise",
    change: (_, learned) => ({ scheduling: { estimators: new FrozenBank(learned(0.5)) } }),
  },
  {
    name: "hidden-x2",
    summary: "half of the operators take twice as long as the others, by what no feature shows; the mean is as ever",
    change: () => ({
      disturbance: { bias: { pass: "all", factor: 2 / 3, fromNs: 0 }, stragglers: { share: 0.5, factor: 2 } },
    }),
  },
  {
    name: "decode-x2",
    summary: "decode operators take twice as long from half of the window on",
    change: (windowNs) => ({ disturbance: { bias: { pass: "decode", factor: 2, fromNs: windowNs / 2 } } }),
  },
  {
    name: "all-x2",
    summary: "all operators take twice as long from half of the window on",
    change: (windowNs) => ({ disturbance: { bias: { pass: "all", factor: 2, fromNs: windowNs / 2 } } }),
  },
  {
    name: "log-normal",
    summary: "durations log-normal with a coefficient of variation of 1",
    change: () => ({ noise: { operatorCv: 1, transferCv: 1 } }),
  },
  {
    name: "stragglers",
    summary: "one operator in a hundred takes twenty times as long",
    change: () => ({ disturbance: { stragglers: { share: 0.01, factor: 20 } } }),
  },
  {
    name: "slow-device",
    summary: "one accelerator of eight takes three times as long, all the time",
    change: () => ({ disturbance: { slowAccelerator: { name: "a0", factor: 3, fromNs: 0 } } }),
  },
  {
    name: "slowing-device",
    summary: "one accelerator of eight takes three times as long from half of the window on",
    change: (windowNs) => ({ disturbance: { slowAccelerator: { name: "a0", factor: 3, fromNs: windowNs / 2 } } }),
  },
  {
    name: "slow-device-by-kind",
    summary: "control: the slow accelerator again, durations predicted by kind alone",
    change: () => ({
      disturbance: { slowAccelerator: { name: "a0", factor: 3, fromNs: 0 } },
      scheduling: { estimators: new KindBank() },
    }),
  },
  {
    name: "no-simulation",
    summary: "control: partitions in turn, nothing predicted or simulated",
    change: () => ({ scheduling: { policy: inTurn() } }),
  },
];

/** Takes all accelerators of a kind for alike. */
class KindBank extends EstimatorBank {
  override speedFactor(): number {
    return 1;
  }

  override observeOperator({ model, kind, features, observedNs, priorNs }: OperatorObservation): void {
    this.operator(model, kind).observe(features, observedNs, priorNs);
  }
}

/** Deals requests to their candidates one after the other. */
function inTurn(): NonNullable<ReplayScheduling["policy"]> {
  let turn = 0;
  return {
    name: "in turn",
    choose: ({ candidates }) => {
      const candidate = candidates[candidates.length === 1 ? 0 : turn++ % candidates.length] as Candidate;
      return { candidate, scoresNs: candidates.map(() => null) };
    },
  };
}

/** A bank that knows the same and learns on its own. */
export function copyOf(bank: EstimatorBank): EstimatorBank {
  return EstimatorBank.load(bank.save());
}

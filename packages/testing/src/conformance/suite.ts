import type { Check, Stage } from "./check.ts";
import { acceleratorChecks } from "./checks/accelerators.ts";
import { clockChecks } from "./checks/clock.ts";
import { eventChecks } from "./checks/events.ts";
import { failureChecks } from "./checks/failures.ts";
import { memoryChecks } from "./checks/memory.ts";
import { mixtureChecks } from "./checks/mixture.ts";
import { openingChecks } from "./checks/opening.ts";
import { orderChecks } from "./checks/order.ts";
import { probeChecks } from "./checks/probes.ts";
import { refusalChecks } from "./checks/refusals.ts";
import { transferEndChecks } from "./checks/transfer-ends.ts";
import { transferChecks } from "./checks/transfers.ts";
import { withdrawalChecks } from "./checks/withdrawals.ts";
import { MemoryProbe } from "./memory-probe.ts";
import { Scene, type SceneOptions, type SceneSettings } from "./scene.ts";
import type { ConformanceBackend, ConformanceOptions } from "./types.ts";
import { conformanceCluster, conformanceTemplates } from "./world.ts";

const SECTIONS: Readonly<Record<string, readonly Check[]>> = {
  "opening and closing": openingChecks,
  operators: orderChecks,
  withdrawals: withdrawalChecks,
  memory: memoryChecks,
  transfers: [...transferChecks, ...transferEndChecks],
  "wrong instructions": refusalChecks,
  events: eventChecks,
  failures: failureChecks,
  accelerators: [...acceleratorChecks, ...probeChecks],
  clock: clockChecks,
  "all together": mixtureChecks,
};

/**
 * Registers one test per rule that a backend with this manifest has to keep: those of docs/execution-model.md, and those of the interfaces `Executor`
 * and `Clock`. Works with any test runner that takes a name and an async function. A failing test throws a `ConformanceFailure` that tells the
 * rule, what was expected and seen, and what went to and fro last.
 *
 * Every test makes a fresh backend, opens it with a cluster of three accelerators, and closes it. Time a backend takes for its operators is
 * the suite's time; nothing depends on how long that is. Throws TypeError for a time limit that is not positive.
 * @returns The names of the tests, in their order.
 */
export function runExecutorConformance(options: ConformanceOptions): readonly string[] {
  const { test, manifest, timeoutMs = 10_000, quietMs = 30 } = options;
  for (const [name, ms] of Object.entries({ timeoutMs, quietMs }))
    if (!(ms > 0)) throw new TypeError(`${name} is ${ms}; give milliseconds above 0`);
  const names: string[] = [];
  for (const [section, checks] of Object.entries(SECTIONS)) {
    for (const check of checks) {
      if (check.needs !== undefined && manifest[check.needs] !== true) continue;
      if (check.unless !== undefined && manifest[check.unless] === true) continue;
      const name = `${section}: ${check.rule}`;
      names.push(name);
      test(name, () => runCheck(check, options, { timeoutMs, quietMs }));
    }
  }
  return names;
}

async function runCheck(
  check: Check,
  options: ConformanceOptions,
  limits: { readonly timeoutMs: number; readonly quietMs: number },
): Promise<void> {
  const scenes: Scene[] = [];
  const stage: Stage = {
    make: async (sceneOptions = {}) => {
      const scene = await newScene(check, options, limits, sceneOptions);
      scenes.push(scene);
      return scene;
    },
    open: async (sceneOptions) => {
      const scene = await stage.make(sceneOptions);
      scene.open();
      return scene;
    },
    memory: (scene) => new MemoryProbe(scene),
  };
  try {
    await check.run(stage);
    for (const scene of scenes) scene.close();
  } finally {
    for (const { backend } of scenes) {
      closeAnyhow(backend);
      await backend.dispose?.();
    }
  }
}

/** For a backend whose check has failed: what closing throws is no news. */
function closeAnyhow({ executor }: ConformanceBackend): void {
  try {
    executor.close();
  } catch {}
}

async function newScene(
  check: Check,
  options: ConformanceOptions,
  limits: Pick<SceneSettings, "timeoutMs" | "quietMs">,
  sceneOptions: SceneOptions,
): Promise<Scene> {
  const { manifest, create } = options;
  const same = <Value>(value: Value) => value;
  const cluster = (options.cluster ?? same)(conformanceCluster(sceneOptions.absent));
  const templates = conformanceTemplates(cluster).map(options.template ?? same);
  const backend = await create({ cluster, templates });
  return new Scene(check, backend, cluster, { manifest, templates, ...limits }, sceneOptions);
}

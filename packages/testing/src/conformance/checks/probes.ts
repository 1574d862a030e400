import type { Check } from "../check.ts";
import { WHERE } from "../rules.ts";

const KIB = 1_024;

/** Probes of accelerators, and those that are given up. */
export const probeChecks: readonly Check[] = [
  {
    rule: "a probe of an accelerator that is in order is answered, by its number, and finds it healthy",
    where: WHERE.interface,
    needs: "probes",
    run: async (stage) => {
      const scene = await stage.open();
      const busy = scene.numbers.work(1);
      scene.execute(busy, { type: "probe", accelerator: 1, probe: 7 });
      await scene.hears(["probed", 1]);
      const { probe, healthy } = scene.find("probed", 1);
      scene.expect(
        probe === 7 && healthy,
        "probe 7, healthy",
        `probe ${probe}, ${healthy ? "healthy" : "not healthy"}`,
      );
      await scene.done(busy);
      await scene.quiet();
      scene.expect(scene.count("probed", 1) === 1, "one answer", `${scene.count("probed", 1)}`);
    },
  },
  {
    rule: "an accelerator that is given up ends as one that is lost, and returns empty; work elsewhere goes on",
    where: WHERE.accelerators,
    needs: "probes",
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const gone = [numbers.source(0, KIB), numbers.work(0), numbers.work(0, { held: true })];
      const elsewhere = [numbers.work(1), numbers.work(2)];
      scene.execute({ type: "loadWeights", accelerator: 0, name: "w", bytes: KIB }, ...gone, ...elsewhere);
      scene.execute({ type: "giveUp", accelerator: 0, reason: "the suite gives it up" });
      await scene.hears(["acceleratorLost", 0]);
      await scene.done(...elsewhere);
      await scene.hears(["acceleratorReturned", 0]);
      await stage.memory(scene).uses(0, 0, "it returned empty");
      const next = numbers.work(0);
      scene.execute(next);
      await scene.done(next);
    },
  },
];

import type { Check } from "../check.ts";
import { WHERE } from "../rules.ts";
import type { Feature } from "../types.ts";
import { made } from "../work.ts";

/** Being opened, being closed, and what a backend states of itself. */
export const openingChecks: readonly Check[] = [
  {
    rule: "the manifest of each backend is the one that was given to the suite",
    where: WHERE.manifest,
    run: async (stage) => {
      const scene = await stage.make();
      const { manifest } = scene.settings;
      const found: Partial<Record<string, unknown>> = { ...scene.executor.manifest };
      for (const [field, value] of Object.entries(manifest))
        scene.expect(found[field] === value, `${field} ${JSON.stringify(value)}`, `${JSON.stringify(found[field])}`);
      scene.expect(manifest.name !== "", "a name", "an empty one");
    },
  },
  {
    rule: "the backend has what its manifest states",
    where: WHERE.manifest,
    run: async (stage) => {
      const scene = await stage.make();
      const { backend, executor, settings } = scene;
      const hooks: Readonly<Record<Feature, readonly unknown[]>> = {
        failsOperators: [backend.failOperator],
        failsTransfers: [backend.failTransfer],
        losesAccelerators: [backend.loseAccelerator, backend.returnAccelerator],
        probes: [],
        keepsAccounts: [executor.stats],
        holdsData: [backend.read],
      };
      for (const [feature, functions] of Object.entries(hooks)) {
        const isThere = functions.every((hook) => hook !== undefined);
        const stated = settings.manifest[feature as Feature] === true;
        if (stated && !isThere)
          scene.fail(`what shows that the backend has ${feature}`, "create() gave no hook for it");
      }
    },
  },
  {
    rule: "execute before open is refused",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.make();
      scene.refuses(["NOT_OPEN"], { type: "release", tensor: 1, accelerator: 0 });
    },
  },
  {
    rule: "a second open is refused",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      let code: unknown = "nothing";
      try {
        scene.executor.open({ cluster: scene.cluster, deliver: () => {} });
      } catch (error) {
        code = (error as { readonly code?: unknown }).code;
      }
      scene.expect(code === "ALREADY_OPEN", "an error of the code ALREADY_OPEN", `${String(code)} was thrown`);
      const work = scene.numbers.work(0);
      scene.execute(work);
      await scene.done(work);
    },
  },
  {
    rule: "a template that is registered again changes nothing; another one of its name is refused",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const [template] = scene.settings.templates;
      if (template === undefined) return scene.fail("a template", "none");
      scene.execute({ type: "registerTemplate", template });
      const other = { ...template, symbols: [...template.symbols, "unused"] };
      scene.refuses(["TEMPLATE_CONFLICT"], { type: "registerTemplate", template: other });
      const work = scene.numbers.work(0);
      scene.execute(work);
      await scene.done(work);
    },
  },
  {
    rule: "close with work in flight is clean: nothing is delivered afterwards, and execute is refused",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open({ moves: false });
      const { numbers } = scene;
      const producer = numbers.source(0, 512);
      const moved = numbers.bring(made(producer), 0);
      const transfer = moved.transfer ?? -1;
      scene.execute(producer, numbers.sink(1, moved));
      await scene.hears(["intentsRaised", transfer]);
      scene.execute(scene.recv(transfer));
      await scene.hears(["recvReady", transfer]);
      const works = [numbers.work(0), numbers.work(0), numbers.work(1), numbers.work(2, { held: true })];
      scene.execute({ type: "activateSend", transfer }, ...works);
      scene.close();
      await scene.quiet();
      scene.refuses(["CLOSED"], numbers.work(0));
      scene.close();
    },
  },
  {
    rule: "close from within an event is clean: nothing is delivered afterwards",
    where: WHERE.interface,
    run: async (stage) => {
      const scene = await stage.open();
      const { numbers } = scene;
      const first = numbers.source(0, 512);
      scene.when(["operatorDone", first.issueNumber], () => {
        scene.close();
        return [];
      });
      scene.execute(first, numbers.sink(0, numbers.here(made(first))), numbers.work(0));
      await scene.done(first);
      await scene.quiet();
    },
  },
];

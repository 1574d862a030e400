import type { Executor, ExecutorEvent, IssuedInput } from "@slicescheduler/executor";
import {
  type ClusterSpec,
  compileCluster,
  compileTemplate,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/gmg";

/** Runs instances of one template on the first accelerator, an operator at a time: the least that a caller without a scheduler has to do. */
export class EagerMaster {
  latestInstance = -1;
  readonly #executor: Executor;
  readonly #template: Template;
  #issues = 0;
  #tensors = 0;
  #ended: ((event: ExecutorEvent) => void) | undefined;

  constructor(executor: Executor, cluster: ClusterSpec, spec: TemplateSpec) {
    this.#executor = executor;
    this.#template = compileTemplate(spec, compileCluster(cluster));
    executor.open({ cluster, deliver: (event) => this.#hear(event) });
    const weights = new Map(
      this.#template.operators.flatMap((it) => it.weights.map(({ name, bytes }) => [name, bytes])),
    );
    executor.execute([
      { type: "registerTemplate", template: spec },
      ...Array.from(weights, ([name, bytes]) => ({ type: "loadWeights", accelerator: 0, name, bytes }) as const),
    ]);
  }

  async run(symbols: Readonly<Record<string, number>>, prepare: (instance: number) => void): Promise<void> {
    const instance = ++this.latestInstance;
    prepare(instance);
    const binding = this.#template.bind(symbols);
    const made: number[][] = [];
    for (const [operator, compiled] of this.#template.operators.entries()) {
      const inputs = compiled.inputs.map((it): IssuedInput => {
        const tensor = made[it.operator]?.[it.output];
        if (tensor === undefined) throw new Error(`operator ${compiled.name} reads what was not made`);
        return { tensor, transfer: null, source: 0 };
      });
      const outputs = compiled.outputs.map((_, output) => ({
        tensor: this.#tensors++,
        bytes: binding.outputBytes(operator, output),
        aliases: null,
      }));
      made.push(outputs.map(({ tensor }) => tensor));
      const issue = { type: "issue", issueNumber: this.#issues++, accelerator: 0, instance, operator } as const;
      const { name: template } = this.#template;
      const workspaceBytes = binding.workspaceBytes(operator);
      const ended = new Promise<ExecutorEvent>((resolve) => {
        this.#ended = resolve;
      });
      this.#executor.execute([
        { ...issue, template, symbols, rank: 0, activated: true, inputs, outputs, workspaceBytes },
      ]);
      const event = await ended;
      if (event.type !== "operatorDone") throw new Error(JSON.stringify(event));
    }
    const all = made.flat();
    this.#executor.execute(all.map((tensor) => ({ type: "release", tensor, accelerator: 0 }) as const));
  }

  #hear(event: ExecutorEvent): void {
    if (event.type === "operatorDone" || event.type === "operatorFailed") this.#ended?.(event);
  }
}

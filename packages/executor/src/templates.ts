import { type Cluster, compileTemplate, type Template, type TemplateSpec } from "@slicescheduler/templates";
import { ExecutorError } from "./errors.ts";

/** The templates that were registered, by name. */
export class Templates {
  readonly #cluster: Cluster;
  readonly #templates = new Map<string, Template>();

  /** @param registered Compiled for this cluster already. */
  constructor(cluster: Cluster, registered: readonly Template[] = []) {
    this.#cluster = cluster;
    for (const template of registered) this.#templates.set(template.name, template);
  }

  /** The same template again changes nothing. Throws TEMPLATE_CONFLICT, and TEMPLATE_INVALID of the graph. */
  register(spec: TemplateSpec): void {
    const template = compileTemplate(spec, this.#cluster);
    const before = this.#templates.get(template.name);
    if (before !== undefined && JSON.stringify(before.spec) !== JSON.stringify(template.spec)) {
      throw new ExecutorError(
        "TEMPLATE_CONFLICT",
        `template ${JSON.stringify(template.name)} is registered already with another specification; give this one another name`,
      );
    }
    if (before === undefined) this.#templates.set(template.name, template);
  }

  /** Throws UNKNOWN_TEMPLATE. */
  get(name: string): Template {
    const template = this.#templates.get(name);
    if (template === undefined)
      throw new ExecutorError(
        "UNKNOWN_TEMPLATE",
        `template ${JSON.stringify(name)} is not registered; register it first`,
      );
    return template;
  }
}

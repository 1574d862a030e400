/**
 * Partitions that differ by the names of accelerators alone: what a request needs on one it needs on all of them, accelerator for
 * accelerator. On a cluster of a thousand accelerators a template has hundreds of partitions and a handful of classes.
 */
import { type AcceleratorIndex, type Cluster, partitionNamed, type Template } from "@slicescheduler/templates";

/** How the partitions of a name, one of each template, lie on the cluster. */
export interface LayoutOn {
  /** Equal where all operators of all the templates lie alike, on accelerators that round alike. */
  readonly layoutClass: number;
  /** All accelerators of the partitions. Those at the same place correspond within the class. */
  readonly accelerators: readonly AcceleratorIndex[];
}

export class LayoutClasses {
  readonly #cluster: Cluster;
  readonly #numbers = new Map<string, number>();
  /** By the names of the templates, then by that of the partition. Names of templates are unique in a graph, and none is ever dropped. */
  readonly #known = new Map<string, Map<string, LayoutOn | undefined>>();
  readonly #keys = new WeakMap<Template, string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** By partition name, filled as they are asked for. */
  of(templates: readonly Template[]): Layouts {
    let key = "";
    for (const template of templates) key += this.#keyOf(template);
    let known = this.#known.get(key);
    if (known === undefined) {
      known = new Map();
      this.#known.set(key, known);
    }
    return new Layouts(known, (name) => this.#find(key, templates, name));
  }

  #keyOf(template: Template): string {
    const known = this.#keys.get(template);
    if (known !== undefined) return known;
    const key = JSON.stringify(template.name);
    this.#keys.set(template, key);
    return key;
  }

  #find(key: string, templates: readonly Template[], name: string): LayoutOn | undefined {
    const places = new Map<AcceleratorIndex, number>();
    const placeOf = (accelerator: AcceleratorIndex): number => {
      const place = places.get(accelerator) ?? places.size;
      places.set(accelerator, place);
      return place;
    };
    const parts: string[] = [key];
    for (const template of templates) {
      const partition = partitionNamed(template, name);
      if (partition === undefined) return undefined;
      parts.push(partition.acceleratorOf.map(placeOf).join());
      parts.push(partition.accelerators.map(placeOf).join());
    }
    const accelerators = [...places.keys()];
    parts.push(accelerators.map((at) => this.#cluster.accelerators[at]?.granularityBytes).join());
    const text = parts.join(";");
    const layoutClass = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, layoutClass);
    return { layoutClass, accelerators };
  }
}

export class Layouts {
  readonly #known: Map<string, LayoutOn | undefined>;
  readonly #find: (name: string) => LayoutOn | undefined;

  /** Made by `LayoutClasses`. */
  constructor(known: Map<string, LayoutOn | undefined>, find: (name: string) => LayoutOn | undefined) {
    this.#known = known;
    this.#find = find;
  }

  /** Undefined where a template has no partition of this name. O(1) but for the first time. */
  on(name: string): LayoutOn | undefined {
    const known = this.#known.get(name);
    if (known !== undefined || this.#known.has(name)) return known;
    const found = this.#find(name);
    this.#known.set(name, found);
    return found;
  }
}

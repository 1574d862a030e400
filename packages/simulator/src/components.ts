import { grown } from "./arrays.ts";
import { ACCELERATOR, INPUTS, PLACE } from "./nodes.ts";
import type { Planned } from "./planned.ts";

/** Numbers grouped by component: those of component c are `items[from[c]]` up to `items[from[c + 1]]`. */
class Groups {
  from = new Int32Array(0);
  items = new Int32Array(0);

  /** Groups the numbers 0 … count − 1, each in the component `of` says, in order; −1 leaves one out. */
  build(components: number, count: number, of: (item: number) => number): void {
    const from = grown(this.from, components + 2).fill(0);
    this.from = from;
    const items = grown(this.items, count);
    this.items = items;
    for (let item = 0; item < count; item++) {
      const at = of(item) + 2;
      if (at > 1) from[at] = (from[at] as number) + 1;
    }
    for (let c = 1; c <= components + 1; c++) from[c] = (from[c] as number) + (from[c - 1] as number);
    for (let item = 0; item < count; item++) {
      const component = of(item);
      if (component === -1) continue;
      const at = from[component + 1] as number;
      items[at] = item;
      from[component + 1] = at + 1;
    }
  }
}

/**
 * Accelerators that no planned transfer connects, and that share no link, have nothing to do with each other: each component
 * can be simulated by itself, with its few records near each other, and gives the same result to the bit. That is so unless
 * something does not fit, which stops all, or an intent waits until its turn changes with time (turns.ts), when any event matters;
 * then `Evaluation` runs all together.
 */
export class Components {
  count = 0;
  /** By accelerator. */
  of = new Int32Array(0);
  /** By link; −1 = no transfer takes it. */
  ofLink = new Int32Array(0);
  readonly accelerators = new Groups();
  /** Places in the lists of `Planned`. */
  readonly ready = new Groups();
  readonly underway = new Groups();
  readonly raised = new Groups();
  readonly nodes = new Groups();
  /** Operators per component. */
  operators = new Int32Array(0);
  /** What can run and move at once, per component. */
  eventsMax = new Int32Array(0);
  #parent = new Int32Array(0);
  /** While events are counted: transfers per component, and how many of them its accelerators can send at once. */
  #transfers = new Float64Array(0);
  #ports = new Float64Array(0);

  /** Of what is planned, without an overlay. O(nodes). */
  build(planned: Planned): void {
    const { accelerators, intents, nodes, transfers } = planned;
    const links = intents.ports.ports - 2 * accelerators;
    const parent = grown(this.#parent, accelerators + links);
    this.#parent = parent;
    for (let each = 0; each < accelerators + links; each++) parent[each] = each;
    const taken = grown(this.ofLink, links).fill(-1);
    this.ofLink = taken;
    for (let transfer = 0; transfer < transfers; transfer++) {
      const node = planned.transferNode[transfer] as number;
      const destination = planned.accelerator(node);
      const source = planned.accelerator(nodes.i32[(node << 4) + INPUTS] as number);
      this.#union(source, destination);
      if (links > 0) this.#takeLinks(planned, source, destination);
    }
    this.#number(accelerators);
    for (let link = 0; link < links; link++)
      if (taken[link] !== -1) taken[link] = this.of[this.#root(accelerators + link)] as number;
    this.#group(planned);
  }

  #takeLinks({ accelerators, intents: { ports } }: Planned, source: number, destination: number): void {
    const count = ports.portCount(source, destination);
    for (let at = 2; at < count; at++) {
      const link = ports.portAt(source, destination, at) - 2 * accelerators;
      this.ofLink[link] = 0;
      this.#union(source, accelerators + link);
    }
  }

  /** Components in the order of their first accelerators, which are their roots. */
  #number(accelerators: number): void {
    this.of = grown(this.of, accelerators);
    this.count = 0;
    for (let a = 0; a < accelerators; a++) {
      const root = this.#root(a);
      this.of[a] = root === a ? this.count++ : (this.of[root] as number);
    }
  }

  #group(planned: Planned): void {
    const { of, count } = this;
    const at = (node: number) => of[planned.accelerator(node)] as number;
    this.accelerators.build(count, planned.accelerators, (a) => of[a] as number);
    this.ready.build(count, planned.ready, (place) => at(planned.readyNode[place] as number));
    this.underway.build(count, planned.underway, (place) => at(planned.underwayNode[place] as number));
    this.raised.build(count, planned.raised, (place) => at(planned.raisedNode[place] as number));
    this.nodes.build(count, planned.nodes.count, at);
    this.operators = grown(this.operators, count).fill(0);
    this.#countEvents(planned);
    const { operators } = planned;
    for (let place = 0; place < operators; place++) {
      const component = at(planned.operatorNode[place] as number);
      this.operators[component] = (this.operators[component] as number) + 1;
    }
  }

  /** At most as many transfers as there are, and as the accelerators can send at once. */
  #countEvents({ accelerators, intents: { ports }, nodes, transfers, transferNode }: Planned): void {
    const { of, count } = this;
    this.#transfers = grown(this.#transfers, count).fill(0);
    this.#ports = grown(this.#ports, count).fill(0);
    for (let transfer = 0; transfer < transfers; transfer++) {
      const place = nodes.i32[((transferNode[transfer] as number) << 4) + PLACE] as number;
      (this.#transfers[of[place & ACCELERATOR] as number] as number)++;
    }
    this.eventsMax = grown(this.eventsMax, count).fill(0);
    for (let a = 0; a < accelerators; a++) {
      const component = of[a] as number;
      (this.#ports[component] as number) += ports.capacity(a);
      (this.eventsMax[component] as number)++;
    }
    for (let c = 0; c < count; c++)
      (this.eventsMax[c] as number) += Math.min(this.#transfers[c] as number, this.#ports[c] as number);
  }

  #root(each: number): number {
    const parent = this.#parent;
    let root = each;
    while (parent[root] !== root) {
      const above = parent[parent[root] as number] as number;
      parent[root] = above;
      root = above;
    }
    return root;
  }

  #union(a: number, b: number): void {
    const rootA = this.#root(a);
    const rootB = this.#root(b);
    if (rootA < rootB) this.#parent[rootB] = rootA;
    else this.#parent[rootA] = rootB;
  }
}

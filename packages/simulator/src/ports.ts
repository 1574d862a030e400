import type { Topology } from "@slicescheduler/arbitration";

/**
 * Ports and links by the selection rule of docs/execution-model.md, in typed arrays. A resource is an accelerator's egress
 * port (its index), its ingress port (accelerators + index) or a link (2 × accelerators + index).
 */
export class Ports {
  readonly #topology: Topology;
  readonly #accelerators: number;
  readonly #capacity: Int32Array;
  readonly #inUse: Int32Array;
  /** The pass in which an intent reserved the resource. */
  readonly #reservedIn: Int32Array;
  #pass = 0;
  /** Per source × destination: its route, −1 = not looked up yet. */
  readonly #routeOf: Int32Array;
  /** Per route: every resource on the way, both ports included. */
  readonly #resources: (readonly number[])[] = [];

  constructor(topology: Topology) {
    this.#topology = topology;
    this.#accelerators = topology.accelerators;
    this.#capacity = Int32Array.from([...topology.portCapacity, ...topology.portCapacity, ...topology.linkCapacity]);
    this.#inUse = new Int32Array(this.#capacity.length);
    this.#reservedIn = new Int32Array(this.#capacity.length);
    this.#routeOf = new Int32Array(this.#accelerators * this.#accelerators).fill(-1);
  }

  /** Number of the route, or −1 when there is none. Allocates once per pair. */
  route(source: number, destination: number): number {
    const pair = source * this.#accelerators + destination;
    const known = this.#routeOf[pair] as number;
    if (known !== -1) return known;
    const links = this.#topology.route(source, destination);
    if (links === undefined) return -1;
    const base = 2 * this.#accelerators;
    const route = this.#resources.length;
    this.#resources.push([source, this.#accelerators + destination, ...links.map((link) => base + link)]);
    this.#routeOf[pair] = route;
    return route;
  }

  /** Everything is free again. */
  reset(): void {
    this.#inUse.fill(0);
    this.#reservedIn.fill(0);
    this.#pass = 0;
  }

  /** Starts a selection: reservations of the one before are forgotten. */
  beginPass(): void {
    this.#pass++;
  }

  fits(route: number): boolean {
    const resources = this.#resources[route] as readonly number[];
    for (let i = 0; i < resources.length; i++) {
      const resource = resources[i] as number;
      if ((this.#inUse[resource] as number) >= (this.#capacity[resource] as number)) return false;
      if (this.#reservedIn[resource] === this.#pass) return false;
    }
    return true;
  }

  reserve(route: number): void {
    const resources = this.#resources[route] as readonly number[];
    for (let i = 0; i < resources.length; i++) this.#reservedIn[resources[i] as number] = this.#pass;
  }

  claim(route: number): void {
    const resources = this.#resources[route] as readonly number[];
    for (let i = 0; i < resources.length; i++) {
      const resource = resources[i] as number;
      this.#inUse[resource] = (this.#inUse[resource] as number) + 1;
    }
  }

  free(route: number): void {
    const resources = this.#resources[route] as readonly number[];
    for (let i = 0; i < resources.length; i++) {
      const resource = resources[i] as number;
      this.#inUse[resource] = (this.#inUse[resource] as number) - 1;
    }
  }
}

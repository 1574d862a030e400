import { ArbitrationError } from "./errors.ts";
import { type CompiledRoutes, compileRoutes, type PortName, portName } from "./routes.ts";
import type { Topology } from "./types.ts";

/**
 * Which ports and links are taken, as typed arrays: no call allocates, each costs O(links on the route).
 * Arguments are accelerator indices and are trusted; check them once with `hasRoute`.
 */
export class PortTable {
  readonly accelerators: number;
  /** Egress ports, ingress ports and links together. */
  readonly ports: number;
  /** Ports of the longest way: 2 + links. */
  readonly portCountMax: number;
  readonly #routes: CompiledRoutes;
  /** Per port: transfers that can still be admitted. */
  readonly #left: Int32Array;
  /** False when no way has a link: egress and ingress are all there is, and no route is looked up. */
  readonly #hasLinks: boolean;

  /** Throws INVALID_TOPOLOGY naming every fault. Give another table to share its compiled routes. */
  constructor(topology: Topology | PortTable) {
    this.#routes = topology instanceof PortTable ? topology.#routes : compileRoutes(topology);
    this.accelerators = this.#routes.accelerators;
    this.ports = this.#routes.ports;
    this.#left = this.#routes.capacity.slice();
    this.portCountMax = this.#routes.portCountMax;
    this.#hasLinks = this.portCountMax > 2;
  }

  /** True when a transfer can be made at all; false for a source that is its own destination and for unknown indices. */
  hasRoute(source: number, destination: number): boolean {
    const n = this.accelerators;
    if (!(Number.isInteger(source) && Number.isInteger(destination))) return false;
    if (source < 0 || source >= n || destination < 0 || destination >= n) return false;
    return this.#routes.reachable[source * n + destination] === 1;
  }

  /** True when the egress port, the ingress port and every link have capacity left. */
  fits(source: number, destination: number): boolean {
    return this.exhausted(source, destination) < 0;
  }

  /** The first port on the way without capacity left, or −1: egress, then ingress, then the links in order. */
  exhausted(source: number, destination: number): number {
    const n = this.accelerators;
    const left = this.#left;
    if ((left[source] as number) < 1) return source;
    if ((left[n + destination] as number) < 1) return n + destination;
    if (!this.#hasLinks) return -1;
    const { offsets, links } = this.#routes;
    const pair = source * n + destination;
    const end = offsets[pair + 1] as number;
    for (let at = offsets[pair] as number; at < end; at++) {
      const link = links[at] as number;
      if ((left[link] as number) < 1) return link;
    }
    return -1;
  }

  /** Takes the way. Throws PORT_EXHAUSTED, changing nothing, when it does not fit. */
  claim(source: number, destination: number): void {
    const port = this.exhausted(source, destination);
    if (port >= 0) failExhausted(this, port, source, destination);
    this.#add(source, destination, -1);
  }

  /** Gives the way back. Throws PORT_NOT_CLAIMED, changing nothing, when some port on it has nothing claimed. */
  free(source: number, destination: number): void {
    const ingress = this.accelerators + destination;
    if (this.#isFree(source)) failNotClaimed(this, source, source, destination);
    if (this.#isFree(ingress)) failNotClaimed(this, ingress, source, destination);
    const count = this.portCount(source, destination);
    for (let at = 2; at < count; at++) {
      const link = this.portAt(source, destination, at);
      if (this.#isFree(link)) failNotClaimed(this, link, source, destination);
    }
    this.#add(source, destination, 1);
  }

  /** Nothing is claimed of it. */
  #isFree(port: number): boolean {
    return (this.#left[port] as number) >= (this.#routes.capacity[port] as number);
  }

  #add(source: number, destination: number, change: number): void {
    const left = this.#left;
    const ingress = this.accelerators + destination;
    left[source] = (left[source] as number) + change;
    left[ingress] = (left[ingress] as number) + change;
    const count = this.portCount(source, destination);
    for (let at = 2; at < count; at++) {
      const link = this.portAt(source, destination, at);
      left[link] = (left[link] as number) + change;
    }
  }

  /** How many ports the way takes: 2 + links. */
  portCount(source: number, destination: number): number {
    if (!this.#hasLinks) return 2;
    const pair = source * this.accelerators + destination;
    return 2 + (this.#routes.offsets[pair + 1] as number) - (this.#routes.offsets[pair] as number);
  }

  /** The ports of the way in order: egress, ingress, links. */
  portAt(source: number, destination: number, at: number): number {
    if (at === 0) return source;
    if (at === 1) return this.accelerators + destination;
    const pair = source * this.accelerators + destination;
    return this.#routes.links[(this.#routes.offsets[pair] as number) + at - 2] as number;
  }

  /** Transfers a port can still admit. */
  left(port: number): number {
    return this.#left[port] as number;
  }

  /** Transfers a port can carry at once. */
  capacity(port: number): number {
    return this.#routes.capacity[port] as number;
  }

  /** A port's number in words. */
  name(port: number): PortName {
    return portName(this.accelerators, port);
  }

  /** Everything is free again. */
  reset(): void {
    this.#left.set(this.#routes.capacity);
  }

  /** Takes over what is claimed in another table of the same topology. */
  copyFrom(other: PortTable): void {
    if (other.#routes !== this.#routes) {
      throw new ArbitrationError("INVALID_TOPOLOGY", "copyFrom needs a table that shares this table's routes.");
    }
    this.#left.set(other.#left);
  }
}

function inWords(table: PortTable, port: number): string {
  const { kind, index } = table.name(port);
  return kind === "link" ? `link ${index}` : `the ${kind} port of accelerator ${index}`;
}

function failExhausted(table: PortTable, port: number, source: number, destination: number): never {
  throw new ArbitrationError(
    "PORT_EXHAUSTED",
    `A transfer ${source} → ${destination} does not fit: ${inWords(table, port)} carries all of its ${table.capacity(port)}. Ask fits() first.`,
    { source, destination, port: table.name(port) },
  );
}

function failNotClaimed(table: PortTable, port: number, source: number, destination: number): never {
  throw new ArbitrationError(
    "PORT_NOT_CLAIMED",
    `A transfer ${source} → ${destination} gives back ${inWords(table, port)}, of which nothing is claimed. Free each claim once.`,
    { source, destination, port: table.name(port) },
  );
}

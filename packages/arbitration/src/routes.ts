import { ArbitrationError } from "./errors.ts";
import type { Topology } from "./types.ts";

/**
 * Everything a transfer can occupy, as one numbering of ports:
 *
 *     0 … n−1      egress of accelerator i
 *     n … 2n−1     ingress of accelerator i − n
 *     2n …         link i − 2n
 */
export interface CompiledRoutes {
  readonly accelerators: number;
  readonly ports: number;
  /** Ports of the longest way: both accelerators' and its links. */
  readonly portCountMax: number;
  /** Per port: transfers on it at once, at least 1. */
  readonly capacity: Int32Array;
  /** Per pair `source × accelerators + destination`: 1 when there is a way. */
  readonly reachable: Uint8Array;
  /** Per pair, and one sentinel: where its links begin in `links`. */
  readonly offsets: Int32Array;
  /** Links of all pairs, as port numbers. */
  readonly links: Int32Array;
}

export type PortKind = "egress" | "ingress" | "link";

/** A port in words a person can look up: the kind, and the accelerator's or link's index. */
export interface PortName {
  readonly kind: PortKind;
  readonly index: number;
}

export function portName(accelerators: number, port: number): PortName {
  if (port < accelerators) return { kind: "egress", index: port };
  if (port < 2 * accelerators) return { kind: "ingress", index: port - accelerators };
  return { kind: "link", index: port - 2 * accelerators };
}

const FAULTS_SHOWN = 8;

/** Reads every route once, O(accelerators²); throws INVALID_TOPOLOGY naming the faults. */
export function compileRoutes(topology: Topology): CompiledRoutes {
  const n = topology.accelerators;
  if (!Number.isInteger(n) || n < 1 || n > 8192) {
    throw new ArbitrationError("INVALID_TOPOLOGY", `A topology has 1 to 8192 accelerators, this one has ${n}.`);
  }
  const faults = capacityFaults(topology);
  const ports = 2 * n + topology.linkCapacity.length;
  const reachable = new Uint8Array(n * n);
  const offsets = new Int32Array(n * n + 1);
  const links: number[] = [];
  let portCountMax = 2;
  for (let source = 0; source < n; source++) {
    for (let destination = 0; destination < n; destination++) {
      const pair = source * n + destination;
      offsets[pair] = links.length;
      if (source === destination) continue;
      const route = topology.route(source, destination);
      if (route === undefined) continue;
      reachable[pair] = 1;
      const fault = routeFault(route, topology.linkCapacity.length);
      if (fault !== undefined) faults.push(`route ${source} → ${destination} ${fault}`);
      else for (const link of route) links.push(2 * n + link);
      portCountMax = Math.max(portCountMax, 2 + route.length);
    }
  }
  offsets[n * n] = links.length;
  if (faults.length > 0) {
    const more = faults.length > FAULTS_SHOWN ? ` … and ${faults.length - FAULTS_SHOWN} more` : "";
    throw new ArbitrationError(
      "INVALID_TOPOLOGY",
      `The topology cannot be used: ${faults.slice(0, FAULTS_SHOWN).join("; ")}${more}.`,
      { faults },
    );
  }
  const capacity = Int32Array.from([...topology.portCapacity, ...topology.portCapacity, ...topology.linkCapacity]);
  return { accelerators: n, ports, portCountMax, capacity, reachable, offsets, links: Int32Array.from(links) };
}

function capacityFaults(topology: Topology): string[] {
  const faults: string[] = [];
  if (topology.portCapacity.length !== topology.accelerators) {
    faults.push(`${topology.portCapacity.length} port capacities for ${topology.accelerators} accelerators`);
  }
  topology.portCapacity.forEach((capacity, accelerator) => {
    if (!isCapacity(capacity))
      faults.push(`port capacity of accelerator ${accelerator} is ${capacity}, not 1 … 2^31 − 1`);
  });
  topology.linkCapacity.forEach((capacity, link) => {
    if (!isCapacity(capacity)) faults.push(`capacity of link ${link} is ${capacity}, not 1 … 2^31 − 1`);
  });
  return faults;
}

function isCapacity(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value < 2 ** 31;
}

function routeFault(route: readonly number[], links: number): string | undefined {
  for (let at = 0; at < route.length; at++) {
    const link = route[at] as number;
    if (!Number.isInteger(link) || link < 0 || link >= links) return `names link ${link} of ${links}`;
    if (route.indexOf(link) !== at) return `uses link ${link} twice`;
  }
  return undefined;
}

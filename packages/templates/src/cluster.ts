import { readCluster } from "./cluster-read.ts";
import { BytesOverflowError, NoRouteError, UnknownAcceleratorError } from "./errors.ts";
import type { AcceleratorIndex, ClusterSpec } from "./types.ts";
import { nearNames } from "./validation.ts";

/** An accelerator with every default filled in. */
export interface CompiledAccelerator {
  readonly index: AcceleratorIndex;
  readonly name: string;
  readonly kind: string;
  readonly hbmBytes: number;
  /** HBM − margin: what may be in use at most. */
  readonly capacityBytes: number;
  /** Bytes others use, rounded up to the granularity. */
  readonly baselineBytes: number;
  readonly granularityBytes: number;
  readonly flopsPerSecond?: number;
  readonly hbmBytesPerSecond?: number;
  readonly copyEngines: number;
  /** It is not there at first. */
  readonly absent: boolean;
}

/** A checked cluster. Immutable, and rebuilt from its `spec` alone, so a snapshot stores the spec. */
export interface Cluster {
  /** A copy of what was declared. */
  readonly spec: ClusterSpec;
  readonly accelerators: readonly CompiledAccelerator[];
  /** Throws UNKNOWN_ACCELERATOR, which lists similar names. */
  indexOf(name: string): AcceleratorIndex;
  /** Transfers at the same time per link: the declared links in their order, then dedicated default links. */
  readonly linkCapacity: readonly number[];
  /**
   * Indices of the links on the way; undefined when there is no way. A pair on the default link has an entry of its own
   * only where it could limit more than the ports do, so its route may be empty. So is that of an accelerator to itself.
   */
  route(source: AcceleratorIndex, destination: AcceleratorIndex): readonly number[] | undefined;
  /**
   * Declared nanoseconds of a transfer: the latencies of its links added up, plus the bytes at the slowest link's rate,
   * rounded up exactly; from 1 to 2^53 − 1. Throws NO_ROUTE.
   */
  transferNs(source: AcceleratorIndex, destination: AcceleratorIndex, bytes: number): number;
  /** Bytes rounded up to the accelerator's granularity. Throws BYTES_OVERFLOW. */
  roundBytes(accelerator: AcceleratorIndex, bytes: number): number;
}

/**
 * Checks a cluster and fills in its defaults.
 * Throws CLUSTER_INVALID, whose `faults` name everything wrong at once.
 */
export function compileCluster(spec: ClusterSpec): Cluster {
  const read = readCluster(spec);
  return new CompiledCluster(read.spec, read.accelerators);
}

/** Rounds up to a multiple of the granularity; both whole. Throws BYTES_OVERFLOW. */
export function roundUpBytes(bytes: number, granularityBytes: number): number {
  const over = bytes % granularityBytes;
  if (over === 0) return bytes;
  const rounded = bytes - over + granularityBytes;
  if (rounded > Number.MAX_SAFE_INTEGER) {
    throw new BytesOverflowError(`${bytes} bytes rounded up to a multiple of ${granularityBytes}`);
  }
  return rounded;
}

/** A way from one accelerator to another. The rate is kept as the reduced fraction nanoseconds / bytes. */
interface Way {
  readonly links: readonly number[];
  readonly latencyNs: number;
  readonly bytesPerSecond: number;
  readonly rateNs: number;
  readonly rateBytes: number;
}

class CompiledCluster implements Cluster {
  readonly spec: ClusterSpec;
  readonly accelerators: readonly CompiledAccelerator[];
  readonly linkCapacity: readonly number[];
  readonly #indexOfName = new Map<string, AcceleratorIndex>();
  /** By source · accelerators + destination; pairs absent here use the default way. */
  readonly #ways = new Map<number, Way>();
  readonly #defaultWay: Way | undefined;

  constructor(spec: ClusterSpec, accelerators: readonly CompiledAccelerator[]) {
    this.spec = spec;
    this.accelerators = accelerators;
    for (const { name, index } of accelerators) this.#indexOfName.set(name, index);
    const linkCapacity: number[] = [];
    for (const link of spec.links ?? []) {
      for (const [source, destination] of link.connects) {
        const key = this.indexOf(source) * accelerators.length + this.indexOf(destination);
        this.#ways.set(key, addLink(this.#ways.get(key), linkCapacity.length, link));
      }
      linkCapacity.push(link.capacity ?? 1);
    }
    if (spec.defaultLink !== undefined) {
      this.#defaultWay = way([], spec.defaultLink.latencyNs, spec.defaultLink.bytesPerSecond);
      this.#addDedicatedLinks(this.#defaultWay, linkCapacity);
    }
    this.linkCapacity = linkCapacity;
  }

  /** With one copy engine at either end the ports admit one transfer at a time already; no link entry is needed. */
  #addDedicatedLinks(defaultWay: Way, linkCapacity: number[]): void {
    const several = this.accelerators.filter((accelerator) => accelerator.copyEngines > 1);
    for (const source of several) {
      for (const destination of several) {
        const key = source.index * this.accelerators.length + destination.index;
        if (source === destination || this.#ways.has(key)) continue;
        this.#ways.set(key, { ...defaultWay, links: [linkCapacity.length] });
        linkCapacity.push(1);
      }
    }
  }

  indexOf(name: string): AcceleratorIndex {
    const index = this.#indexOfName.get(name);
    if (index === undefined) {
      throw new UnknownAcceleratorError(name, this.accelerators.length, nearNames(name, this.#indexOfName.keys()));
    }
    return index;
  }

  route(source: AcceleratorIndex, destination: AcceleratorIndex): readonly number[] | undefined {
    return this.#way(source, destination)?.links;
  }

  transferNs(source: AcceleratorIndex, destination: AcceleratorIndex, bytes: number): number {
    const found = this.#way(source, destination);
    if (found === undefined) throw new NoRouteError(this.#at(source).name, this.#at(destination).name);
    const scaled = bytes * found.rateNs;
    const moving =
      scaled <= Number.MAX_SAFE_INTEGER ? ceilDivide(scaled, found.rateBytes) : ceilDivideLong(bytes, found);
    return Math.min(Math.max(found.latencyNs + moving, 1), Number.MAX_SAFE_INTEGER);
  }

  roundBytes(accelerator: AcceleratorIndex, bytes: number): number {
    return roundUpBytes(bytes, this.#at(accelerator).granularityBytes);
  }

  #way(source: AcceleratorIndex, destination: AcceleratorIndex): Way | undefined {
    const declared = this.#ways.get(source * this.accelerators.length + destination);
    if (declared !== undefined) return declared;
    this.#at(source);
    this.#at(destination);
    return source === destination ? AT_HOME : this.#defaultWay;
  }

  #at(index: AcceleratorIndex): CompiledAccelerator {
    const accelerator = this.accelerators[index];
    if (accelerator === undefined) throw new UnknownAcceleratorError(index, this.accelerators.length);
    return accelerator;
  }
}

const AT_HOME: Way = { links: [], latencyNs: 0, bytesPerSecond: Number.MAX_SAFE_INTEGER, rateNs: 0, rateBytes: 1 };

function addLink(
  before: Way | undefined,
  index: number,
  link: { readonly latencyNs: number; readonly bytesPerSecond: number },
): Way {
  if (before === undefined) return way([index], link.latencyNs, link.bytesPerSecond);
  return way(
    [...before.links, index],
    before.latencyNs + link.latencyNs,
    Math.min(before.bytesPerSecond, link.bytesPerSecond),
  );
}

function way(links: readonly number[], latencyNs: number, bytesPerSecond: number): Way {
  const common = greatestCommonDivisor(bytesPerSecond, NS_PER_SECOND);
  return { links, latencyNs, bytesPerSecond, rateNs: NS_PER_SECOND / common, rateBytes: bytesPerSecond / common };
}

const NS_PER_SECOND = 1_000_000_000;

function greatestCommonDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

/** Exact, where a plain division could round across a whole number. */
function ceilDivide(dividend: number, divisor: number): number {
  const over = dividend % divisor;
  return (dividend - over) / divisor + (over > 0 ? 1 : 0);
}

function ceilDivideLong(bytes: number, { rateNs, rateBytes }: Way): number {
  const divisor = BigInt(rateBytes);
  return Number((BigInt(bytes) * BigInt(rateNs) + divisor - 1n) / divisor);
}

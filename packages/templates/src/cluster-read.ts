import type { CompiledAccelerator } from "./cluster.ts";
import { ClusterInvalidError } from "./errors.ts";
import type { AcceleratorSpec, ClusterSpec, LinkSpec } from "./types.ts";
import { at, describe, Faults } from "./validation.ts";

/** Accelerators of one master; DESIGN.md names several thousand as the point from which several masters are needed. */
const ACCELERATORS_MAX = 4096;
const COPY_ENGINES_MAX = 64;

/** A checked copy of a cluster specification and the accelerators in it. */
export interface ReadCluster {
  readonly spec: ClusterSpec;
  readonly accelerators: readonly CompiledAccelerator[];
}

/** Reads a specification that may come from anywhere. Throws CLUSTER_INVALID with every fault. */
export function readCluster(value: unknown): ReadCluster {
  const faults = new Faults();
  const root = faults.record(value, "cluster", ["accelerators", "defaultLink", "links"]);
  const declared = faults.array(root["accelerators"], "accelerators");
  if (Array.isArray(root["accelerators"]) && declared.length === 0) faults.add("accelerators", "must not be empty");
  if (declared.length > ACCELERATORS_MAX) {
    faults.add("accelerators", `has ${declared.length} accelerators, at most ${ACCELERATORS_MAX}`);
    throw new ClusterInvalidError(faults.list);
  }
  const specs = declared.map((entry, i) => readAccelerator(faults, entry, `accelerators[${i}]`));
  const names = distinctNames(faults, specs, "accelerators");
  const spec: ClusterSpec = {
    accelerators: specs,
    ...(root["defaultLink"] === undefined ? {} : { defaultLink: readDefaultLink(faults, root["defaultLink"]) }),
    ...(root["links"] === undefined ? {} : { links: readLinks(faults, root["links"], names) }),
  };
  const accelerators = specs.map((entry, i) => compileAccelerator(faults, entry, i));
  if (!faults.none) throw new ClusterInvalidError(faults.list);
  return { spec, accelerators };
}

const ACCELERATOR_FIELDS: readonly (keyof AcceleratorSpec)[] = [
  "name",
  "kind",
  "hbmBytes",
  "externalBaselineBytes",
  "marginBytes",
  "granularityBytes",
  "flopsPerSecond",
  "hbmBytesPerSecond",
  "copyEngines",
  "absent",
];

function readAccelerator(faults: Faults, value: unknown, path: string): AcceleratorSpec {
  const entry = faults.record(value, path, ACCELERATOR_FIELDS);
  const whole = (field: keyof AcceleratorSpec, min: number, unit: string) =>
    entry[field] === undefined ? {} : { [field]: faults.whole(entry[field], at(path, field), min, unit) };
  const rate = (field: keyof AcceleratorSpec, unit: string) => {
    const read = faults.optionalRate(entry[field], at(path, field), unit);
    return read === undefined ? {} : { [field]: read };
  };
  const spec: AcceleratorSpec = {
    name: faults.name(entry["name"], at(path, "name")),
    kind: faults.name(entry["kind"], at(path, "kind")),
    hbmBytes: faults.whole(entry["hbmBytes"], at(path, "hbmBytes"), 1, "bytes"),
    ...whole("externalBaselineBytes", 0, "bytes"),
    ...whole("marginBytes", 0, "bytes"),
    ...whole("granularityBytes", 1, "bytes"),
    ...rate("flopsPerSecond", "floating-point operations per second"),
    ...rate("hbmBytesPerSecond", "bytes per second"),
    ...(entry["copyEngines"] === 0 ? {} : whole("copyEngines", 1, "transfers")),
    ...(entry["absent"] === undefined ? {} : { absent: entry["absent"] === true }),
  };
  if (entry["absent"] !== undefined && typeof entry["absent"] !== "boolean") {
    faults.add(at(path, "absent"), `is ${describe(entry["absent"])}, not true or false`);
  }
  if (entry["copyEngines"] === 0) {
    faults.add(
      at(path, "copyEngines"),
      "is 0: transfers that occupy the operator queue are not supported; give 1 or more",
    );
  }
  if ((spec.copyEngines ?? 1) > COPY_ENGINES_MAX) {
    faults.add(at(path, "copyEngines"), `is ${spec.copyEngines}, at most ${COPY_ENGINES_MAX}`);
  }
  return spec;
}

/** A baseline is rounded up like every other allocation, here in doubles: a sum past 2^53 is over any capacity anyway. */
function compileAccelerator(faults: Faults, spec: AcceleratorSpec, index: number): CompiledAccelerator {
  const granularityBytes = spec.granularityBytes ?? 1;
  const baselineBytes = Math.ceil((spec.externalBaselineBytes ?? 0) / granularityBytes) * granularityBytes;
  const marginBytes = spec.marginBytes ?? 0;
  if (baselineBytes + marginBytes >= spec.hbmBytes) {
    faults.add(
      `accelerators[${index}]`,
      `baseline of ${baselineBytes} bytes (rounded up to the granularity) and margin of ${marginBytes} bytes leave nothing of its ${spec.hbmBytes} bytes of HBM`,
    );
  }
  return {
    index,
    name: spec.name,
    kind: spec.kind,
    hbmBytes: spec.hbmBytes,
    capacityBytes: spec.hbmBytes - marginBytes,
    baselineBytes,
    granularityBytes,
    ...(spec.flopsPerSecond === undefined ? {} : { flopsPerSecond: spec.flopsPerSecond }),
    ...(spec.hbmBytesPerSecond === undefined ? {} : { hbmBytesPerSecond: spec.hbmBytesPerSecond }),
    copyEngines: spec.copyEngines ?? 1,
    absent: spec.absent ?? false,
  };
}

function readDefaultLink(faults: Faults, value: unknown): { latencyNs: number; bytesPerSecond: number } {
  const entry = faults.record(value, "defaultLink", ["latencyNs", "bytesPerSecond"]);
  return {
    latencyNs: faults.whole(entry["latencyNs"], "defaultLink.latencyNs", 0, "nanoseconds"),
    bytesPerSecond: faults.whole(entry["bytesPerSecond"], "defaultLink.bytesPerSecond", 1, "bytes per second"),
  };
}

function readLinks(faults: Faults, value: unknown, accelerators: ReadonlySet<string>): readonly LinkSpec[] {
  const links = faults.array(value, "links").map((entry, i) => readLink(faults, entry, `links[${i}]`, accelerators));
  distinctNames(faults, links, "links");
  return links;
}

function readLink(faults: Faults, value: unknown, path: string, accelerators: ReadonlySet<string>): LinkSpec {
  const entry = faults.record(value, path, ["name", "latencyNs", "bytesPerSecond", "capacity", "connects"]);
  const seen = new Set<string>();
  const connects = faults.array(entry["connects"], at(path, "connects")).map((pair, i) => {
    const pairPath = `${path}.connects[${i}]`;
    const read = readPair(faults, pair, pairPath, accelerators);
    const key = JSON.stringify(read);
    if (seen.has(key)) faults.add(pairPath, `${read[0]} → ${read[1]} stands in this link twice`);
    seen.add(key);
    return read;
  });
  if (Array.isArray(entry["connects"]) && connects.length === 0) faults.add(at(path, "connects"), "must not be empty");
  return {
    name: faults.name(entry["name"], at(path, "name")),
    latencyNs: faults.whole(entry["latencyNs"], at(path, "latencyNs"), 0, "nanoseconds"),
    bytesPerSecond: faults.whole(entry["bytesPerSecond"], at(path, "bytesPerSecond"), 1, "bytes per second"),
    ...(entry["capacity"] === undefined
      ? {}
      : { capacity: faults.whole(entry["capacity"], at(path, "capacity"), 1, "transfers") }),
    connects,
  };
}

function readPair(
  faults: Faults,
  value: unknown,
  path: string,
  accelerators: ReadonlySet<string>,
): readonly [string, string] {
  const pair = faults.array(value, path);
  if (Array.isArray(value) && pair.length !== 2) {
    faults.add(path, `must be [source, destination], has ${pair.length} entries`);
    return ["", ""];
  }
  const ends = [0, 1].map((i) => {
    const name = faults.name(pair[i], `${path}[${i}]`);
    if (name !== "" && !accelerators.has(name)) {
      faults.add(`${path}[${i}]`, `no accelerator ${JSON.stringify(name)}${faults.suggest(name, accelerators)}`);
    }
    return name;
  });
  const [source = "", destination = ""] = ends;
  if (source !== "" && source === destination) faults.add(path, `connects ${JSON.stringify(source)} to itself`);
  return [source, destination];
}

function distinctNames(faults: Faults, entries: readonly { readonly name: string }[], path: string): Set<string> {
  const first = new Map<string, number>();
  entries.forEach(({ name }, i) => {
    const before = first.get(name);
    if (before === undefined) first.set(name, i);
    else if (name !== "") faults.add(`${path}[${i}].name`, `${JSON.stringify(name)} is taken by ${path}[${before}]`);
  });
  return new Set(first.keys());
}

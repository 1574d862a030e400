/** Cluster files: accelerators and links as people describe them, to the specification that the packages take. */
import {
  type AcceleratorSpec,
  ClusterInvalidError,
  type ClusterSpec,
  compileCluster,
  type LinkSpec,
} from "@slicescheduler/gmg";
import { type Efficiency, nearest } from "@slicescheduler/workloads";
import { type FileFault, FileInvalidError } from "../errors.ts";
import { LinkReader } from "./cluster-links.ts";
import { type LoadedDocument, parseDocument } from "./document.ts";
import { inOrder } from "./fault-order.ts";
import { faultPath, type PathSegment, pathSegments } from "./path.ts";
import { parseQuantity, type QuantityKind } from "./quantity.ts";
import { overlaps, type SchemaFault, schemaFaults } from "./schema-check.ts";
import { asArray, asRecord, asText } from "./values.ts";

export interface ClusterFile {
  readonly name: string | null;
  readonly description: string | null;
  readonly spec: ClusterSpec;
  /** By kind of accelerator; empty where the file says nothing. */
  readonly efficiency: Readonly<Record<string, Efficiency>>;
}

/** Most accelerators there can be; the library has the same limit. */
const acceleratorsMax = 4096;

/**
 * Reads the text of a cluster file. Every fault is told at once, with its line: those of the schema and, where the fields they
 * need are sound, those of the cluster as a whole. Errors: FILE_INVALID.
 */
export function parseClusterFile(text: string, file: string): ClusterFile {
  const document = parseDocument(text, file);
  const shape = schemaFaults(document, "cluster");
  const draft = draftOf(document);
  const faults = [...shape.map(({ fault }) => fault), ...draft.faults, ...efficiencyFaults(document, draft.spec)];
  if (draft.spec !== null) faults.push(...clusterFaults(document, draft, shape));
  if (faults.length > 0 || draft.spec === null) throw new FileInvalidError(inOrder(faults));
  const root = asRecord(document.value);
  return {
    name: asText(root["name"]),
    description: asText(root["description"]),
    spec: draft.spec,
    efficiency: Object.fromEntries(
      Object.entries(asRecord(root["efficiency"])).map(([kind, share]) => [kind, { ...(share as Efficiency) }]),
    ),
  };
}

interface Draft {
  /** Null when the file is too far from a cluster to be looked at as one. */
  readonly spec: ClusterSpec | null;
  readonly faults: readonly FileFault[];
  /** For each accelerator and each link, where it stands in the file. */
  readonly acceleratorPaths: readonly (readonly PathSegment[])[];
  readonly linkPaths: readonly (readonly PathSegment[])[];
}

/** The specification as far as the document has one; what is not understood is left as it is, for the checks to find. */
function draftOf(document: LoadedDocument): Draft {
  const root = asRecord(document.value);
  const faults: FileFault[] = [];
  const accelerators: AcceleratorSpec[] = [];
  const acceleratorPaths: PathSegment[][] = [];
  for (const [index, item] of asArray(root["accelerators"]).entries()) {
    const entry = asRecord(item);
    const path = ["accelerators", index];
    const count = entry["count"];
    const copies = typeof count === "number" && Number.isInteger(count) && count > 0 ? count : 1;
    if (accelerators.length + copies > acceleratorsMax) {
      faults.push(document.fault(path, `makes more than ${acceleratorsMax} accelerators`));
      return { spec: null, faults, acceleratorPaths, linkPaths: [] };
    }
    for (let copy = 0; copy < copies; copy++) {
      const given = entry["name"];
      const name = count === undefined || typeof given !== "string" ? given : `${given}${copy}`;
      accelerators.push(acceleratorOf(entry, name));
      acceleratorPaths.push(path);
    }
  }
  const reader = new LinkReader(
    document,
    accelerators.map(({ name }) => name),
  );
  const links = asArray(root["links"]).flatMap((item, index) => reader.read(asRecord(item), ["links", index]));
  const isCluster = accelerators.length > 0;
  return {
    spec: isCluster
      ? {
          accelerators,
          ...(root["defaultLink"] === undefined ? {} : { defaultLink: rateOf(asRecord(root["defaultLink"])) }),
          ...(links.length === 0 ? {} : { links: links.map(({ link }) => link) }),
        }
      : null,
    faults: [...faults, ...reader.faults],
    acceleratorPaths,
    linkPaths: links.map(({ path }) => path),
  };
}

/** Shares for a kind that no accelerator has would be without effect. */
function efficiencyFaults(document: LoadedDocument, spec: ClusterSpec | null): FileFault[] {
  const kinds = [...new Set((spec?.accelerators ?? []).map(({ kind }) => kind))].filter(
    (kind) => typeof kind === "string",
  );
  if (kinds.length === 0) return [];
  return Object.keys(asRecord(asRecord(document.value)["efficiency"])).flatMap((kind) => {
    if (kinds.includes(kind)) return [];
    const near = nearest(kind, kinds);
    const hint = near === undefined ? "" : `; did you mean "${near}"?`;
    const some = kinds.slice(0, 5).join(", ");
    return [document.fault(["efficiency", kind], `is the kind of no accelerator${hint} (kinds: ${some})`, "key")];
  });
}

/** Faults of the cluster as a whole, at their place in the file; those that follow from a fault of the schema are left out. */
function clusterFaults(document: LoadedDocument, draft: Draft, shape: readonly SchemaFault[]): FileFault[] {
  if (draft.spec === null) return [];
  try {
    compileCluster(draft.spec);
    return [];
  } catch (error) {
    if (!(error instanceof ClusterInvalidError)) throw error;
    const seen = new Set<string>();
    return error.faults.flatMap(({ path, message }) => {
      const at = placeInFile(pathSegments(path), draft, document);
      if (shape.some((fault) => overlaps(fault.path, at))) return [];
      const fault = document.fault(at, inWordsOfFile(message, draft));
      const key = `${fault.line}:${fault.column}:${message}`;
      if (seen.has(key)) return [];
      seen.add(key);
      return [fault];
    });
  }
}

function placeInFile(
  [list, index, field, ...rest]: readonly PathSegment[],
  draft: Draft,
  document: LoadedDocument,
): PathSegment[] {
  const paths = list === "links" ? draft.linkPaths : draft.acceleratorPaths;
  const path = typeof index === "number" ? paths[index] : undefined;
  if (path === undefined) return [...(list === undefined ? [] : [list]), ...(index === undefined ? [] : [index])];
  if (field === undefined) return [...path];
  const [where = "", number = 0] = path;
  const entry = asRecord(asArray(asRecord(document.value)[where])[Number(number)]);
  const short = shortNames.get(String(field));
  return [...path, short !== undefined && entry[short] !== undefined ? short : field, ...rest];
}

/** Accelerators that a message names by their number in the cluster, by their number in the file. */
function inWordsOfFile(message: string, { acceleratorPaths }: Draft): string {
  return message.replace(/accelerators\[(\d{1,6})\]/g, (whole, number: string) => {
    const path = acceleratorPaths[Number(number)];
    return path === undefined ? whole : faultPath(path);
  });
}

/** Fields that have a shorter name for amounts with units. */
const shortNames: ReadonlyMap<string, string> = new Map([
  ["hbmBytes", "hbm"],
  ["externalBaselineBytes", "baseline"],
  ["marginBytes", "margin"],
  ["granularityBytes", "granularity"],
  ["flopsPerSecond", "flops"],
  ["hbmBytesPerSecond", "hbmBandwidth"],
  ["latencyNs", "latency"],
  ["bytesPerSecond", "bandwidth"],
]);

function acceleratorOf(entry: Readonly<Record<string, unknown>>, name: unknown): AcceleratorSpec {
  const found: Record<string, unknown> = { name, kind: entry["kind"] };
  const take = (field: keyof AcceleratorSpec, kind: QuantityKind): void => {
    const value = entry[field] ?? entry[shortNames.get(field) ?? field];
    if (value !== undefined) found[field] = parseQuantity(value, kind) ?? value;
  };
  take("hbmBytes", "bytes");
  take("externalBaselineBytes", "bytes");
  take("marginBytes", "bytes");
  take("granularityBytes", "bytes");
  take("flopsPerSecond", "flopsPerSecond");
  take("hbmBytesPerSecond", "bytesPerSecond");
  for (const field of ["copyEngines", "absent"]) if (entry[field] !== undefined) found[field] = entry[field];
  // Whatever it holds, `compileCluster` checks it.
  return found as unknown as AcceleratorSpec;
}

/** Latency and rate of a link, as far as they are understood; a whole number of bytes per second, as the library wants it. */
function rateOf(entry: Readonly<Record<string, unknown>>): Pick<LinkSpec, "latencyNs" | "bytesPerSecond"> {
  const latencyNs = parseQuantity(entry["latencyNs"] ?? entry["latency"], "nanoseconds");
  const bytesPerSecond = parseQuantity(entry["bytesPerSecond"] ?? entry["bandwidth"], "bytesPerSecond");
  return { latencyNs: latencyNs ?? Number.NaN, bytesPerSecond: Math.round(bytesPerSecond ?? Number.NaN) };
}

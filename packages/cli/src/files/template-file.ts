/** Template files: a graph template as plain data, checked against the cluster whose accelerators its partitions name. */
import {
  type ClusterSpec,
  compileCluster,
  compileTemplate,
  TemplateInvalidError,
  type TemplateSpec,
} from "@slicescheduler/gmg";
import { FileInvalidError } from "../errors.ts";
import { type LoadedDocument, parseDocument } from "./document.ts";
import { pathSegments } from "./path.ts";
import { schemaFaults } from "./schema-check.ts";
import { asArray, asRecord } from "./values.ts";

/** Memory of a stand-in accelerator: more than any template needs, so that only its own faults are told. */
const standInBytes = 2 ** 50;

/**
 * Reads the text of a template file.
 * @param cluster whose accelerators it is laid on. Default null: accelerators with the names its partitions use, of ample memory.
 * Errors: FILE_INVALID, with every fault of the schema or, where there is none, every fault of the template.
 */
export function parseTemplateFile(text: string, file: string, cluster: ClusterSpec | null = null): TemplateSpec {
  const document = parseDocument(text, file);
  const shape = schemaFaults(document, "template");
  if (shape.length > 0) throw new FileInvalidError(shape.map(({ fault }) => fault));
  const spec = document.value as TemplateSpec;
  try {
    compileTemplate(spec, compileCluster(cluster === null ? standIn(document) : cluster));
  } catch (error) {
    if (!(error instanceof TemplateInvalidError)) throw error;
    const faults = error.faults.map(({ path, message }) => document.fault(pathSegments(path), message));
    throw new FileInvalidError(faults, { cause: error });
  }
  return spec;
}

function standIn(document: LoadedDocument): ClusterSpec {
  const partitions = asArray(asRecord(document.value)["partitions"]);
  const names = new Set(partitions.flatMap((partition) => asArray(asRecord(partition)["accelerators"]).map(String)));
  return {
    accelerators: [...names].map((name) => ({ name, kind: "any", hbmBytes: standInBytes })),
    defaultLink: { latencyNs: 0, bytesPerSecond: 1e9 },
  };
}

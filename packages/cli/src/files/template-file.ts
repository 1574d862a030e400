/** Template files: a graph template as plain data, checked against the cluster whose accelerators its partitions name. */
import {
  ClusterInvalidError,
  type ClusterSpec,
  compileCluster,
  compileTemplate,
  TemplateInvalidError,
  type TemplateSpec,
} from "@slicescheduler/gmg";
import { type FileFault, FileInvalidError } from "../errors.ts";
import { type LoadedDocument, parseDocument } from "./document.ts";
import { inOrder } from "./fault-order.ts";
import { pathSegments } from "./path.ts";
import { overlaps, type SchemaFault, schemaFaults } from "./schema-check.ts";
import { asArray, asRecord } from "./values.ts";

/** Memory of a stand-in accelerator: more than any template needs, so that only its own faults are told. */
const standInBytes = 2 ** 50;

/**
 * Reads the text of a template file.
 * @param cluster whose accelerators it is laid on. Default null: accelerators with the names its partitions use, of ample memory.
 * Errors: FILE_INVALID, with every fault of the schema and every fault of the template that does not follow from one.
 */
export function parseTemplateFile(text: string, file: string, cluster: ClusterSpec | null = null): TemplateSpec {
  const document = parseDocument(text, file);
  const shape = schemaFaults(document, "template");
  const spec = document.value as TemplateSpec;
  const faults = shape.map(({ fault }) => fault);
  try {
    compileTemplate(spec, compileCluster(cluster === null ? standIn(document) : cluster));
  } catch (error) {
    if (error instanceof TemplateInvalidError) faults.push(...templateFaults(error, document, shape));
    // Without sound partitions there is nothing to lay it on.
    else if (!(error instanceof ClusterInvalidError && shape.length > 0)) throw error;
  }
  if (faults.length > 0) throw new FileInvalidError(inOrder(faults));
  return spec;
}

function templateFaults(
  { faults }: TemplateInvalidError,
  document: LoadedDocument,
  shape: readonly SchemaFault[],
): FileFault[] {
  return faults.flatMap(({ path, message }) => {
    const at = pathSegments(path);
    return shape.some((fault) => overlaps(fault.path, at)) ? [] : [document.fault(at, message)];
  });
}

function standIn(document: LoadedDocument): ClusterSpec {
  const partitions = asArray(asRecord(document.value)["partitions"]);
  const names = new Set(partitions.flatMap((partition) => asArray(asRecord(partition)["accelerators"]).map(String)));
  return {
    accelerators: [...names].map((name) => ({ name, kind: "any", hbmBytes: standInBytes })),
    defaultLink: { latencyNs: 0, bytesPerSecond: 1e9 },
  };
}

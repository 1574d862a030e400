/** `validate`: every fault of every file, each with its place. */
import { existsSync } from "node:fs";
import type { ClusterSpec } from "@slicescheduler/gmg";
import picocolors from "picocolors";
import { readyClusterFile, readyClusters, type SchemaName } from "../assets.ts";
import { CliError, type FileFault, FileInvalidError, FilesInvalidError, faultLine } from "../errors.ts";
import { parseClusterFile } from "../files/cluster-file.ts";
import { documentBytesMax, parseDocument } from "../files/document.ts";
import { loadCluster, resolved } from "../files/load.ts";
import { readText } from "../files/read-file.ts";
import { parseTemplateFile } from "../files/template-file.ts";
import { asRecord } from "../files/values.ts";
import { parseWorkloadFile } from "../files/workload-file.ts";
import type { Io } from "../io.ts";
import { OptionFaults } from "../option-faults.ts";
import { isBuiltInProfile } from "../replay/settings.ts";

export interface ValidateOptions {
  readonly kind?: string;
  readonly cluster?: string;
  readonly json?: boolean;
}

/** The object of `--json`. */
export interface ValidateReport {
  readonly valid: boolean;
  readonly files: readonly CheckedFile[];
}

export interface CheckedFile {
  readonly file: string;
  /** Null when it could not be found out. */
  readonly kind: SchemaName | null;
  readonly faults: readonly FileFault[];
}

/** The checks of a file stop at so many faults. */
const faultsToldMax = 100;
const kinds: readonly SchemaName[] = ["cluster", "workload", "template"];

/** Errors: USAGE, those of `loadCluster`; FILES_INVALID at the end, when a file has faults. */
export function runValidate(files: readonly string[], options: ValidateOptions, io: Io): void {
  const faults = new OptionFaults();
  const kind = kinds.find((known) => known === options.kind);
  if (options.kind !== undefined && kind === undefined) faults.wanted("--kind", kinds.join(" or "), options.kind);
  faults.throwIfAny();
  const cluster = options.cluster === undefined ? null : loadCluster(options.cluster, io.cwd).spec;
  const checked = files.map((file) => check(file, kind ?? null, cluster, io));
  const invalid = checked.filter((one) => one.faults.length > 0);
  if (options.json === true) {
    const report: ValidateReport = { valid: invalid.length === 0, files: checked };
    io.out(`${JSON.stringify(report)}\n`);
  } else {
    const marks = picocolors.createColors(io.useColor);
    for (const one of checked) {
      if (one.faults.length === 0) io.out(`${marks.green("ok")} ${one.file} (${one.kind})\n`);
      for (const fault of one.faults) io.err(`${faultLine(fault)}\n`);
    }
  }
  if (invalid.length > 0) {
    const count = invalid.reduce((sum, one) => sum + one.faults.length, 0);
    const areAll = invalid.every((one) => one.faults.length < faultsToldMax);
    throw new FilesInvalidError(count, areAll, invalid.length, checked.length);
  }
}

function check(file: string, kind: SchemaName | null, cluster: ClusterSpec | null, io: Io): CheckedFile {
  let found = kind;
  try {
    const path = resolved(file, io.cwd);
    const isReady = !existsSync(path) && readyClusters().includes(file);
    const text = readText(isReady ? readyClusterFile(file) : path, documentBytesMax);
    found ??= isReady ? "cluster" : kindOf(text, file);
    if (found === "cluster") parseClusterFile(text, file);
    else if (found === "workload") checkWorkload(text, file, io.cwd);
    else parseTemplateFile(text, file, cluster);
    return { file, kind: found, faults: [] };
  } catch (error) {
    if (error instanceof FileInvalidError) return { file, kind: found, faults: error.faults };
    if (!(error instanceof CliError)) throw error;
    const message = error.message.startsWith(`${file}: `) ? error.message.slice(file.length + 2) : error.message;
    return { file, kind: found, faults: [{ file, line: 1, column: 1, path: "", message }] };
  }
}

/** The file itself, and whether what it names is there. Errors: FILE_INVALID. */
function checkWorkload(text: string, file: string, cwd: string): void {
  const { trace = [], profile } = parseWorkloadFile(text, file, cwd);
  const document = parseDocument(text, file);
  const isList = Array.isArray(asRecord(document.value)["trace"]);
  const faults = trace.flatMap((path, index) =>
    existsSync(path) ? [] : [document.fault(isList ? ["trace", index] : ["trace"], `no such file: ${path}`)],
  );
  if (profile !== undefined && !isBuiltInProfile(profile) && !existsSync(profile))
    faults.push(document.fault(["profile"], `no such file: ${profile}`));
  if (faults.length > 0) throw new FileInvalidError(faults);
}

/** Fields that only one kind of file has. */
const signs: Readonly<Record<SchemaName, readonly string[]>> = {
  template: ["operators", "partitions", "symbols", "outputs", "inputs", "bounds", "external"],
  cluster: ["accelerators", "defaultLink", "links", "efficiency", "sources"],
  workload: [
    ...["trace", "profile", "recipe", "minutes", "share", "seed", "seeds"],
    ...["offline", "policies", "instanceAccelerators"],
  ],
};

/** What most of a file's fields belong to. Errors: FILE_INVALID. */
function kindOf(text: string, file: string): SchemaName {
  const document = parseDocument(text, file);
  const fields = Object.keys(asRecord(document.value));
  const counts = kinds.map((kind) => ({ kind, count: fields.filter((field) => signs[kind].includes(field)).length }));
  const best = counts.sort((a, b) => b.count - a.count)[0];
  if (best === undefined || best.count === 0) {
    const known = kinds.map((kind) => `${kind} (${signs[kind].slice(0, 3).join(", ")}, …)`).join(", ");
    const message = `has no field of any kind of file that is known: ${known}; say which with --kind`;
    throw new FileInvalidError([document.fault([], message)]);
  }
  return best.kind;
}

/** The two traces a recipe needs, found from what a user names: a directory, two files, or one file for both. */
import { existsSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { InvalidOptionError, TraceError } from "../errors.ts";
import { parseAzureTrace } from "./azure.ts";
import { readTraceText } from "./file.ts";
import { detectTraceFormat } from "./formats.ts";
import { parseMooncakeTrace } from "./mooncake.ts";
import { parseTrace } from "./read-trace.ts";
import type { TraceRow } from "./types.ts";

const azureArrivalsFile = "AzureLLMInferenceTrace_conv.csv";
const azureLengthsFile = "AzureLLMInferenceTrace_code.csv";
/** Directory of the Azure traces inside a directory of several sources. */
const azureDirectory = "azure-llm-2023";

/** Of a file, enough for its first line. */
const headLength = 1024 * 1024;

export interface TracePair {
  readonly arrivals: readonly TraceRow[];
  readonly lengths: readonly TraceRow[];
  /** Base names of the files read. */
  readonly files: { readonly arrivals: string; readonly lengths: string };
}

/**
 * Reads the traces named by `paths`: a directory with the two Azure files (or with a folder `azure-llm-2023` of them); or
 * two files, arrivals and lengths (told apart by "conv" and "code" in their names, else in this order); or one file that
 * gives both. Each is of any format that shows itself (`detectTraceFormat`), packed with gzip or not.
 * Errors: INVALID_OPTION and those of the readers.
 */
export function readTracePair(paths: readonly string[]): TracePair {
  const [first, second, ...more] = paths;
  if (first === undefined || more.length > 0) {
    throw new InvalidOptionError("trace", `${paths.length} paths`, "one directory, one file, or two files");
  }
  if (second === undefined) return isDirectory(first) ? readDirectory(first) : readFiles(first, first);
  const swapped = /code/i.test(basename(first)) && /conv/i.test(basename(second));
  return swapped ? readFiles(second, first) : readFiles(first, second);
}

/** Whether a directory holds the two Azure files, itself or in a folder `azure-llm-2023`. */
export function hasAzureTraces(directory: string): boolean {
  return azureFolder(directory) !== undefined;
}

function readDirectory(directory: string): TracePair {
  const folder = azureFolder(directory);
  if (folder === undefined) {
    const reason = `holds no ${azureArrivalsFile} and ${azureLengthsFile}, nor a folder ${azureDirectory} with them`;
    throw new TraceError("TRACE_NOT_FOUND", directory, null, reason);
  }
  return readFiles(join(folder, azureArrivalsFile), join(folder, azureLengthsFile));
}

function readFiles(arrivalsFile: string, lengthsFile: string): TracePair {
  const arrivals = readRows(arrivalsFile);
  const lengths = lengthsFile === arrivalsFile ? arrivals : readRows(lengthsFile);
  return { arrivals, lengths, files: { arrivals: basename(arrivalsFile), lengths: basename(lengthsFile) } };
}

function readRows(file: string): readonly TraceRow[] {
  const text = readTraceText(file);
  const format = detectTraceFormat(text.slice(0, headLength));
  if (format === "azure" || (format === null && !/\.jsonl(\.gz)?$/.test(file))) return parseAzureTrace(text, file);
  if (format === "mooncake" || format === null) return parseMooncakeTrace(text, file);
  return parseTrace(text, file, { format });
}

function azureFolder(directory: string): string | undefined {
  return [directory, join(directory, azureDirectory)].find((folder) =>
    [azureArrivalsFile, azureLengthsFile].every((file) => existsSync(join(folder, file))),
  );
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

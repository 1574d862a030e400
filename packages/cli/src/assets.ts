/** Files that come with this package: schemas and cluster descriptions. This module stands beside `dist`'s, one folder below both. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const schemas = new URL("../schemas/", import.meta.url);
const clusters = new URL("../clusters/", import.meta.url);

export type SchemaName = "cluster" | "template" | "workload";

export function readSchema(name: SchemaName): object {
  return JSON.parse(readFileSync(new URL(`${name}.schema.json`, schemas), "utf8"));
}

/**
 * Path of a schema for a file that lies in `folder`: through the folder's own `node_modules`, or one above it, where this package is
 * installed there, since that path stays when the version changes; else to where this package lies.
 */
export function schemaPathFrom(name: SchemaName, folder: string): string {
  const file = `${name}.schema.json`;
  for (let above = resolve(folder); ; above = dirname(above)) {
    const installed = join(above, "node_modules/@slicescheduler/cli/schemas", file);
    if (existsSync(installed)) return seenFrom(folder, installed);
    if (above === dirname(above)) return seenFrom(folder, fileURLToPath(new URL(file, schemas)));
  }
}

/** With slashes and a first `.`, as editors want it. */
function seenFrom(folder: string, file: string): string {
  const path = relative(resolve(folder), file).split(sep).join("/");
  return path.startsWith(".") ? path : `./${path}`;
}

/** Names of the cluster descriptions, sorted. */
export function readyClusters(): string[] {
  return readdirSync(clusters)
    .flatMap((file) => (file.endsWith(".yaml") ? [file.slice(0, -".yaml".length)] : []))
    .sort();
}

/** Path of a ready description; `name` must be one of `readyClusters()`. */
export function readyClusterFile(name: string): string {
  return fileURLToPath(new URL(`${name}.yaml`, clusters));
}

/** Version of this package. */
export function packageVersion(): string {
  return String(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
}

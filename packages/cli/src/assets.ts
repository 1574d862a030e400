/** Files that come with this package: schemas and cluster descriptions. This module stands beside `dist`'s, one folder below both. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const schemas = new URL("../schemas/", import.meta.url);
const clusters = new URL("../clusters/", import.meta.url);

export type SchemaName = "cluster" | "template" | "workload";

export function readSchema(name: SchemaName): object {
  return JSON.parse(readFileSync(new URL(`${name}.schema.json`, schemas), "utf8"));
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

/** `clusters`: the descriptions that come with the package. */
import { readyClusterFile, readyClusters, schemaPathFrom } from "./assets.ts";
import { documentBytesMax } from "./files/document.ts";
import { loadCluster } from "./files/load.ts";
import { readText } from "./files/read-file.ts";
import type { Io } from "./io.ts";

/** Where an editor finds the schema of a file that is put into this folder. */
function withSchemaSeenFrom(cwd: string, text: string): string {
  return text.replace(/(?<=^# yaml-language-server: \$schema=).*$/m, schemaPathFrom("cluster", cwd));
}

/** One entry of `--json`. */
export interface ReadyCluster {
  readonly name: string;
  readonly description: string | null;
  readonly accelerators: number;
  readonly kinds: readonly string[];
  readonly hbmBytes: number;
}

/** Errors: UNKNOWN_CLUSTER for a name that no description has. */
export function runClusters(name: string | undefined, { json = false }: { readonly json?: boolean }, io: Io): void {
  if (name !== undefined) {
    if (!readyClusters().includes(name)) loadCluster(name, io.cwd);
    const cluster = loadCluster(name, io.cwd);
    if (json) io.out(`${JSON.stringify(cluster)}\n`);
    else io.out(withSchemaSeenFrom(io.cwd, readText(readyClusterFile(name), documentBytesMax)));
    return;
  }
  const clusters = readyClusters().map((ready): ReadyCluster => {
    const { description, spec } = loadCluster(ready, io.cwd);
    return {
      name: ready,
      description,
      accelerators: spec.accelerators.length,
      kinds: [...new Set(spec.accelerators.map(({ kind }) => kind))],
      hbmBytes: spec.accelerators.reduce((sum, { hbmBytes }) => sum + hbmBytes, 0),
    };
  });
  if (json) {
    io.out(`${JSON.stringify({ clusters })}\n`);
    return;
  }
  const width = Math.max(...clusters.map((cluster) => cluster.name.length));
  for (const cluster of clusters) io.out(`${cluster.name.padEnd(width)}  ${cluster.description ?? ""}\n`);
}

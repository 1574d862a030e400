// Measures src/profiles/azure-2023.ts from the two public Azure files; needs the built package (npm run build):
//   node packages/workloads/scripts/measure-profile.mjs [DIR with the two CSV files]
// DIR defaults to $SLICESCHEDULER_TRACES, else to the shared traces beside the repository.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { azureAttribution, measureProfile, readTracePair } from "../dist/index.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const dir = process.argv[2] ?? process.env.SLICESCHEDULER_TRACES ?? join(root, "../shared/data/traces");
const target = join(root, "packages/workloads/src/profiles/azure-2023.ts");

const { arrivals, lengths } = readTracePair([dir]);
const profile = measureProfile("azure-llm-2023", azureAttribution, arrivals, lengths);
writeFileSync(
  target,
  `// Measured by packages/workloads/scripts/measure-profile.mjs; do not edit.
import type { WorkloadProfile } from "./types.ts";

/** Arrivals of the Azure 2023 "conv" trace and lengths of its "code" trace. */
export const azure2023Profile: WorkloadProfile = ${JSON.stringify(profile)};
`,
);
spawnSync(join(root, "node_modules/.bin/biome"), ["format", "--write", target], { cwd: root, stdio: "inherit" });

// `npm run setup:libtorch`: installs LibTorch where it can, and builds the addon of @slicescheduler/executor-libtorch. Everything else works without.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "./npm.mjs";

const bootstrap = spawnSync(process.execPath, [join(root, "scripts/bootstrap.mjs")], { stdio: "inherit" });
if (bootstrap.status !== 0) process.exit(bootstrap.status ?? 1);
const setup = join(root, "packages/executor-libtorch/native/setup.mjs");
const { status } = spawnSync(process.execPath, [setup, ...process.argv.slice(2)], { stdio: "inherit" });
process.exit(status ?? 1);

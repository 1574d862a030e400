// Runs the main job as a user does and holds its result to what it must reach: two short runs give the same bytes, and the
// default run completes 98 % of the offline requests, more than doubles the tokens, and keeps the online requests' SLO.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** @param {readonly string[]} args */
function start(args) {
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync("npm", ["start", "--", ...args, "--json"], {
    cwd: root,
    encoding: "utf8",
  });
  if (status !== 0) fail(`npm start ${args.join(" ")} ended with ${status}:\n${stdout}\n${stderr}`);
  const json = stdout.trimEnd().split("\n").at(-1) ?? "";
  console.log(`npm start ${args.join(" ")}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return json;
}

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message);
  process.exit(1);
}

const short = start(["--minutes", "2"]);
if (short !== start(["--minutes", "2"])) fail("the same seed gave other bytes");
if (short === start(["--minutes", "2", "--seed", "2"])) fail("another seed gave the same bytes");

const report = JSON.parse(start([]));
const { "static-online": baseline, slicescheduler } = report.policies;
const ratio = report.ratios["static-online"];
const { offlineCompleted, offlineOffered, sloAttainment } = slicescheduler;
console.log(
  `offline ${offlineCompleted} of ${offlineOffered}, tokens/s ×${ratio.tokensPerSecond.toFixed(3)}, requests/s ` +
    `×${ratio.requestsPerSecond.toFixed(3)}, SLO attainment ${sloAttainment.toFixed(3)} (static-online ${baseline.sloAttainment.toFixed(3)})`,
);
if (offlineCompleted < 0.98 * offlineOffered) fail("fewer than 98 % of the offline requests were completed");
if (ratio.tokensPerSecond < 2.2) fail("tokens/s are below 2.2 × static-online");
if (sloAttainment < baseline.sloAttainment) fail("the SLO attainment is below static-online's");
for (const [name, { overCapacity, standstills }] of Object.entries(report.policies)) {
  if (overCapacity !== 0 || standstills !== 0)
    fail(`${name}: ${overCapacity} over capacity, ${standstills} standstills`);
}

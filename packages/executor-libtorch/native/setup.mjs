#!/usr/bin/env node
// Builds the native addon: finds LibTorch (Debian's packages, which it installs where it can, or TORCH_PREFIX), compiles, and runs a smoke
// test. Does nothing but that test when it is up to date. `--force` builds in any case.
//
// TORCH_PREFIX   a LibTorch with include/ and lib/, such as that of a PyTorch wheel. Default: the system's.
// WITH_CUDA=1    with CUDA devices; needs a LibTorch that has them, and CUDA_HOME (default /usr/local/cuda).
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const TORCH_PACKAGES = ["libtorch-dev", "libopenblas0-pthread"];
const COMPILERS = ["g++", "make", "python3"];
const TOOLS = { "node-gyp": "12.4.0", "node-addon-api": "8.9.2" };
const root = fileURLToPath(new URL("..", import.meta.url));
const addon = join(root, "build", "Release", "slice.node");
const stamp = join(root, "build", "setup.stamp");

const { env } = process;
const prefix = env["TORCH_PREFIX"] ?? "";
const include = join(prefix === "" ? "/usr" : prefix, "include");

main();

function main() {
  if (process.platform !== "linux") fail(`the native addon is for Linux; this is ${process.platform}`);
  if (!isFound()) install();
  const torch = torchVersion();
  const settings = { ...buildSettings(), torch };
  const state = stateOf(settings);
  const isCurrent = existsSync(addon) && existsSync(stamp) && readFileSync(stamp, "utf8") === state;
  if (isCurrent && !process.argv.includes("--force")) console.log(`The addon is up to date (LibTorch ${torch}).`);
  else {
    console.log(
      `Building for LibTorch ${torch} in ${prefix === "" ? "the system" : "TORCH_PREFIX"}; it takes some minutes.`,
    );
    build(settings);
    writeFileSync(stamp, state);
  }
  smoke();
}

/** @returns {boolean} whether LibTorch's headers and what compiles them are there */
function isFound() {
  return existsSync(join(include, "ATen/core/Tensor.h")) && COMPILERS.every(isCommand);
}

/** @param {string} name */
function isCommand(name) {
  return spawnSync("sh", ["-c", `command -v ${name}`]).status === 0;
}

function install() {
  const packages = prefix === "" ? [...TORCH_PACKAGES, ...COMPILERS] : COMPILERS;
  const command = `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
  if (prefix !== "" && !existsSync(join(include, "ATen/core/Tensor.h")))
    fail("TORCH_PREFIX has no include/ATen/core/Tensor.h; set it to the folder that has include/ and lib/ of LibTorch");
  if (!isCommand("apt-get") || process.getuid?.() !== 0)
    fail(
      `LibTorch or a compiler is missing. On Debian and Ubuntu run, as root: ${command}\nElsewhere set TORCH_PREFIX to a LibTorch, and install g++, make and python3.`,
    );
  console.log(`Installing: ${command}`);
  // Its lists may be old, or not there at all.
  if (!succeeds(command) && !(succeeds("apt-get update") && succeeds(command)))
    fail(`could not install LibTorch; the command was: ${command}`);
}

/** @param {string} command */
function succeeds(command) {
  const noninteractive = { ...env, DEBIAN_FRONTEND: "noninteractive" };
  return spawnSync("sh", ["-c", command], { stdio: "inherit", env: noninteractive }).status === 0;
}

function torchVersion() {
  const header = join(include, "torch/csrc/api/include/torch/version.h");
  if (!existsSync(header)) return "of an unknown version";
  const text = readFileSync(header, "utf8");
  const part = (/** @type {string} */ name) => new RegExp(`TORCH_VERSION_${name} (\\d+)`).exec(text)?.[1] ?? "?";
  return ["MAJOR", "MINOR", "PATCH"].map(part).join(".");
}

/** What binding.gyp reads. */
function buildSettings() {
  const { addonApi, gyp } = tools();
  return {
    gyp,
    env: {
      TORCH_PREFIX: prefix,
      TORCH_CXX11_ABI: env["TORCH_CXX11_ABI"] ?? cxx11Abi(),
      SLICE_CXX_STD: env["SLICE_CXX_STD"] ?? "c++17",
      WITH_CUDA: env["WITH_CUDA"] ?? "0",
      NODE_ADDON_API: addonApi,
    },
  };
}

/** Some wheels are built with strings of the old ABI, and then everything that uses them has to be. */
function cxx11Abi() {
  const library = join(prefix, "lib", "libc10.so");
  if (prefix === "" || !existsSync(library)) return "1";
  return readFileSync(library).includes("_ZN3c105ErrorC1ENS_14SourceLocationESs") ? "0" : "1";
}

/** node-gyp and the headers of node-addon-api: the package's own, or fetched into a folder of the package. */
function tools() {
  const folder = join(root, "node_modules", ".setup-libtorch");
  const found = resolveTools(join(root, "package.json")) ?? resolveTools(join(folder, "package.json"));
  if (found !== null) return found;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: TOOLS }));
  const npm = spawnSync("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder, stdio: "inherit" });
  const fetched = npm.status === 0 ? resolveTools(join(folder, "package.json")) : null;
  return fetched ?? fail("npm could not fetch node-gyp and node-addon-api, which the build needs");
}

/**
 * @param {string} from
 * @returns {{ gyp: string, addonApi: string } | null}
 */
function resolveTools(from) {
  const require = createRequire(from);
  try {
    const addonApi = dirname(require.resolve("node-addon-api/package.json"));
    return { gyp: require.resolve("node-gyp/bin/node-gyp.js"), addonApi };
  } catch {
    return null;
  }
}

/** @param {ReturnType<typeof buildSettings>} settings */
function build(settings) {
  const headers = nodeHeaders();
  const from = headers === null ? [] : [`--nodedir=${headers}`];
  const args = [
    settings.gyp,
    "configure",
    "build",
    "-j",
    String(Math.max(1, Math.min(availableParallelism(), 4))),
    ...from,
  ];
  rmSync(stamp, { force: true });
  const { status } = spawnSync(process.execPath, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...env, ...settings.env },
  });
  if (status !== 0) fail("the addon did not compile; what node-gyp says is above");
}

/** The folder with include/node of the Node that runs this, so that nothing is downloaded; null where it came without. */
function nodeHeaders() {
  const folder = dirname(dirname(process.execPath));
  return existsSync(join(folder, "include", "node", "node.h")) ? folder : null;
}

/** @param {object} settings */
function stateOf(settings) {
  const hash = createHash("sha256").update(`${process.version} ${process.arch} ${JSON.stringify(settings)}`);
  const sources = readdirSync(join(root, "native")).filter((file) => /\.(cc|h)$/.test(file));
  for (const file of sources.sort()) hash.update(file).update(readFileSync(join(root, "native", file)));
  return hash.update(readFileSync(join(root, "binding.gyp"))).digest("hex");
}

function smoke() {
  const smokeTest = join(root, "native", "smoke.mjs");
  const { status } = spawnSync(process.execPath, [smokeTest, addon], {
    stdio: "inherit",
    env: { ...env, OPENBLAS_NUM_THREADS: "1" },
  });
  if (status !== 0) fail("the addon was built, but does not work; what it says is above");
}

/**
 * @param {string} found
 * @returns {never}
 */
function fail(found) {
  console.error(`setup-libtorch: ${found}`);
  process.exit(1);
}

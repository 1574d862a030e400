// Runs an example as it is, TypeScript and all, on the sources of this repository: `node examples/run.mjs NAME`. Nothing has to be built.
import { existsSync, readdirSync } from "node:fs";
import { register } from "node:module";
import { fileURLToPath } from "node:url";

const [name = ""] = process.argv.slice(2);
const entryOf = (/** @type {string} */ example) => new URL(`./${example}/main.ts`, import.meta.url);
const examples = readdirSync(fileURLToPath(new URL(".", import.meta.url))).filter((example) =>
  existsSync(entryOf(example)),
);
if (examples.includes(name)) {
  register("./typescript.mjs", import.meta.url);
  await import(entryOf(name).href);
} else {
  console.error(`node examples/run.mjs NAME, of: ${examples.join(", ")}; examples/README.md says what each is`);
  process.exitCode = 2;
}

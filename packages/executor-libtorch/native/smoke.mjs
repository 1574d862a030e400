// Loads the addon that was built, multiplies two matrices on an accelerator, and says what it runs on.
import { constants } from "node:os";

const [, , path = ""] = process.argv;
const module = { exports: /** @type {any} */ ({}) };
process.dlopen(module, path, constants.dlopen.RTLD_NOW | (constants.dlopen.RTLD_DEEPBIND ?? 0));
const addon = module.exports;

const text = JSON.stringify({
  name: "smoke",
  inputs: 0,
  calls: [
    { op: "aten::ones", args: [[3, 3]], results: ["ones"] },
    { op: "aten::mm", args: [{ value: "ones" }, { value: "ones" }], results: ["product"] },
  ],
  outputs: [{ name: "product", value: { value: "product" }, dtype: "float32", shape: [3, 3], aliases: null }],
  symbols: [],
});
const { program } = addon.compileProgram(text);
const { outputs } = addon.runProgram(program, { device: "cpu", inputs: [], symbols: [], weights: [], feeds: {} });
const found = [...new Float32Array(outputs[0].data)].join();
if (found !== "3,3,3,3,3,3,3,3,3") throw new Error(`3×3 ones multiplied are ${found}`);
const { torch, cuda, cudaDevices } = addon.versions();
console.log(`LibTorch ${torch} works${cuda ? `, with ${cudaDevices} CUDA devices` : ", on CPUs"}.`);

#!/usr/bin/env node
import { processIo } from "./io.ts";
import { main } from "./main.ts";
import { watchOutput } from "./standard-output.ts";

const exitCode = watchOutput(process, (code) => {
  process.exitCode = code;
});
process.exitCode = exitCode(await main(process.argv.slice(2), processIo()));

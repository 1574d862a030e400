#!/usr/bin/env node
import { processIo } from "./io.ts";
import { main } from "./main.ts";

// A reader that has seen enough (`| head`) closes the pipe; that is no failure of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});
process.exitCode = await main(process.argv.slice(2), processIo());

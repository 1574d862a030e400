/** Starts the server until Ctrl+C: `node examples/run.mjs openai-server`. */
import { serveLiveView } from "@slicescheduler/live-view";
import { startOpenAiServer } from "./server.ts";

const { PORT = "8000", API_KEY, LIVE_PORT = "8001", LIVE_TOKEN } = process.env;
const server = await startOpenAiServer({
  port: Number(PORT),
  ...(API_KEY === undefined ? {} : { apiKey: API_KEY }),
});
const { scheduler, id, fingerprint } = server.model;
const token = LIVE_TOKEN === undefined ? {} : { token: LIVE_TOKEN };
const view = await serveLiveView(scheduler, { port: Number(LIVE_PORT), title: id, ...token });
console.log(`${server.url}/v1 serves ${id} (${fingerprint})`);
console.log(`${server.url}/metrics for Prometheus, ${view.url} to look at it`);

let isClosing = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, async () => {
    // A second one does not wait.
    if (isClosing) process.exit(1);
    isClosing = true;
    console.log("shutting down: answers under way have ten seconds");
    await server.close();
    await view.close();
  });
}

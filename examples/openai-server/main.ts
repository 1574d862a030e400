/** Starts the server until Ctrl+C: `node examples/run.mjs openai-server`. */
import { serveLiveView } from "@slicescheduler/live-view";
import { listening, portOf, tokenOf } from "../starting.ts";
import { startOpenAiServer } from "./server.ts";

const { API_KEY } = process.env;
const [port, livePort, token] = [portOf("PORT", 8000), portOf("LIVE_PORT", 8001), tokenOf("LIVE_TOKEN")];
const key = API_KEY === undefined ? {} : { apiKey: API_KEY };
const server = await listening({ PORT: port }, () => startOpenAiServer({ port, ...key }));
const { scheduler, id, fingerprint } = server.model;
const view = await listening({ LIVE_PORT: livePort }, () =>
  serveLiveView(scheduler, { port: livePort, title: id, ...token }),
);
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

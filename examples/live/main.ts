/** Starts the example until Ctrl+C: `node examples/run.mjs live`. */
import { listening, portOf, tokenOf } from "../starting.ts";
import { startLive } from "./live.ts";

const [metricsPort, viewPort] = [portOf("METRICS_PORT", 9464), portOf("VIEW_PORT", 8001)];
const token = tokenOf("TOKEN");
const live = await listening({ METRICS_PORT: metricsPort, VIEW_PORT: viewPort }, () =>
  startLive({ metricsPort, viewPort, ...token }),
);
console.log(`${live.metricsUrl} for Prometheus, ${live.viewUrl} to look at it`);
process.once("SIGINT", () => live.close());

/** Starts the example until Ctrl+C: `node examples/run.mjs live`. */
import { startLive } from "./live.ts";

const { METRICS_PORT = "9464", VIEW_PORT = "8001", TOKEN } = process.env;
const live = await startLive({
  metricsPort: Number(METRICS_PORT),
  viewPort: Number(VIEW_PORT),
  ...(TOKEN === undefined ? {} : { token: TOKEN }),
});
console.log(`${live.metricsUrl} for Prometheus, ${live.viewUrl} to look at it`);
process.once("SIGINT", () => live.close());

/** Without dependencies. The adapters to libraries are entries of their own, `./prom-client` and `./open-telemetry`, so that nobody needs both. */
export { PrometheusText } from "./prometheus-text.ts";

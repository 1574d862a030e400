export { openTelemetrySink } from "./open-telemetry.ts";
export { promClientSink } from "./prom-client.ts";
export { PrometheusText } from "./prometheus-text.ts";

/** What the server itself measures, in the same registry as the scheduler. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function httpMetrics(registry: Registry) {
  const registers = [registry];
  return {
    requests: new Counter({
      name: "openai_requests_total",
      help: "Requests for completions, by HTTP status; 499 where the client left.",
      labelNames: ["endpoint", "status"],
      registers,
    }),
    inFlight: new Gauge({ name: "openai_requests_in_flight", help: "Requests that are being answered.", registers }),
    tokens: new Counter({
      name: "openai_tokens_total",
      help: "Tokens generated.",
      labelNames: ["priority"],
      registers,
    }),
    firstToken: new Histogram({
      name: "openai_first_token_seconds",
      help: "From the arrival of a request to its first token.",
      labelNames: ["priority"],
      buckets: SECONDS,
      registers,
    }),
  };
}

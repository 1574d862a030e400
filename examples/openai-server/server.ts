/**
 * An HTTP server with OpenAI's interface for completions that embeds the master: urgent and patient requests share its accelerators, who disconnects is cancelled, and who comes
 * when too many wait is told so at once.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promClientSink } from "@slicescheduler/metrics/prom-client";
import * as promClient from "prom-client";
import { answer } from "./completions.ts";
import { httpMetrics } from "./http-metrics.ts";
import { bestModel, type ModelOptions } from "./model.ts";
import { asOpenAiError, CANCELLED, OpenAiError } from "./openai-error.ts";
import { type Job, type Limits, readChat, readCompletion } from "./requests.ts";
import type { TextModel } from "./text-model.ts";

export interface ServerOptions {
  /** 0 for any that is free. Default 0. */
  readonly port?: number;
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** What clients have to send as `Authorization: Bearer KEY`. Default: nothing. */
  readonly apiKey?: string;
  /** Default: LibTorch's where it is set up, else the virtual one. */
  readonly model?: (options: ModelOptions) => TextModel;
  /** Requests that are answered at a time; a further one gets 429. Default 256. */
  readonly requestsMax?: number;
  /** Of those, so many may wait for a place on the accelerators; a further one gets 429. Default 64. */
  readonly queuedRequestsMax?: number;
  /** One that waits longer for its first operator gets 429. Default 30,000. */
  readonly queueTimeoutMs?: number;
  /** Default 262,144. */
  readonly bodyBytesMax?: number;
  /** A client that takes nothing of its stream for so long is cut off. Default 30,000. */
  readonly stalledMs?: number;
}

export interface OpenAiServer {
  readonly url: string;
  readonly model: TextModel;
  /** Takes no more requests, lets those under way end for so long, then cancels them. Default 10,000 ms. */
  close(graceMs?: number): Promise<void>;
}

const PROMPTS_MAX = 16;

export async function startOpenAiServer(options: ServerOptions = {}): Promise<OpenAiServer> {
  const { port = 0, host = "127.0.0.1", model: makeModel = bestModel, queuedRequestsMax = 64 } = options;
  const registry = new promClient.Registry();
  const model = makeModel({
    scheduling: { queuedRequestsMax },
    metrics: { sink: promClientSink(promClient, registry) },
  });
  const server = createServer({ maxHeaderSize: 16_384, requestTimeout: 30_000 });
  const service = new Service(model, registry, options);
  server.on("request", (request, response) => service.handle(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: given } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${given}`,
    model,
    close: (graceMs = 10_000) => shutDown(server, service, graceMs),
  };
}

async function shutDown(server: Server, service: Service, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  await service.drain(graceMs);
  server.closeIdleConnections();
  await closed;
}

class Service {
  readonly #model: TextModel;
  readonly #registry: promClient.Registry;
  readonly #metrics: ReturnType<typeof httpMetrics>;
  readonly #limits: Limits;
  readonly #options: Required<Pick<ServerOptions, "requestsMax" | "queueTimeoutMs" | "bodyBytesMax" | "stalledMs">>;
  readonly #keyDigest: Buffer | null;
  readonly #underWay = new Map<AbortController, Promise<void>>();
  #number = 0;
  #isClosing: boolean = false;

  constructor(model: TextModel, registry: promClient.Registry, options: ServerOptions) {
    this.#model = model;
    this.#registry = registry;
    this.#metrics = httpMetrics(registry);
    this.#limits = { model: model.id, contextTokens: model.contextTokens, promptsMax: PROMPTS_MAX };
    const { requestsMax = 256, queueTimeoutMs = 30_000, bodyBytesMax = 262_144, stalledMs = 30_000, apiKey } = options;
    this.#options = { requestsMax, queueTimeoutMs, bodyBytesMax, stalledMs };
    this.#keyDigest = apiKey === undefined ? null : digestOf(apiKey);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    response.on("error", () => response.destroy());
    if (this.#isClosing) response.setHeader("connection", "close");
    this.#route(request, response).catch((error: unknown) => fail(response, asOpenAiError(error)));
  }

  /** Those under way end, or are cancelled when their time is up; then the scheduler is closed. */
  async drain(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const timer = setTimeout(() => {
      for (const controller of this.#underWay.keys())
        controller.abort(new OpenAiError(503, "the server is shutting down", { code: "shutting_down" }));
    }, graceMs);
    await Promise.all(this.#underWay.values());
    clearTimeout(timer);
    this.#model.close();
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const path = url.split("?", 1)[0] ?? "";
    const endpoint = `${method} ${path}`;
    if (endpoint === "GET /healthz")
      return sendJson(response, this.#isClosing ? 503 : 200, { closing: this.#isClosing });
    if (endpoint === "GET /metrics") return this.#tellMetrics(response);
    this.#checkKey(request);
    if (endpoint === "POST /v1/completions") return this.#complete(request, response, "completions", readCompletion);
    if (endpoint === "POST /v1/chat/completions")
      return this.#complete(request, response, "chat.completions", readChat);
    const { id } = this.#model;
    const model = { id, object: "model", created: 0, owned_by: "slicescheduler" };
    if (endpoint === "GET /v1/models") return sendJson(response, 200, { object: "list", data: [model] });
    if (endpoint === `GET /v1/models/${encodeURIComponent(id)}`) return sendJson(response, 200, model);
    if (endpoint.startsWith("GET /v1/models/"))
      throw new OpenAiError(404, `there is no such model; there is ${id}`, { code: "model_not_found" });
    const isKnown = ["/v1/completions", "/v1/chat/completions", "/v1/models", "/metrics", "/healthz"].includes(path);
    if (isKnown) throw new OpenAiError(405, `${path} does not take ${method}`, { code: "method_not_allowed" });
    throw new OpenAiError(404, `there is no ${path}`, { code: "unknown_url" });
  }

  async #tellMetrics(response: ServerResponse): Promise<void> {
    const text = await this.#registry.metrics();
    response.writeHead(200, { "content-type": this.#registry.contentType });
    response.end(text);
  }

  #checkKey({ headers }: IncomingMessage): void {
    if (this.#keyDigest === null) return;
    const [, key = ""] = /^Bearer (.+)$/i.exec(headers.authorization ?? "") ?? [];
    if (!timingSafeEqual(digestOf(key), this.#keyDigest))
      throw new OpenAiError(401, "the API key is missing or wrong", { code: "invalid_api_key" });
  }

  async #complete(
    request: IncomingMessage,
    response: ServerResponse,
    endpoint: string,
    read: (body: unknown, limits: Limits) => Job,
  ): Promise<void> {
    const controller = new AbortController();
    const done = this.#answer(request, response, controller, read).then(
      () => (response.writableFinished || !response.destroyed ? response.statusCode : LEFT),
      (error: unknown) => {
        if (response.destroyed) return LEFT;
        const told = asOpenAiError(controller.signal.aborted ? controller.signal.reason : error);
        fail(response, told);
        return told.status;
      },
    );
    this.#metrics.inFlight.inc();
    const counted = done.then((status) => {
      this.#underWay.delete(controller);
      this.#metrics.inFlight.dec();
      this.#metrics.requests.inc({ endpoint, status });
    });
    this.#underWay.set(controller, counted);
    await counted;
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    controller: AbortController,
    read: (body: unknown, limits: Limits) => Job,
  ): Promise<void> {
    if (this.#isClosing) throw new OpenAiError(503, "the server is shutting down", { code: "shutting_down" });
    if (this.#underWay.size >= this.#options.requestsMax)
      throw new OpenAiError(429, "too many requests are being answered; try again later", {
        code: "rate_limit_exceeded",
      });
    const sinceMs = performance.now();
    // Who leaves before the end wants nothing any more.
    response.on("close", () => {
      if (!response.writableFinished) controller.abort(new Error("the client left"));
    });
    const job = read(await bodyOf(request, this.#options.bodyBytesMax), this.#limits);
    let isFirst = true;
    this.#number += 1;
    await answer(response, {
      id: `${job.kind === "chat" ? "chatcmpl" : "cmpl"}-${this.#number}`,
      model: this.#model,
      job,
      queueTimeoutNs: this.#options.queueTimeoutMs * 1e6,
      stalledMs: this.#options.stalledMs,
      signal: controller.signal,
      onToken: () => {
        this.#metrics.tokens.inc({ priority: job.priority });
        if (isFirst) this.#metrics.firstToken.observe({ priority: job.priority }, (performance.now() - sinceMs) / 1000);
        isFirst = false;
      },
    });
  }
}

/** As other servers count clients that left. */
const LEFT = 499;

async function bodyOf(request: IncomingMessage, bytesMax: number): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? ""))
    throw new OpenAiError(415, "send the request as application/json");
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
  }
  if (bytes > bytesMax)
    throw new OpenAiError(413, `the body has more than ${bytesMax} bytes`, { code: "request_too_large" });
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new OpenAiError(400, "the body is not JSON");
  }
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

function fail(response: ServerResponse, error: OpenAiError): void {
  if (response.headersSent || response.destroyed) response.destroy();
  else {
    if (error.code === CANCELLED) response.setHeader("x-should-retry", "false");
    else if (error.status === 429 || error.status === 503) response.setHeader("retry-after", "1");
    sendJson(response, error.status, error.body);
  }
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

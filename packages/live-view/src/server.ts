import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { SliceScheduler } from "slicescheduler";
import { act } from "./actions.ts";
import { LiveViewError } from "./errors.ts";
import { explanationOf } from "./explanation.ts";
import { Feed } from "./feed.ts";
import { Guard, type Refused } from "./guard.ts";
import { type CheckedOptions, checkedOptions, type LiveViewOptions } from "./options.ts";
import { PAGE_CSS } from "./page/css.ts";
import { pageHtml } from "./page/html.ts";
import { PAGE_SCRIPT } from "./page/script.ts";
import { fittingState, viewStateOf } from "./state.ts";
import { TokenCheck } from "./token.ts";
import { Watch } from "./watch.ts";

export interface LiveView {
  /** Where to look: `http://127.0.0.1:PORT/`. */
  readonly url: string;
  readonly port: number;
  /** Pages that look now. */
  readonly clients: number;
  /** Ends every connection; the scheduler goes on. Closing twice changes nothing. */
  close(): Promise<void>;
}

/**
 * Serves a page that shows a running master: accelerators with their HBM and queues, the unscheduled frontier, what waits for what, transfers,
 * decisions with every candidate, and what went wrong. It listens on this machine only, answers to this machine's names only, needs nothing from elsewhere, and
 * changes nothing unless it is given a token. Without a page that looks it computes nothing; with any number of them it takes the state
 * once per interval, which costs what `SliceScheduler.overview` costs.
 * Rejects with INVALID_OPTIONS, ADDRESS_UNAVAILABLE.
 */
export async function serveLiveView(scheduler: SliceScheduler, options: LiveViewOptions = {}): Promise<LiveView> {
  const checked = checkedOptions(options);
  const server = createServer(LIMITS);
  server.maxConnections = 4 * checked.clientsMax + CONNECTIONS_SPARE;
  await listening(server, checked);
  const { port } = server.address() as AddressInfo;
  const site = new Site(scheduler, checked, port);
  server.on("request", (request, response) => site.answer(request, response));
  const name = checked.host.includes(":") ? `[${checked.host}]` : checked.host;
  let closed: Promise<void> | null = null;
  return {
    url: `http://${name}:${port}/`,
    port,
    get clients() {
      return site.clients;
    },
    close: () => {
      closed ??= new Promise((resolve) => {
        site.close();
        server.close(() => resolve());
        server.closeAllConnections();
      });
      return closed;
    },
  };
}

const LIMITS = { maxHeaderSize: 8192, headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 5000 };
const CONNECTIONS_SPARE = 16;
/** Explanations per second, whoever asks. */
const EXPLANATIONS_MAX = 10;
const SECOND_MS = 1000;

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
};

class Site {
  readonly #scheduler: SliceScheduler;
  readonly #options: CheckedOptions;
  readonly #guard: Guard;
  readonly #token: TokenCheck;
  readonly #watch: Watch;
  readonly #feed: Feed;
  #explainedSinceMs = Number.NEGATIVE_INFINITY;
  #explained = 0;

  constructor(scheduler: SliceScheduler, options: CheckedOptions, port: number) {
    const { intervalMs, stalledMsMax, time, rows, stateBytesMax } = options;
    this.#scheduler = scheduler;
    this.#options = options;
    this.#guard = new Guard(port, options.allowedHosts);
    this.#token = new TokenCheck(options.token, () => time.nowMs());
    this.#watch = new Watch(scheduler);
    const stateOf = () =>
      fittingState(
        (shown) =>
          viewStateOf(scheduler.overview({ rows: shown }), this.#watch.decisions, this.#watch.happenings, shown),
        rows,
        stateBytesMax,
      );
    this.#feed = new Feed({ intervalMs, stalledMsMax, time, stateOf });
  }

  get clients(): number {
    return this.#feed.clients;
  }

  close(): void {
    this.#feed.close();
    this.#watch.close();
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    response.on("error", () => response.destroy());
    this.#route(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else refuse(response, { status: 500, code: "FAILED", message: String(error) });
    });
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const path = url.split("?", 1)[0] ?? "";
    const refusal = this.#guard.refusal({ method, path, headers }) ?? wrongMethod(method, path);
    if (refusal !== null) {
      refuse(response, refusal);
      return;
    }
    const { title } = this.#options;
    switch (path) {
      case "/":
        send(response, "text/html", pageHtml({ title, readOnly: this.#token.isReadOnly }));
        return;
      case "/view.css":
        send(response, "text/css", PAGE_CSS);
        return;
      case "/view.js":
        send(response, "text/javascript", PAGE_SCRIPT);
        return;
      case "/events":
        this.#listen(response);
        return;
      case ACTIONS:
        await this.#act(request, response);
        return;
      default:
        this.#explain(path, response);
    }
  }

  #listen(response: ServerResponse): void {
    const { clients } = this.#feed;
    if (clients >= this.#options.clientsMax) {
      const message = `${clients} pages look already, which is as many as may`;
      refuse(response, { status: 503, code: "TOO_MANY_CLIENTS", message });
    } else {
      response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream; charset=utf-8" });
      this.#feed.add(response);
    }
  }

  async #act(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = this.#token.refusal(request.headers.authorization) ?? (await act(this.#scheduler, request));
    if (refusal !== null) refuse(response, refusal);
    else send(response, "application/json", "{}");
  }

  #explain(path: string, response: ServerResponse): void {
    const [, digits] = /^\/api\/instances\/(\d{1,15})$/.exec(path) ?? [];
    if (digits === undefined) refuse(response, { status: 404, code: "NOT_FOUND", message: `there is no ${path}` });
    else if (!this.#mayExplain())
      refuse(response, { status: 429, code: "TOO_MANY_REQUESTS", message: "ask again in a second" });
    else {
      const explanation = this.#scheduler.explain(Number(digits));
      const message = `nothing is known of instance ${digits} any more, or it never was`;
      if (explanation === undefined) refuse(response, { status: 404, code: "UNKNOWN_INSTANCE", message });
      else send(response, "application/json", JSON.stringify(explanationOf(explanation)));
    }
  }

  #mayExplain(): boolean {
    const nowMs = this.#options.time.nowMs();
    if (nowMs - this.#explainedSinceMs >= SECOND_MS) {
      this.#explainedSinceMs = nowMs;
      this.#explained = 0;
    }
    this.#explained += 1;
    return this.#explained <= EXPLANATIONS_MAX;
  }
}

const ACTIONS = "/api/actions";

function wrongMethod(method: string, path: string): Refused | null {
  const allowed = path === ACTIONS ? ["POST"] : ["GET", "HEAD"];
  if (allowed.includes(method)) return null;
  return { status: 405, code: "METHOD_NOT_ALLOWED", message: `${path} takes ${allowed.join(", ")}` };
}

function send(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, {
    ...HEADERS,
    "content-type": `${type}; charset=utf-8`,
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

function refuse(response: ServerResponse, { status, code, message }: Refused): void {
  const body = JSON.stringify({ error: { code, message } });
  response.writeHead(status, {
    ...HEADERS,
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  });
  response.end(body);
}

function listening(server: Server, { port, host }: CheckedOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const message = `the live view cannot listen on ${host} port ${port}: ${cause.message}; give another port, or 0 for any`;
      reject(new LiveViewError("ADDRESS_UNAVAILABLE", message, [], { cause }));
    });
    server.listen(port, host, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}

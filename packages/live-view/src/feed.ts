import type { ServerResponse } from "node:http";
import type { HostTime } from "./host.ts";

export interface FeedOptions {
  readonly intervalMs: number;
  readonly stalledMsMax: number;
  readonly time: HostTime;
  /** The state now, as JSON. */
  readonly stateOf: () => string;
}

interface Client {
  readonly response: ServerResponse;
  /** The number of the state that it was sent last. */
  sent: number;
  /** Since when it has not taken what it was sent; null while it does. */
  stalledSinceMs: number | null;
}

/** Without a new state something is sent all the same, so that both ends notice when the other one has gone. */
const SILENCE_MS_MAX = 15_000;

/**
 * Server-sent events to everybody who looks. The state is taken once per interval for all of them, and not at all while nobody looks. Who does not
 * take what it was sent misses states, never gets old ones later, and is cut off after a while: at most one state per client waits in memory.
 */
export class Feed {
  readonly #options: FeedOptions;
  readonly #clients = new Set<Client>();
  #state = "";
  /** Of the state. */
  #number = 0;
  #takenMs = Number.NEGATIVE_INFINITY;
  #spokenMs = Number.NEGATIVE_INFINITY;
  #forgetTimer: (() => void) | null = null;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** Headers must have been sent. The first state follows at once. */
  add(response: ServerResponse): void {
    const client: Client = { response, sent: -1, stalledSinceMs: null };
    this.#clients.add(client);
    response.on("close", () => this.#clients.delete(client));
    response.on("drain", () => {
      client.stalledSinceMs = null;
    });
    if (this.#options.time.nowMs() - this.#takenMs >= this.#options.intervalMs) this.#take();
    this.#send(client);
    this.#arm();
  }

  /** Ends every stream. */
  close(): void {
    this.#forgetTimer?.();
    this.#forgetTimer = null;
    for (const { response } of this.#clients) {
      response.end();
      // One that takes nothing would keep its connection, and the server, open.
      response.destroy();
    }
    this.#clients.clear();
  }

  #arm(): void {
    if (this.#forgetTimer !== null || this.#clients.size === 0) return;
    this.#forgetTimer = this.#options.time.after(this.#options.intervalMs, () => {
      this.#forgetTimer = null;
      this.#tick();
      this.#arm();
    });
  }

  #tick(): void {
    if (this.#clients.size === 0) return;
    this.#take();
    const nowMs = this.#options.time.nowMs();
    const isSilent = nowMs - this.#spokenMs >= SILENCE_MS_MAX;
    if (isSilent) this.#spokenMs = nowMs;
    for (const client of [...this.#clients]) {
      if (client.stalledSinceMs !== null) {
        if (nowMs - client.stalledSinceMs >= this.#options.stalledMsMax) this.#cutOff(client);
      } else if (client.sent !== this.#number) this.#send(client);
      else if (isSilent) this.#write(client, ": still here\n\n");
    }
  }

  #take(): void {
    this.#takenMs = this.#options.time.nowMs();
    const state = this.#options.stateOf();
    if (state === this.#state) return;
    this.#state = state;
    this.#number += 1;
  }

  #send(client: Client): void {
    client.sent = this.#number;
    this.#spokenMs = this.#options.time.nowMs();
    this.#write(client, `event: state\ndata: ${this.#state}\n\n`);
  }

  #write(client: Client, text: string): void {
    if (!client.response.write(text)) client.stalledSinceMs = this.#options.time.nowMs();
  }

  #cutOff(client: Client): void {
    this.#clients.delete(client);
    client.response.destroy();
  }
}

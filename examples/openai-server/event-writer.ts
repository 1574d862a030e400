import type { ServerResponse } from "node:http";

/**
 * Server-sent events to one client. The generation never waits for who reads: what is not taken yet stays here, which is as much as the request may generate at most; who
 * takes nothing for `stalledMs` is cut off.
 */
export class EventWriter {
  readonly #response: ServerResponse;
  readonly #stalledMs: number;
  readonly #waiting: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isBlocked: boolean = false;
  #isEnding: boolean = false;

  constructor(response: ServerResponse, stalledMs: number) {
    this.#response = response;
    this.#stalledMs = stalledMs;
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" });
    response.on("drain", () => {
      clearTimeout(this.#timer);
      this.#isBlocked = false;
      this.#flush();
    });
    response.on("close", () => clearTimeout(this.#timer));
  }

  send(data: unknown): void {
    this.#waiting.push(`data: ${JSON.stringify(data)}\n\n`);
    this.#flush();
  }

  /** As OpenAI's interface ends a stream. */
  end(): void {
    this.#waiting.push("data: [DONE]\n\n");
    this.#isEnding = true;
    this.#flush();
  }

  #flush(): void {
    while (!this.#isBlocked) {
      const next = this.#waiting.shift();
      if (next === undefined) {
        if (this.#isEnding) this.#response.end();
        return;
      }
      if (this.#response.write(next)) continue;
      this.#isBlocked = true;
      this.#timer = setTimeout(() => this.#response.destroy(), this.#stalledMs);
    }
  }
}

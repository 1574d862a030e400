import { createHash, timingSafeEqual } from "node:crypto";
import type { Refused } from "./guard.ts";

/** Wrong ones within a minute, whoever sends them; then nobody's is looked at for the rest of it. */
const WRONG_MAX = 10;
const MINUTE_MS = 60_000;

/** Who may change something. It is compared by its digest in constant time, so that neither its length nor a part of it can be guessed. */
export class TokenCheck {
  readonly #digest: Buffer | null;
  readonly #nowMs: () => number;
  #wrongSinceMs = Number.NEGATIVE_INFINITY;
  #wrong = 0;

  /** @param token Null where nothing can be changed. */
  constructor(token: string | null, nowMs: () => number) {
    this.#digest = token === null ? null : digestOf(token);
    this.#nowMs = nowMs;
  }

  get isReadOnly(): boolean {
    return this.#digest === null;
  }

  /** Null for whoever may. @param authorization The header: `Bearer TOKEN`. */
  refusal(authorization: string | undefined): Refused | null {
    if (this.#digest === null)
      return {
        status: 403,
        code: "READ_ONLY",
        message: "the live view has no token, so nothing can be changed through it",
      };
    if (this.#nowMs() - this.#wrongSinceMs > MINUTE_MS) this.#wrong = 0;
    if (this.#wrong >= WRONG_MAX)
      return { status: 429, code: "TOO_MANY_ATTEMPTS", message: "too many wrong tokens; try again in a minute" };
    const [, given] = /^Bearer (.+)$/i.exec(authorization ?? "") ?? [];
    if (given !== undefined && timingSafeEqual(digestOf(given), this.#digest)) return null;
    if (this.#wrong === 0) this.#wrongSinceMs = this.#nowMs();
    this.#wrong += 1;
    return {
      status: 401,
      code: "WRONG_TOKEN",
      message: "send the token of the live view as Authorization: Bearer TOKEN",
    };
  }
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

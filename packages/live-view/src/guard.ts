/** What a browser may be made to do by a page that it has from elsewhere, and how it is told apart. */
import type { IncomingHttpHeaders } from "node:http";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Refused {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * The names that the view answers to. A page whose own name was made to point here (DNS rebinding) calls it by that name, and is refused; so is a page
 * from elsewhere, which the browser names in `Origin` or `Sec-Fetch-Site`.
 */
export class Guard {
  readonly #hosts: ReadonlySet<string>;

  /** @param allowedHosts Names with a port stand for that port, others for the one that is listened on, and none. */
  constructor(port: number, allowedHosts: readonly string[]) {
    const hosts = new Set<string>();
    for (const name of [...LOOPBACK, ...allowedHosts].map((name) => name.toLowerCase())) {
      if (/:\d+$/.test(name) && !name.endsWith("]")) hosts.add(name);
      else {
        hosts.add(`${name}:${port}`);
        // Browsers leave out the port of the scheme; a proxy in front may have that one.
        if (port === 80 || !LOOPBACK.includes(name)) hosts.add(name);
      }
    }
    this.#hosts = hosts;
  }

  /** Null for what may pass. */
  refusal({ method, path, headers }: Asked): Refused | null {
    const host = headers.host?.toLowerCase() ?? "";
    if (!this.#hosts.has(host))
      return forbidden(
        "FOREIGN_HOST",
        `the live view does not answer to the name ${JSON.stringify(host)}; allow it with --allow-host of serve-view, or the option allowedHosts`,
      );
    const { origin } = headers;
    if (origin !== undefined && !this.#isOwn(origin))
      return forbidden("FOREIGN_ORIGIN", `pages from ${JSON.stringify(origin)} may not call the live view`);
    const site = headers["sec-fetch-site"];
    const isOwnSite = site === undefined || site === "same-origin" || site === "none";
    // A link from elsewhere may lead to the page, and to nothing else.
    const isVisit = method === "GET" && path === "/" && headers["sec-fetch-mode"] === "navigate";
    if (!isOwnSite && !isVisit) return forbidden("FOREIGN_ORIGIN", "pages from elsewhere may not call the live view");
    return null;
  }

  #isOwn(origin: string): boolean {
    const [, host] = /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? [];
    return host !== undefined && this.#hosts.has(host);
  }
}

function forbidden(code: string, message: string): Refused {
  return { status: 403, code, message };
}

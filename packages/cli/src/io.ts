/** Everything a command touches outside itself but files, so that tests can stand in for it. */
export interface Io {
  /** Writes to stdout. */
  out(text: string): void;
  /** Writes to stderr. */
  err(text: string): void;
  /** Whether stderr is a terminal, where progress can rewrite its line. */
  readonly errIsTerminal: boolean;
  readonly useColor: boolean;
  /** Width of the terminal in characters. */
  readonly columns: number;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Nanoseconds on this host, for figures about the scheduler's own cost; never part of a `--json` result. */
  hostNowNs(): number;
  /** Resolves after so many milliseconds, or as soon as `signal` is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** Calls back when the user asks to end (Ctrl+C). Returns what takes the callback away again. */
  onInterrupt(callback: () => void): () => void;
}

const columnsWhereUnknown = 100;

/** The process this runs in. Colours are off where stdout is no terminal, and where `NO_COLOR` is set to anything. */
export function processIo(): Io {
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    errIsTerminal: process.stderr.isTTY === true,
    useColor: wantsColor(process.stdout.isTTY === true, process.env["NO_COLOR"]),
    columns: process.stdout.columns ?? process.stderr.columns ?? columnsWhereUnknown,
    cwd: process.cwd(),
    env: process.env,
    hostNowNs: () => Number(process.hrtime.bigint()),
    wait: (ms, signal) =>
      new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          resolve();
        };
        const timer = setTimeout(end, ms);
        signal.addEventListener("abort", end);
        if (signal.aborted) end();
      }),
    onInterrupt: (callback) => {
      process.once("SIGINT", callback);
      process.once("SIGTERM", callback);
      return () => {
        process.removeListener("SIGINT", callback);
        process.removeListener("SIGTERM", callback);
      };
    },
  };
}

/** By the convention of no-color.org: an empty `NO_COLOR` is none. */
export function wantsColor(isTerminal: boolean, noColor: string | undefined): boolean {
  return isTerminal && (noColor ?? "") === "";
}

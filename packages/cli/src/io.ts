/** Everything a command touches outside itself, so that tests can stand in for it. */
export interface Io {
  /** Writes to stdout. */
  out(text: string): void;
  /** Writes to stderr. */
  err(text: string): void;
  /** Whether stderr is a terminal, where progress can rewrite its line. */
  readonly errIsTerminal: boolean;
  readonly useColor: boolean;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Nanoseconds on this host, for figures about the scheduler's own cost; never part of a `--json` result. */
  hostNowNs(): number;
}

/** The process this runs in. */
export function processIo(): Io {
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    errIsTerminal: process.stderr.isTTY === true,
    useColor: process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined,
    cwd: process.cwd(),
    env: process.env,
    hostNowNs: () => Number(process.hrtime.bigint()),
  };
}

import type { ReplayProgress } from "@slicescheduler/workloads";
import type { Io } from "./io.ts";

/** Tells on stderr how far a replay is: one line rewritten on a terminal, else a line every five simulated minutes. */
export class ProgressPrinter {
  readonly #io: Io;
  #open: boolean = false;

  constructor(io: Io) {
    this.#io = io;
  }

  show(progress: ReplayProgress): void {
    const minutes = Math.round(progress.atNs / 60e9);
    const whole = Math.round(progress.windowNs / 60e9);
    const counts = `${progress.completed} of ${progress.arrived} requests done`;
    const text = `${progress.policy}: minute ${minutes} of ${whole}, ${counts}`;
    if (this.#io.errIsTerminal) {
      this.#io.err(`\r\u001b[K${text}`);
      this.#open = true;
    } else if (minutes % 5 === 0 || minutes === whole) {
      this.#io.err(`${text}\n`);
    }
  }

  /** Prints a line of its own. */
  line(text: string): void {
    this.clear();
    this.#io.err(`${text}\n`);
  }

  /** Takes the rewritten line away. */
  clear(): void {
    if (this.#open) this.#io.err("\r\u001b[K");
    this.#open = false;
  }
}

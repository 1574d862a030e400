/** Progress of long work on stderr: a bar that rewrites its line on a terminal, nothing elsewhere. */
import type { Io } from "./io.ts";

const barWidth = 24;
/** A bar is drawn at most so often. */
const drawNsMin = 80e6;

export class ProgressPrinter {
  readonly #io: Io;
  #isOpen: boolean = false;
  #drawnNs = Number.NEGATIVE_INFINITY;

  constructor(io: Io) {
    this.#io = io;
  }

  /** @param share of the work that is done, 0…1. */
  show(label: string, share: number, detail: string = ""): void {
    if (!this.#io.errIsTerminal) return;
    const nowNs = this.#io.hostNowNs();
    if (nowNs - this.#drawnNs < drawNsMin && share < 1) return;
    this.#drawnNs = nowNs;
    const whole = Math.min(1, Math.max(0, share));
    const filled = Math.round(whole * barWidth);
    const bar = `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`;
    const percent = `${Math.floor(whole * 100)}`.padStart(3);
    const text = `${label} ${bar} ${percent} %${detail === "" ? "" : `  ${detail}`}`;
    this.#io.err(`\r\u001b[K${text.slice(0, Math.max(20, this.#io.columns - 1))}`);
    this.#isOpen = true;
  }

  /** Prints a line of its own. */
  line(text: string): void {
    this.clear();
    this.#io.err(`${text}\n`);
  }

  /** Takes the bar away. */
  clear(): void {
    if (this.#isOpen) this.#io.err("\r\u001b[K");
    this.#isOpen = false;
  }
}

/** A slow, obvious engine for the tests: each request alone on the first partition it may use, passes one after another. */
import type { EngineListener, EngineRequest, EngineRequestOptions, ReplayEngine } from "@slicescheduler/workloads";

const prefillNsPerToken = 0.9e6;
const decodePassNs = 42.3e6;

interface Happening {
  readonly atNs: number;
  readonly number: number;
  readonly callback: () => void;
}

export class SerialEngine implements ReplayEngine {
  listener: EngineListener | undefined;
  nowNs = 0;
  /** Most requests open on a partition at once, by partition. */
  readonly openMost = new Map<string, number>();
  /** Most passes submitted and not done, of any request. */
  submittedMost = 0;
  closed = 0;
  /** Number of the request (by opening) whose second pass fails. */
  failing = -1;
  readonly #open = new Map<string, number>();
  readonly #happenings: Happening[] = [];
  #count = 0;
  #opened = 0;

  at(atNs: number, callback: () => void): void {
    this.#happenings.push({ atNs, number: this.#count++, callback });
  }

  openRequest(options: EngineRequestOptions): EngineRequest {
    const partition = options.partitions[0] ?? "";
    const open = (this.#open.get(partition) ?? 0) + 1;
    this.#open.set(partition, open);
    this.openMost.set(partition, Math.max(open, this.openMost.get(partition) ?? 0));
    const failing = this.#opened++ === this.failing;
    let submitted = 0;
    let done = 0;
    let sawLast = false;
    const begin = (): void => {
      const durationNs = done === 0 ? options.inputTokens * prefillNsPerToken : decodePassNs;
      this.at(this.nowNs + durationNs, () => {
        if (failing && done === 1) {
          this.listener?.passFailed(request, "planted", this.nowNs);
          return;
        }
        done++;
        this.listener?.passDone(request, this.nowNs);
        if (done < submitted) begin();
      });
    };
    const request: EngineRequest = {
      submitNext: (isLast) => {
        if (sawLast) throw new Error("a pass after the last");
        sawLast = isLast;
        submitted++;
        this.submittedMost = Math.max(this.submittedMost, submitted - done);
        if (submitted === 1) begin();
      },
      close: () => {
        this.closed++;
        this.#open.set(partition, (this.#open.get(partition) ?? 0) - 1);
      },
    };
    return request;
  }

  run(): void {
    for (;;) {
      this.#happenings.sort((a, b) => a.atNs - b.atNs || a.number - b.number);
      const next = this.#happenings.shift();
      if (next === undefined) return;
      this.nowNs = next.atNs;
      next.callback();
    }
  }
}

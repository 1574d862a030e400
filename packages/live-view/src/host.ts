/** The time that passes outside: when the next state is due, and who has not listened for too long. */
export interface HostTime {
  /** Milliseconds from anywhere, never back. */
  nowMs(): number;
  /** @returns What takes it back. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Its timers do not keep the process alive. */
export const hostTime: HostTime = {
  nowMs: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Waits for what a backend does by itself. The backend's clock is under test, so the host's is asked. */
export class Patience {
  #wake: (() => void) | null = null;

  /** Something was heard. */
  heard(): void {
    this.#wake?.();
  }

  /** Returns true as soon as something is heard, false when nothing was within so many milliseconds. */
  async forNext(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (heard: boolean) => {
        clearTimeout(timeout);
        this.#wake = null;
        resolve(heard);
      };
      const timeout = setTimeout(() => end(false), ms);
      this.#wake = () => end(true);
    });
  }
}

import { oncePerFrame } from "../dom.ts";
import { type Viewport, wholeRun } from "./viewport.ts";

/** The stretch of time that all that is over time shows; who follows it is told once per frame. */
export class TimeView {
  #viewport: Viewport;
  readonly #listeners: ((viewport: Viewport) => void)[] = [];
  readonly #tell = oncePerFrame(() => {
    for (const listener of this.#listeners) listener(this.#viewport);
  });

  constructor(spanNs: number) {
    this.#viewport = wholeRun(spanNs);
  }

  get viewport(): Viewport {
    return this.#viewport;
  }

  set viewport(viewport: Viewport) {
    this.#viewport = viewport;
    this.#tell();
  }

  follow(listener: (viewport: Viewport) => void): void {
    this.#listeners.push(listener);
    listener(this.#viewport);
  }
}

import type { MemoryProbe } from "./memory-probe.ts";
import type { Rule } from "./rules.ts";
import type { Scene, SceneOptions } from "./scene.ts";
import type { Feature } from "./types.ts";

/** A rule of the execution model or of the interface, and how it is checked. */
export interface Check extends Rule {
  /** Checked only where the manifest states this. */
  readonly needs?: Feature;
  /** Not checked where the manifest states this: it is what the backend does without. */
  readonly unless?: "runsAhead";
  readonly run: (stage: Stage) => Promise<void>;
}

/** What a check works with. */
export interface Stage {
  /** A fresh backend, open, with the templates registered. Closed after the check. */
  open(options?: SceneOptions): Promise<Scene>;
  /** A fresh backend that is not open. */
  make(options?: SceneOptions): Promise<Scene>;
  memory(scene: Scene): MemoryProbe;
}

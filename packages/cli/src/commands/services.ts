import type { Io } from "../io.ts";
import type { Replay } from "../replay/command.ts";

/** What commands use of the world. */
export interface Services {
  readonly io: Io;
  /** Stands in for the replay in tests. */
  readonly replay: Replay | undefined;
  /** The arguments as they were given. */
  readonly args: readonly string[];
}

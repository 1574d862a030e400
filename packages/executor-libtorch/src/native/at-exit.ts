/**
 * Threads that run LibTorch have to end before the process takes LibTorch down, which `process.exit` does without asking the addon: what is open still is closed
 * before. A worker that ends asks it.
 */
import { isMainThread } from "node:worker_threads";
import type { NativeAddon } from "./addon.ts";

interface Closable {
  close(): void;
}

/** Weakly: one that was dropped ends by itself. */
const open = new Map<number, WeakRef<Closable>>();
let next = 0;
let endsRuns = false;

/** Returns what is to be called when it was closed before that. */
export function closeAtExit(closable: Closable): () => void {
  if (next === 0) process.once("exit", closeAll);
  const number = next++;
  open.set(number, new WeakRef(closable));
  return () => open.delete(number);
}

function closeAll(): void {
  for (const each of open.values()) each.deref()?.close();
}

/** Of direct loops, those of workers too: they have ended by then. */
export function endDirectRunsAtExit(addon: NativeAddon): void {
  if (endsRuns || !isMainThread) return;
  endsRuns = true;
  process.once("exit", () => addon.endDirectRuns());
}

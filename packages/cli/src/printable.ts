/**
 * What files hold reaches the terminal as text: a name or a label cannot move the cursor, set the title of the window or turn the
 * direction of what follows. Everything a command prints goes through here.
 */
import type { Io } from "./io.ts";

/** Control characters but tab and line feed, line separators, and marks that override the direction of text. */
const controls = /[^\P{Cc}\t\n]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const esc = "\u001b";
/** Of what this program writes itself: colours, and a progress bar that begins its line anew. */
const colors = `${esc}\\[(?:\\d{1,3}(?:;\\d{1,3}){0,8})?m`;
const ownLine = `\r${esc}\\[K`;

/** With each control character as JSON writes it, so that JSON stays what it is. */
export function printable(text: string): string {
  return text.replace(controls, escaped);
}

/** The same surroundings, to which only printable text is written. */
export function printableIo(io: Io): Io {
  const { errIsTerminal, useColor, columns, cwd, env } = io;
  const kept = useColor ? [colors] : [];
  const out = printer(kept);
  const err = printer(errIsTerminal ? [...kept, ownLine] : kept);
  return {
    out: (text) => io.out(out(text)),
    err: (text) => io.err(err(text)),
    errIsTerminal,
    useColor,
    columns,
    cwd,
    env,
    hostNowNs: () => io.hostNowNs(),
    wait: (ms, signal) => io.wait(ms, signal),
    onInterrupt: (callback) => io.onInterrupt(callback),
  };
}

/** @param kept patterns of sequences that stay. */
function printer(kept: readonly string[]): (text: string) => string {
  const pattern = new RegExp([...kept, controls.source].join("|"), "gu");
  return (text) => text.replace(pattern, (found) => (found.length > 1 ? found : escaped(found)));
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

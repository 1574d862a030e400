import type { DagTimeline } from "@slicescheduler/simulator";

interface Bar {
  readonly startNs: number;
  readonly doneNs: number;
  readonly text: string;
}

/** Two rows of text per accelerator: the operators that it ran, and beneath, where there are any, the transfers it received. */
export function gantt({ makespanNs, operators, transfers, accelerators }: DagTimeline, columns = 72): string {
  const margin = Math.max(...accelerators.map(({ name }) => name.length));
  const rows = accelerators.flatMap(({ name }, index) => {
    const ran = operators.filter(({ accelerator }) => accelerator === name);
    const received = transfers.filter(({ destination }) => destination === index);
    const bars = ran.map(({ name: text, startNs, doneNs }) => ({ startNs, doneNs, text }));
    const arrivals = received.map(({ startNs, doneNs }) => ({ startNs, doneNs, text: "" }));
    const row = `${name.padEnd(margin)} ${draw(bars, makespanNs, columns, "·")}`;
    return received.length === 0 ? [row] : [row, `${"".padEnd(margin)} ${draw(arrivals, makespanNs, columns, "~")}`];
  });
  const end = `${(makespanNs / 1e6).toFixed(3)} ms`;
  return [...rows, `${"".padEnd(margin)} 0${end.padStart(columns - 1)}`].map((row) => row.trimEnd()).join("\n");
}

/** Each bar at least one column wide, so that short ones are seen; the later one wins where two meet in a column. */
function draw(bars: readonly Bar[], makespanNs: number, columns: number, fill: string): string {
  const cells = new Array<string>(columns).fill(" ");
  for (const { startNs, doneNs, text } of bars) {
    if (Number.isNaN(doneNs)) continue;
    const first = Math.min(columns - 1, Math.floor((startNs / makespanNs) * columns));
    const last = Math.max(first + 1, Math.floor((doneNs / makespanNs) * columns));
    const bar = `|${text}`.slice(0, last - first).padEnd(last - first, fill);
    cells.splice(first, last - first, ...bar);
  }
  return cells.slice(0, columns).join("");
}

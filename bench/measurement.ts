/** What each file in benchmarks/ and experiments/ exports as `measure`; the name of the command is the name of the file. */
export type Measure = (args: readonly string[]) => Report | Promise<Report>;

interface Report {
  /** For people: the result beside the figure it is compared with. */
  readonly text: string;
  /** For programs: with `--json` it is the last line of stdout. */
  readonly json: Readonly<Record<string, unknown>>;
}

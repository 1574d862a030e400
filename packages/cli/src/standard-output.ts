/** What becomes of a process whose output cannot be written. */

/** As much of a stream of the process as is needed here. */
export interface StandardStream {
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
  write(text: string): unknown;
}

export interface StandardStreams {
  readonly stdout: StandardStream;
  readonly stderr: StandardStream;
}

const unwritable = 2;

/**
 * Watches both streams, whose errors would end the process with a stack trace. A reader that has seen enough (`| head`) closes the
 * pipe, which is no failure; anything else, such as a full disk, is told in a line, once.
 * @param onExitCode Called when the process is to end with another code than the command's.
 * @returns Of a command's exit code, that of the process; what fails later is told to `onExitCode`.
 */
export function watchOutput(
  { stdout, stderr }: StandardStreams,
  onExitCode: (code: number) => void,
): (code: number) => number {
  let hasFailed = false;
  const failed = (): void => {
    hasFailed = true;
    onExitCode(unwritable);
  };
  stdout.on("error", ({ code, message }) => {
    if (code === "EPIPE" || hasFailed) return;
    failed();
    stderr.write(`error: stdout cannot be written (${code ?? message})\n`);
  });
  stderr.on("error", ({ code }) => {
    if (code !== "EPIPE" && !hasFailed) failed();
  });
  return (code) => (hasFailed && code === 0 ? unwritable : code);
}

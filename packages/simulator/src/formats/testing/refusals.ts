import { type Dag, FormatError } from "../../index.ts";

/** What a reader says of content it must refuse: the code and the place, as `CODE line:column` or `CODE @byte`. */
export function refusal(read: () => Dag): string {
  try {
    read();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const { code, position } = error;
    if (position === null) return code;
    return "line" in position ? `${code} ${position.line}:${position.column}` : `${code} @${position.byteOffset}`;
  }
  return "no refusal";
}

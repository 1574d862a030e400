/** What a file that is not read as it is most likely is, and the option that reads it. The options are those of `slicescheduler convert`. */

export const columnsHint =
  "name its columns to read it all the same: `slicescheduler convert --columns arrival=…,input=…,output=…`";

/** Of a header whose fields are parted by something else than a comma; empty elsewhere. */
export function delimiterHint(header: string): string {
  if (header.includes(",")) return "";
  const found = [";", "\t", "|"].find((character) => header.includes(character));
  if (found === undefined) return "";
  const shown = found === "\t" ? "\\t" : found;
  return `; its fields look as if parted by "${shown}", which --delimiter '${shown}' reads`;
}

/** Why no line of a file with such a beginning can be read, or null. */
export function formFault(head: Uint8Array, isCsv: boolean): string | null {
  if (isUtf16(head)) return "is UTF-16 text; save it as UTF-8 (`iconv -f UTF-16 -t UTF-8`)";
  const text = Buffer.from(head.subarray(0, 256))
    .toString("utf8")
    .replace(/^\uFEFF/, "");
  if (!isCsv && /^\s*\[\s*(?:\{|\]|$)/.test(text))
    return "is a JSON array; one object a line is read, without brackets and commas around them (`jq -c '.[]'`)";
  return null;
}

/** By its mark, or because every other byte of a beginning in Latin letters is 0. */
function isUtf16(head: Uint8Array): boolean {
  const [first = 0x20, second = 0x20, third = 0x20, fourth = 0x20] = head;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  return (first === 0 && third === 0 && second > 0) || (second === 0 && fourth === 0 && first > 0);
}

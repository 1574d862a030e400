/**
 * A replay as a file: its result, what became of each request, and a run record of each policy. `SLRP`, a version byte, the length
 * of the header as four bytes, little end first, the header as deflated JSON, then the run records one after another.
 */
import { constants, deflateRawSync, inflateRawSync } from "node:zlib";
import { decodeRunRecord, encodeRunRecord, type RunRecord, RunRecordInvalidError } from "@slicescheduler/timeline";
import type { ReplayOutcome } from "@slicescheduler/workloads";
import { CliError } from "../errors.ts";
import { JsonBytesError, jsonValuesMax, parseJsonBytes } from "../files/json-bytes.ts";
import type { ReplayReport } from "../replay/json.ts";
import { withoutEmptySlo } from "./empty-slo.ts";
import { headerFault } from "./header-schema.ts";

export interface SavedReplay {
  /** As the user typed it. */
  readonly command: string;
  readonly report: ReplayReport;
  readonly replays: readonly SavedPolicy[];
}

/** One policy, replayed with the first seed. */
export interface SavedPolicy {
  readonly policy: string;
  /** One line for people. */
  readonly summary: string;
  readonly record: RunRecord;
  readonly outcome: ReplayOutcome;
}

/** What the header holds of each policy; the record stands behind it. */
interface HeaderPolicy extends Omit<SavedPolicy, "record"> {
  readonly recordBytes: number;
}

interface SavedHeader extends Omit<SavedReplay, "replays"> {
  readonly replays: readonly HeaderPolicy[];
}

const magic = "SLRP";
const version = 1;
const prefixBytes = magic.length + 1 + 4;
/** More than a day of requests takes. */
const headerBytesMax = 500 * 1024 * 1024;
/** What replays leave unpacks to some 7 times its size, and 25 times if all requests were equal; deflate can do 1,000 times. */
const unpackedTimesMax = 100;
/** Of a header as it is packed, at most so many a byte: replays have 0.4. */
const valuesPerByteMax = 8;
/** Smaller headers are not worth a limit by their size. */
const unlimitedBytes = 64 * 1024;

export function encodeSavedReplay({ command, report, replays }: SavedReplay): Uint8Array {
  const records = replays.map(({ record }) => encodeRunRecord(record));
  const header: SavedHeader = {
    command,
    report,
    replays: replays.map(({ policy, summary, outcome }, i) => ({
      policy,
      summary,
      outcome,
      recordBytes: records[i]?.length ?? 0,
    })),
  };
  const packed = deflateRawSync(JSON.stringify(header), { level: constants.Z_BEST_SPEED });
  const prefix = Buffer.alloc(prefixBytes);
  prefix.write(magic, "latin1");
  prefix.writeUInt8(version, magic.length);
  prefix.writeUInt32LE(packed.length, magic.length + 1);
  return Buffer.concat([prefix, packed, ...records]);
}

/** Trusts nothing in the bytes. @param file only named in errors. Errors: SAVED_REPLAY_INVALID, RUN_RECORD_INVALID. */
export function decodeSavedReplay(bytes: Uint8Array, file: string): SavedReplay {
  const fail = (offset: number, reason: string, cause?: unknown): CliError =>
    new CliError("SAVED_REPLAY_INVALID", `${file}: byte ${offset}: ${reason}`, { cause });
  if (text(bytes.subarray(0, magic.length)) !== magic) throw fail(0, `does not begin with ${magic}: no saved replay`);
  if (bytes.length < prefixBytes) throw fail(bytes.length, "ends before its header");
  const found = bytes[magic.length];
  if (found !== version) throw fail(magic.length, `is of version ${found}; ${version} is read`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const packedBytes = view.getUint32(magic.length + 1, true);
  if (packedBytes > bytes.length - prefixBytes)
    throw fail(magic.length + 1, `has a header of ${packedBytes} bytes, which end beyond the file`);
  const header = readHeader(bytes.subarray(prefixBytes, prefixBytes + packedBytes), fail);
  let offset = prefixBytes + packedBytes;
  const replays = header.replays.map(({ recordBytes, ...rest }) => {
    if (recordBytes > bytes.length - offset)
      throw fail(offset, `a run record of ${recordBytes} bytes ends beyond the file`);
    const record = recordAt(bytes.subarray(offset, offset + recordBytes), offset, fail);
    offset += recordBytes;
    return { ...rest, record };
  });
  if (offset !== bytes.length) throw fail(offset, `${bytes.length - offset} bytes follow the last run record`);
  return { command: header.command, report: withoutEmptySlo(header.report), replays };
}

type Fail = (offset: number, reason: string, cause?: unknown) => CliError;

function readHeader(packed: Uint8Array, fail: Fail): SavedHeader {
  const size = Math.max(unlimitedBytes, packed.length);
  const maxOutputLength = Math.min(headerBytesMax, size * unpackedTimesMax);
  const valuesMax = Math.min(jsonValuesMax, size * valuesPerByteMax);
  let value: unknown;
  try {
    value = parseJsonBytes(inflateRawSync(packed, { maxOutputLength }), valuesMax);
  } catch (cause) {
    if (cause instanceof JsonBytesError)
      throw fail(prefixBytes, `the header cannot be read as JSON (${cause.message})`, cause);
    const isTooLarge = (cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    const limit = `${packed.length} bytes hold more than ${maxOutputLength}, which no replay leaves`;
    throw fail(prefixBytes, `the header cannot be unpacked (${isTooLarge ? limit : (cause as Error).message})`, cause);
  }
  const fault = headerFault(value);
  if (fault !== null) throw fail(prefixBytes, `the header ${fault}`);
  return value as SavedHeader;
}

function recordAt(bytes: Uint8Array, offset: number, fail: Fail): RunRecord {
  try {
    return decodeRunRecord(bytes);
  } catch (cause) {
    if (!(cause instanceof RunRecordInvalidError)) throw cause;
    throw fail(offset + cause.offset, `the run record there: ${cause.message}`, cause);
  }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

import { RunRecordInvalidError } from "../errors.ts";
import {
  type DroppedRows,
  type HbmSteps,
  OPERATOR_OUTCOMES,
  type OperatorColumns,
  REQUEST_OUTCOMES,
  type RecordedAccelerator,
  type RecordedDecisions,
  type RecordedNotice,
  type RequestColumns,
  type RunRecord,
  TRANSFER_OUTCOMES,
  type TransferColumns,
} from "../run-record.ts";
import { ByteReader } from "./byte-reader.ts";
import { crc32 } from "./crc32.ts";
import { decisionsOfJson } from "./decisions-json.ts";
import { CHECKSUM_BYTES, DROPPED, MAGIC, NOTICE_KINDS, VERSION } from "./form.ts";

/**
 * Reads what `encodeRunRecord` wrote. Whatever the bytes are, it ends in time linear in them and takes no memory out of proportion:
 * RUN_RECORD_INVALID with the offset, for what is foreign, of another version, damaged, cut off, or contradicts itself.
 */
export function decodeRunRecord(bytes: Uint8Array): RunRecord {
  const reader = new ByteReader(checkedBody(bytes));
  const label = reader.text();
  const [startNs = 0, endNs = 0] = reader.column(2);
  if (!Number.isFinite(startNs) || !Number.isFinite(endNs)) reader.fail("the span of the run is not two finite times");
  const priorities = reader.texts("priority classes");
  const tenants = reader.texts("tenants");
  const accelerators = readAccelerators(reader);
  const operatorNames = reader.texts("names of operators");
  const bounds = { accelerators: accelerators.length, tenants: tenants.length, names: operatorNames.length };
  const operators = readOperators(reader, bounds);
  const transfers = readTransfers(reader, bounds);
  const hbm = accelerators.map(() => readHbm(reader));
  const requests = readRequests(reader, bounds);
  const decisions = readDecisions(reader);
  const notices = readNotices(reader, bounds);
  const dropped = Object.fromEntries(DROPPED.map((name) => [name, reader.whole()])) as unknown as DroppedRows;
  if (reader.left > 0) reader.fail(`${reader.left} bytes follow the end of the record`);
  const known = { label, startNs, endNs, priorities, tenants, accelerators, operatorNames };
  return { ...known, operators, transfers, hbm, requests, decisions, notices, dropped };
}

interface Bounds {
  readonly accelerators: number;
  readonly tenants: number;
  readonly names: number;
}

/** What stands between the version and the checksum. */
function checkedBody(bytes: Uint8Array): Uint8Array {
  const headBytes = MAGIC.length + 1;
  if (MAGIC.some((byte, i) => bytes[i] !== byte)) throw new RunRecordInvalidError(0, "this is no file of a run record");
  const version = bytes[MAGIC.length];
  if (version !== VERSION) {
    const hint = (version ?? 0) > VERSION ? "; a newer release wrote it" : "";
    throw new RunRecordInvalidError(
      MAGIC.length,
      `the file is of version ${version}, this release reads ${VERSION}${hint}`,
    );
  }
  const end = bytes.length - CHECKSUM_BYTES;
  if (end < headBytes) throw new RunRecordInvalidError(bytes.length, "the file ends before its checksum");
  const told = new DataView(bytes.buffer, bytes.byteOffset + end, CHECKSUM_BYTES).getUint32(0, true);
  const found = crc32(bytes.subarray(0, end));
  if (told !== found) {
    const sums = `its checksum is ${found.toString(16)}, and ${told.toString(16)} was written`;
    throw new RunRecordInvalidError(end, `the file is damaged or cut off: ${sums}`);
  }
  return bytes.subarray(headBytes, end);
}

function readAccelerators(reader: ByteReader): RecordedAccelerator[] {
  return Array.from({ length: reader.count("accelerators") }, () => {
    const name = reader.text();
    const kind = reader.text();
    const [capacityBytes = 0, baselineBytes = 0] = wholes(reader, "bytes", 0, 2);
    return { name, kind, capacityBytes, baselineBytes };
  });
}

function readOperators(reader: ByteReader, { accelerators, tenants, names }: Bounds): OperatorColumns {
  const count = reader.count("operators");
  const issueNumber = wholes(reader, "number of an issue", 0, count);
  const accelerator = Uint16Array.from(indices(reader, "accelerator", 0, accelerators, count));
  const startNs = times(reader, count);
  return {
    count,
    issueNumber,
    accelerator,
    issuedNs: times(reader, count, startNs),
    startNs,
    endNs: times(reader, count, startNs),
    name: Uint32Array.from(indices(reader, "name", 0, names, count)),
    rank: Int16Array.from(indices(reader, "rank", -1, RANKS_MAX, count)),
    tenant: Int32Array.from(indices(reader, "tenant", -1, tenants, count)),
    request: wholes(reader, "number of a request", 0, count),
    instance: wholes(reader, "number of an instance", 0, count),
    round: wholes(reader, "round", -1, count),
    outcome: Uint8Array.from(indices(reader, "outcome", 0, OPERATOR_OUTCOMES.length, count)),
  };
}

function readTransfers(reader: ByteReader, { accelerators }: Bounds): TransferColumns {
  const count = reader.count("transfers");
  const transfer = wholes(reader, "number of a transfer", 0, count);
  const source = Uint16Array.from(indices(reader, "source", 0, accelerators, count));
  const destination = Uint16Array.from(indices(reader, "destination", 0, accelerators, count, source));
  const bytes = wholes(reader, "bytes", 0, count);
  const endNs = times(reader, count);
  const startNs = times(reader, count, endNs);
  const tensor = wholes(reader, "number of a tensor", 0, count);
  const outcome = Uint8Array.from(indices(reader, "outcome", 0, TRANSFER_OUTCOMES.length, count));
  return { count, transfer, source, destination, bytes, startNs, endNs, tensor, outcome };
}

function readHbm(reader: ByteReader): HbmSteps {
  const count = reader.count("steps");
  const [peakBytes = 0] = wholes(reader, "bytes", 0, 1);
  return { count, atNs: times(reader, count), usedBytes: wholes(reader, "bytes", 0, count), peakBytes };
}

function readRequests(reader: ByteReader, { tenants }: Bounds): RequestColumns {
  const count = reader.count("requests");
  const id = wholes(reader, "number of a request", 0, count);
  const labels = Array.from({ length: count }, () => reader.text());
  const rank = Int16Array.from(indices(reader, "rank", -1, RANKS_MAX, count));
  const tenant = Int32Array.from(indices(reader, "tenant", -1, tenants, count));
  const submittedNs = times(reader, count);
  const startedNs = times(reader, count, submittedNs);
  const firstDoneNs = times(reader, count, submittedNs);
  const firstTokenNs = times(reader, count, submittedNs);
  const lastTokenNs = times(reader, count, submittedNs);
  const endNs = times(reader, count, submittedNs);
  const tokens = wholes(reader, "tokens", 0, count);
  const instancesDone = Uint32Array.from(indices(reader, "instances", 0, 2 ** 32, count));
  const outcome = Uint8Array.from(indices(reader, "outcome", 0, REQUEST_OUTCOMES.length, count));
  const ended = { firstTokenNs, lastTokenNs, tokens, endNs, instancesDone, outcome };
  return { count, id, labels, rank, tenant, submittedNs, startedNs, firstDoneNs, ...ended };
}

function readDecisions(reader: ByteReader): RecordedDecisions {
  const [seen, stride, rejectingSeen, rejectingStride] = [0, 1, 2, 3].map(() => reader.whole()) as [
    number,
    number,
    number,
    number,
  ];
  const start = reader.offset;
  const kept = decisionsOfJson(reader.text(), (reason) => reader.fail(reason, start));
  return { seen, stride, rejectingSeen, rejectingStride, kept };
}

function readNotices(reader: ByteReader, { accelerators }: Bounds): RecordedNotice[] {
  return Array.from({ length: reader.count("notices") }, () => {
    const start = reader.offset;
    const kind = NOTICE_KINDS[reader.byte()];
    if (kind === undefined) reader.fail("a notice is of no known kind", start);
    const [atNs = 0, accelerator = -1, instance = -1] = reader.column(3);
    const isKnown = Number.isInteger(accelerator) && accelerator >= -1 && accelerator < accelerators;
    if (!isKnown || !Number.isFinite(atNs) || !(Number.isInteger(instance) && instance >= -1))
      reader.fail("a notice names a time, an accelerator or an instance that cannot be", start);
    return { kind, atNs, accelerator, instance, text: reader.text() };
  });
}

const RANKS_MAX = 2 ** 15;

/** Finite, or NaN where a thing has not happened. */
function times(reader: ByteReader, rows: number, base: ArrayLike<number> | null = null): Float64Array {
  const start = reader.offset;
  const values = reader.column(rows, base);
  if (values.some((value) => value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY))
    reader.fail("a time is infinite", start);
  return values;
}

function wholes(reader: ByteReader, what: string, min: number, rows: number): Float64Array {
  const start = reader.offset;
  const values = reader.column(rows);
  const wrong = values.find((value) => !(Number.isSafeInteger(value) && value >= min));
  if (wrong !== undefined) reader.fail(`a ${what} is ${wrong}; it is to be a whole number from ${min}`, start);
  return values;
}

function indices(
  reader: ByteReader,
  what: string,
  min: number,
  end: number,
  rows: number,
  base: ArrayLike<number> | null = null,
): Float64Array {
  const start = reader.offset;
  const values = reader.column(rows, base);
  const wrong = values.find((value) => !(Number.isInteger(value) && value >= min && value < end));
  if (wrong !== undefined) reader.fail(`${what} ${wrong} is not one from ${min} to ${end - 1}`, start);
  return values;
}

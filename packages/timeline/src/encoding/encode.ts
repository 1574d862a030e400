import type { OperatorColumns, RequestColumns, RunRecord, TransferColumns } from "../run-record.ts";
import { ByteWriter } from "./byte-writer.ts";
import { crc32 } from "./crc32.ts";
import { DROPPED, MAGIC, NOTICE_KINDS, VERSION } from "./form.ts";

/** The record as a file: columns as differences of a few bits, with a version and a checksum. Linear in the record. */
export function encodeRunRecord(record: RunRecord): Uint8Array {
  const writer = new ByteWriter();
  for (const byte of MAGIC) writer.byte(byte);
  writer.byte(VERSION);
  writer.text(record.label);
  writer.column([record.startNs, record.endNs]);
  writer.texts(record.priorities);
  writer.texts(record.tenants);
  writeAccelerators(writer, record);
  writer.texts(record.operatorNames);
  writeOperators(writer, record.operators);
  writeTransfers(writer, record.transfers);
  for (const { count, atNs, usedBytes, peakBytes } of record.hbm) {
    writer.whole(count);
    writer.column([peakBytes]);
    writer.column(atNs);
    writer.column(usedBytes);
  }
  writeRequests(writer, record.requests);
  const { seen, stride, rejectingSeen, rejectingStride, kept } = record.decisions;
  for (const value of [seen, stride, rejectingSeen, rejectingStride]) writer.whole(value);
  writer.text(JSON.stringify(kept));
  writer.whole(record.notices.length);
  for (const { kind, atNs, accelerator, instance, text } of record.notices) {
    writer.byte(NOTICE_KINDS.indexOf(kind));
    writer.column([atNs, accelerator, instance]);
    writer.text(text);
  }
  for (const name of DROPPED) writer.whole(record.dropped[name]);
  const bytes = writer.take();
  const checksum = crc32(bytes);
  writer.uint32(checksum);
  return writer.take();
}

function writeAccelerators(writer: ByteWriter, { accelerators }: RunRecord): void {
  writer.whole(accelerators.length);
  for (const { name, kind, capacityBytes, baselineBytes } of accelerators) {
    writer.text(name);
    writer.text(kind);
    writer.column([capacityBytes, baselineBytes]);
  }
}

function writeOperators(writer: ByteWriter, operators: OperatorColumns): void {
  writer.whole(operators.count);
  writer.column(operators.issueNumber);
  writer.column(operators.accelerator);
  writer.column(operators.startNs);
  writer.column(operators.issuedNs, operators.startNs);
  writer.column(operators.endNs, operators.startNs);
  writer.column(operators.name);
  writer.column(operators.rank);
  writer.column(operators.tenant);
  writer.column(operators.request);
  writer.column(operators.instance);
  writer.column(operators.round);
  writer.column(operators.outcome);
}

function writeTransfers(writer: ByteWriter, transfers: TransferColumns): void {
  writer.whole(transfers.count);
  writer.column(transfers.transfer);
  writer.column(transfers.source);
  writer.column(transfers.destination, transfers.source);
  writer.column(transfers.bytes);
  writer.column(transfers.endNs);
  writer.column(transfers.startNs, transfers.endNs);
  writer.column(transfers.tensor);
  writer.column(transfers.outcome);
}

function writeRequests(writer: ByteWriter, requests: RequestColumns): void {
  writer.whole(requests.count);
  writer.column(requests.id);
  for (const label of requests.labels) writer.text(label);
  writer.column(requests.rank);
  writer.column(requests.tenant);
  writer.column(requests.submittedNs);
  for (const column of [
    requests.startedNs,
    requests.firstDoneNs,
    requests.firstTokenNs,
    requests.lastTokenNs,
    requests.endNs,
  ])
    writer.column(column, requests.submittedNs);
  writer.column(requests.tokens);
  writer.column(requests.instancesDone);
  writer.column(requests.outcome);
}

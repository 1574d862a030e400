/** The bytes of a trace file as a stream, unpacked when they are gzip. */
import { createReadStream } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { TraceError } from "../errors.ts";
import { sizeOfFile, unreadable } from "./file.ts";

export interface ByteProgress {
  /** Read so far, of the file as it lies there. */
  readonly bytes: number;
  readonly bytesTotal: number;
}

const chunkBytes = 256 * 1024;
const gzipMagic = [0x1f, 0x8b] as const;

/**
 * The content of a file, unpacked when it begins like gzip, whatever its name. Memory does not depend on its size, nor on what it
 * unpacks to. Errors: TRACE_NOT_FOUND, TRACE_IS_DIRECTORY, TRACE_UNREADABLE.
 */
export async function* traceBytes(
  file: string,
  onProgress?: (progress: ByteProgress) => void,
): AsyncGenerator<Uint8Array> {
  const bytesTotal = sizeOfFile(file);
  const raw = peeked(fileBytes(file, bytesTotal, onProgress));
  const { head, all } = await raw;
  if (head[0] !== gzipMagic[0] || head[1] !== gzipMagic[1]) {
    yield* all;
    return;
  }
  const gunzip = createGunzip({ chunkSize: chunkBytes });
  // What fails ends the reading of `gunzip` below.
  pipeline(Readable.from(all, { objectMode: false }), gunzip, () => {});
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } catch (cause) {
    if (cause instanceof TraceError) throw cause;
    const reason = `is gzip that cannot be unpacked (${(cause as Error).message})`;
    throw new TraceError("TRACE_UNREADABLE", file, null, reason, { cause });
  }
}

async function* fileBytes(
  file: string,
  bytesTotal: number,
  onProgress: ((progress: ByteProgress) => void) | undefined,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: chunkBytes })) {
      bytes += (chunk as Uint8Array).byteLength;
      onProgress?.({ bytes, bytesTotal });
      yield chunk as Uint8Array;
    }
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    throw unreadable(file, cause);
  }
}

/** The beginning of a stream, and the whole stream with it. */
export async function peeked(
  stream: AsyncGenerator<Uint8Array>,
  isEnough: (head: Uint8Array) => boolean = (head) => head.byteLength >= gzipMagic.length,
): Promise<{ head: Uint8Array; all: AsyncGenerator<Uint8Array> }> {
  let head: Uint8Array = new Uint8Array(0);
  while (!isEnough(head)) {
    const { done, value } = await stream.next();
    if (done === true) break;
    head = head.byteLength === 0 ? value : Buffer.concat([head, value]);
  }
  return { head, all: prepended(head, stream) };
}

async function* prepended(head: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (head.byteLength > 0) yield head;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

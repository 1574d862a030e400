import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DTYPES, type Dtype } from "@slicescheduler/templates";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeNative } from "../native/describe-native.fixture.ts";
import { LibtorchError } from "../programs/errors.ts";
import { tensorBytes } from "../programs/host-tensor.ts";
import { runTrial } from "../programs/run-program.fixture.ts";

const NAMES: Readonly<Partial<Record<Dtype, string>>> = {
  float64: "F64",
  float32: "F32",
  float16: "F16",
  bfloat16: "BF16",
  int64: "I64",
  int32: "I32",
  int16: "I16",
  int8: "I8",
  uint8: "U8",
  bool: "BOOL",
};

interface Stored {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

/** A file as the format describes it: the length of the header, the header, the data one after the other. */
function fileOf(tensors: readonly Stored[]): Uint8Array {
  let offset = 0;
  const entries = tensors.map(({ dtype, shape, data }, index) => {
    const begin = offset;
    offset += data.length;
    return [`tensor.${index}`, { dtype: NAMES[dtype], shape, data_offsets: [begin, offset] }];
  });
  const header = new TextEncoder().encode(
    JSON.stringify({ __metadata__: { format: "pt" }, ...Object.fromEntries(entries) }),
  );
  const length = new Uint8Array(BigUint64Array.of(BigInt(header.length)).buffer);
  return new Uint8Array(Buffer.concat([length, header, ...tensors.map(({ data }) => data)]));
}

const stored = fc
  .record({
    dtype: fc.constantFrom(...DTYPES.filter((dtype) => NAMES[dtype] !== undefined)),
    shape: fc.array(fc.nat(4), { maxLength: 3 }),
    seed: fc.nat(255),
  })
  .map(({ dtype, shape, seed }): Stored => {
    const data = Uint8Array.from(
      { length: tensorBytes(dtype, shape) },
      (_, at) => (at * 37 + seed) % (dtype === "bool" ? 2 : 256),
    );
    return { dtype, shape, data };
  });
const files = fc.array(stored, { minLength: 1, maxLength: 4 });

let folder = "";
let path = "";

/** What a program sees of the first tensor of the file. */
function read(bytes: Uint8Array, { dtype, shape }: Stored): Uint8Array {
  writeFileSync(path, bytes);
  const { outputs } = runTrial({
    program: { calls: [], outputs: [{ weight: "w" }] },
    outputs: { w: { shape, dtype } },
    weights: [{ safetensors: path, tensors: { w: "tensor.0" } }],
  });
  const data = outputs[0]?.data ?? new Uint8Array();
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

describeNative("safetensors files", () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "slice-safetensors-"));
    path = join(folder, "file.safetensors");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("give every tensor as it was stored", () => {
    fc.assert(
      fc.property(files, (tensors) => {
        const [first] = tensors;
        if (first !== undefined) expect(read(fileOf(tensors), first)).toEqual(first.data);
      }),
      { numRuns: 60 },
    );
  });

  test("changed anywhere are refused with a typed error, or give data of the file: never anything else", () => {
    const change = fc.record({
      at: fc.nat(),
      kind: fc.constantFrom("byte", "digit", "cut", "insert"),
      byte: fc.nat(255),
    });
    let refused = 0;
    let given = 0;
    fc.assert(
      fc.property(files, fc.array(change, { minLength: 1, maxLength: 3 }), (tensors, changes) => {
        const [first] = tensors;
        if (first === undefined) return;
        let bytes = Buffer.from(fileOf(tensors));
        for (const { at, kind, byte } of changes) {
          const place = at % bytes.length;
          if (kind === "byte") bytes[place] = byte;
          else if (kind === "digit") bytes[place] = 48 + (byte % 10);
          else if (kind === "cut") bytes = Buffer.from(bytes.subarray(0, Math.max(place, 1)));
          else bytes = Buffer.concat([bytes.subarray(0, place), Buffer.of(byte), bytes.subarray(place)]);
        }
        try {
          const data = read(bytes, first);
          given++;
          expect(data.length).toBe(tensorBytes(first.dtype, first.shape));
          if (data.length > 0) expect(bytes.includes(Buffer.from(data))).toBe(true);
        } catch (error) {
          if (!(error instanceof LibtorchError)) throw error;
          refused++;
          expect(["FILE_INVALID", "WEIGHTS_INVALID", "DTYPE_UNSUPPORTED", "OUTPUT_MISMATCH"]).toContain(error.code);
        }
      }),
      { numRuns: 400 },
    );
    expect(Math.min(refused, given)).toBeGreaterThan(0);
  });
});

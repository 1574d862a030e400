import { DTYPES, type Dtype, dtypeBytes } from "@slicescheduler/templates";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromNative, type HostTensor, tensorBytes, toNative } from "./host-tensor.ts";

const shapes = fc.array(fc.nat(4), { maxLength: 3 });
const tensors = fc
  .tuple(fc.constantFrom(...DTYPES), shapes, fc.infiniteStream(fc.nat(255)))
  .map(([dtype, shape, bytes]): HostTensor => {
    const count = tensorBytes(dtype, shape);
    const data = Uint8Array.from({ length: count }, () => bytes.next().value ?? 0);
    return fromNative({ dtype, shape, data: (dtype === "bool" ? data.map((byte) => byte % 2) : data).buffer });
  });

describe("host data", () => {
  test("what goes in comes out, to the bit", () => {
    fc.assert(
      fc.property(tensors, (tensor) => {
        const native = toNative(tensor, "it");
        expect(native.data.byteLength).toBe(tensorBytes(tensor.dtype, tensor.shape));
        const { buffer, byteOffset, byteLength } = native.data;
        const bytes = new Uint8Array(buffer, byteOffset, byteLength);
        expect(fromNative({ dtype: native.dtype, shape: native.shape, data: bytes.slice().buffer })).toEqual(tensor);
      }),
    );
  });

  test("an array of another type or length than shape and type ask for is refused, naming both", () => {
    fc.assert(
      fc.property(tensors, fc.constantFrom<Dtype>(...DTYPES), fc.nat(3), (tensor, dtype, more) => {
        const wanted = fromNative({ dtype, shape: [0], data: new ArrayBuffer(0) }).data.constructor;
        const isSame = wanted === tensor.data.constructor || (dtype === "int64" && tensor.data instanceof Int32Array);
        const shape = [...tensor.shape, 1 + more];
        const fits = isSame && tensorBytes(tensor.dtype, shape) === tensor.data.byteLength;
        const given: HostTensor = {
          dtype,
          shape,
          data: dtype === "bool" && isSame ? new Uint8Array(tensor.data.length) : tensor.data,
        };
        if (fits) expect(toNative(given, "it").dtype).toBe(dtype);
        else expect(() => toNative(given, "it")).toThrow(expect.objectContaining({ code: "FEED_MISMATCH" }));
      }),
    );
  });

  test("32-bit integers will do for 64-bit ones", () => {
    const { data } = toNative({ dtype: "int64", shape: [3], data: Int32Array.of(1, -2, 2 ** 31 - 1) }, "it");
    expect(data).toEqual(BigInt64Array.of(1n, -2n, 2147483647n));
  });

  test.each<[string, HostTensor, RegExp]>([
    ["bools other than 0 and 1", { dtype: "bool", shape: [2], data: Uint8Array.of(1, 2) }, /0 and 1/],
    ["a negative size", { dtype: "int8", shape: [-1], data: new Int8Array(0) }, /size -1/],
    ["no sizes", { dtype: "int8", data: new Int8Array(1) } as unknown as HostTensor, /not \{ dtype, shape, data \}/],
    [
      "data in shared memory",
      { dtype: "int8", shape: [1], data: new Int8Array(new SharedArrayBuffer(1)) },
      /shared memory.*data\.slice/,
    ],
    ["an unknown type", { dtype: "float128" as Dtype, shape: [0], data: new Int8Array(0) }, /"float128"/],
  ])("%s are refused", (_, tensor, message) => {
    expect(() => toNative(tensor, "it")).toThrow(message);
  });

  test("a type that gmg does not have does not come out", () => {
    expect(() => fromNative({ dtype: "ComplexFloat", shape: [1], data: new ArrayBuffer(8) })).toThrow(/ComplexFloat/);
    expect(tensorBytes("float64", [2, 3])).toBe(6 * dtypeBytes("float64"));
  });
});

import { MemoryExceededError, ResidencyLedger } from "@slicescheduler/memory";
import { compileCluster } from "@slicescheduler/templates";
import { describe, expect, test } from "vitest";

function ledgerOf(freed: string[] = []) {
  return new ResidencyLedger(
    [
      { name: "gpu0", capacityBytes: 1000, baselineBytes: 95, granularityBytes: 10 },
      { capacityBytes: 500, baselineBytes: 0, granularityBytes: 1 },
    ],
    { onFreed: (tensor, accelerator) => freed.push(`${tensor}@${accelerator}`) },
  );
}

/** A present copy, held. */
function put(ledger: ResidencyLedger, tensor: number, bytes: number, aliases = -1): void {
  ledger.expect(tensor, 0);
  ledger.allocate(tensor, 0, bytes, aliases);
  ledger.markPresent(tensor, 0);
}

describe("the life of a copy", () => {
  test("expected, allocated, present, and freed when the last reason is gone", () => {
    const freed: string[] = [];
    const ledger = ledgerOf(freed);
    ledger.expect(7, 0);
    ledger.addUse(7, 0);
    ledger.addSend(7, 0);
    expect(ledger.usedBytes(0)).toBe(100);
    expect(ledger.reasons(7, 0)).toEqual({ uses: 1, sends: 1, held: true, producing: true });
    expect([ledger.has(7, 0), ledger.isPresent(7, 0), ledger.isHeld(7, 0), ledger.has(7, 1)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(ledger.allocate(7, 0, 101)).toBe(110);
    expect([ledger.usedBytes(0), ledger.bytesOf(7, 0)]).toEqual([210, 101]);
    ledger.markPresent(7, 0);
    ledger.release(7, 0);
    ledger.endUse(7, 0);
    expect(freed).toEqual([]);
    expect(ledger.reasons(7, 0)).toEqual({ uses: 0, sends: 1, held: false, producing: false });
    ledger.endSend(7, 0);
    expect(freed).toEqual(["7@0"]);
    expect([ledger.usedBytes(0), ledger.peakBytes(0), ledger.has(7, 0)]).toEqual([100, 210, false]);
    ledger.expect(7, 0);
    ledger.validate();
  });

  test("present with nothing left to need it is freed at that instant", () => {
    const freed: string[] = [];
    const ledger = ledgerOf(freed);
    ledger.expect(1, 0);
    ledger.release(1, 0);
    ledger.release(1, 0);
    ledger.allocate(1, 0, 50);
    expect(freed).toEqual([]);
    ledger.markPresent(1, 0);
    expect(freed).toEqual(["1@0"]);
    expect(ledger.usedBytes(0)).toBe(100);
  });

  test("a copy of no bytes lives like any other", () => {
    const freed: string[] = [];
    const ledger = ledgerOf(freed);
    put(ledger, 1, 0);
    expect(ledger.copies(0)).toEqual([
      {
        tensor: 1,
        bytes: 0,
        allocated: true,
        bufferBytes: 0,
        sharedWith: [1],
        uses: 0,
        sends: 0,
        held: true,
        producing: false,
      },
    ]);
    ledger.release(1, 0);
    expect(freed).toEqual(["1@0"]);
  });

  test("abandon forgets a copy with whatever pends on it, but not one that is read", () => {
    const freed: string[] = [];
    const ledger = ledgerOf(freed);
    ledger.expect(1, 0);
    ledger.addUse(1, 0);
    ledger.abandon(1, 0);
    ledger.expect(2, 0);
    ledger.allocate(2, 0, 300);
    ledger.addSend(2, 0);
    ledger.abandon(2, 0);
    expect([freed, ledger.usedBytes(0)]).toEqual([["1@0", "2@0"], 100]);
    put(ledger, 3, 10);
    ledger.addUse(3, 0);
    expect(() => ledger.abandon(3, 0)).toThrow(expect.objectContaining({ code: "COPY_IN_USE" }));
    ledger.endUse(3, 0);
    ledger.abandon(3, 0);
    expect(ledger.has(3, 0)).toBe(false);
  });

  test("a released copy that is still there is held again; one that has gone is not", () => {
    const freed: string[] = [];
    const ledger = ledgerOf(freed);
    ledger.expect(1, 0);
    ledger.release(1, 0);
    ledger.hold(1, 0);
    ledger.allocate(1, 0, 10);
    ledger.markPresent(1, 0);
    ledger.addUse(1, 0);
    ledger.release(1, 0);
    ledger.hold(1, 0);
    ledger.hold(1, 0);
    ledger.endUse(1, 0);
    expect([freed, ledger.isHeld(1, 0)]).toEqual([[], true]);
    ledger.release(1, 0);
    expect(freed).toEqual(["1@0"]);
    expect(() => ledger.hold(1, 0)).toThrow(expect.objectContaining({ code: "UNKNOWN_COPY", tensor: 1 }));
    expect(() => ledger.hold(1, 2)).toThrow(expect.objectContaining({ code: "UNKNOWN_ACCELERATOR" }));
    expect(ledger.has(1, 0)).toBe(false);
  });

  test("an accelerator that loses everything keeps its baseline and its peak alone, and others keep all", () => {
    const freed: string[] = [];
    const ledger = ledgerOf(freed);
    ledger.loadWeights(0, "w", 201);
    ledger.loadWeights(1, "w", 5);
    put(ledger, 1, 100);
    put(ledger, 2, 150, 1);
    ledger.addUse(1, 0);
    ledger.addSend(2, 0);
    ledger.expect(3, 0);
    ledger.expect(1, 1);
    ledger.beginWorkspace(0, 7);
    ledger.loseEverything(0);
    ledger.validate();
    expect(freed).toEqual(["1@0", "2@0", "3@0"]);
    expect([ledger.usedBytes(0), ledger.fixedBytes(0), ledger.workspaceBytes(0), ledger.peakBytes(0)]).toEqual([
      100, 100, 0, 470,
    ]);
    expect([ledger.copies(0), ledger.hasWeights(0, "w")]).toEqual([[], false]);
    expect([ledger.has(1, 1), ledger.hasWeights(1, "w"), ledger.usedBytes(1)]).toEqual([true, true, 5]);
    expect(ResidencyLedger.load(ledger.save()).save()).toEqual(ledger.save());
    // It takes the same again, of another size too.
    ledger.loadWeights(0, "w", 900);
    ledger.loseEverything(0);
    put(ledger, 1, 900);
    expect(ledger.usedBytes(0)).toBe(1000);
    expect(() => ledger.loseEverything(2)).toThrow(expect.objectContaining({ code: "UNKNOWN_ACCELERATOR" }));
  });

  test("the callback sees finished numbers, may use the ledger, and may throw", () => {
    const seen: number[] = [];
    const ledger: ResidencyLedger = new ResidencyLedger(
      [{ capacityBytes: 100, baselineBytes: 0, granularityBytes: 1 }],
      {
        onFreed: (tensor) => {
          ledger.validate();
          seen.push(ledger.usedBytes(0));
          if (ledger.has(tensor + 1, 0)) ledger.release(tensor + 1, 0);
          else throw new Error("listener");
        },
      },
    );
    put(ledger, 1, 30);
    put(ledger, 2, 20);
    expect(() => ledger.release(1, 0)).toThrow("listener");
    expect(seen).toEqual([20, 0]);
    ledger.validate();
  });
});

describe("aliases", () => {
  test("share a buffer that grows by the delta and is freed with the last copy in it", () => {
    const freed: string[] = [];
    const ledger = ledgerOf(freed);
    put(ledger, 1, 100);
    ledger.expect(2, 0);
    expect(ledger.allocate(2, 0, 125, 1)).toBe(30);
    ledger.markPresent(2, 0);
    expect(ledger.usedBytes(0)).toBe(230);
    ledger.release(1, 0);
    expect([freed, ledger.usedBytes(0)]).toEqual([["1@0"], 230]);
    put(ledger, 3, 60, 2);
    expect([ledger.usedBytes(0), ledger.bytesOf(3, 0)]).toEqual([230, 60]);
    expect(
      ledger.copies(0).map(({ tensor, bufferBytes, sharedWith }) => ({ tensor, bufferBytes, sharedWith })),
    ).toEqual([
      { tensor: 2, bufferBytes: 130, sharedWith: [2, 3] },
      { tensor: 3, bufferBytes: 130, sharedWith: [2, 3] },
    ]);
    ledger.release(2, 0);
    ledger.validate();
    ledger.release(3, 0);
    expect([freed, ledger.usedBytes(0)]).toEqual([["1@0", "2@0", "3@0"], 100]);
  });

  test("growth that does not fit changes nothing", () => {
    const ledger = ledgerOf();
    put(ledger, 1, 500);
    ledger.expect(2, 0);
    const before = ledger.save();
    expect(() => ledger.allocate(2, 0, 901, 1)).toThrow(
      expect.objectContaining({ code: "MEMORY_EXCEEDED", requestedBytes: 410, overBytes: 10 }),
    );
    expect(ledger.save()).toEqual(before);
    expect(ledger.allocate(2, 0, 900, 1)).toBe(400);
  });
});

describe("weights, workspace and capacity", () => {
  test("weights are there once, rounded, for good", () => {
    const ledger = ledgerOf();
    ledger.loadWeights(0, "w", 201);
    ledger.loadWeights(0, "w", 201);
    ledger.loadWeights(0, "__proto__", 5);
    expect([ledger.fixedBytes(0), ledger.usedBytes(0), ledger.hasWeights(0, "w"), ledger.hasWeights(1, "w")]).toEqual([
      320,
      320,
      true,
      false,
    ]);
    expect(() => ledger.loadWeights(0, "w", 202)).toThrow(
      expect.objectContaining({
        code: "WEIGHTS_MISMATCH",
        details: { accelerator: 0, weights: "w", loadedBytes: 201, bytes: 202 },
      }),
    );
    expect(() => ledger.loadWeights(0, "v", 681)).toThrow(expect.objectContaining({ code: "MEMORY_EXCEEDED" }));
    ledger.loadWeights(0, "v", 680);
    ledger.validate();
  });

  test("workspace counts while it is in use and in the peak", () => {
    const ledger = ledgerOf();
    ledger.beginWorkspace(0, 33);
    expect([ledger.usedBytes(0), ledger.workspaceBytes(0)]).toEqual([140, 40]);
    expect(() => ledger.endWorkspace(0, 41)).toThrow(expect.objectContaining({ code: "WORKSPACE_MISMATCH" }));
    ledger.endWorkspace(0, 33);
    expect([ledger.usedBytes(0), ledger.peakBytes(0), ledger.workspaceBytes(0)]).toEqual([100, 140, 0]);
  });

  test("the last byte fits, the next does not, and the error has the numbers", () => {
    const ledger = ledgerOf();
    ledger.expect(1, 1);
    expect([ledger.fits(1, 500), ledger.fits(1, 501)]).toEqual([true, false]);
    try {
      ledger.allocate(1, 1, 501);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(MemoryExceededError);
      expect(error).toMatchObject({
        code: "MEMORY_EXCEEDED",
        accelerator: 1,
        tensor: 1,
        requestedBytes: 501,
        usedBytes: 0,
        capacityBytes: 500,
        overBytes: 1,
        message:
          "accelerator 1: tensor 1 needs 501 bytes more, 0 of 500 bytes are in use: 1 bytes over; free memory first",
      });
    }
    ledger.allocate(1, 1, 500);
    expect(() => ledger.beginWorkspace(1, 1)).toThrow("accelerator 1: workspace needs 1 bytes more, 500 of 500");
    expect(() => ledger.allocate(1, 1, 1)).toThrow(expect.objectContaining({ code: "ALREADY_ALLOCATED" }));
  });

  test("the accelerators of a cluster serve as they are", () => {
    const cluster = compileCluster({ accelerators: [{ name: "gpu0", kind: "H200", hbmBytes: 100, marginBytes: 10 }] });
    const ledger = new ResidencyLedger(cluster.accelerators);
    expect(() => ledger.beginWorkspace(0, 91)).toThrow("gpu0: workspace needs 91 bytes more, 0 of 90");
  });
});

describe("illegal use is refused and changes nothing", () => {
  const cases: readonly [string, (ledger: ResidencyLedger) => void][] = [
    ["UNKNOWN_ACCELERATOR", (ledger) => ledger.expect(9, 2)],
    ["UNKNOWN_ACCELERATOR", (ledger) => ledger.usedBytes(-1)],
    ["INVALID_TENSOR", (ledger) => ledger.expect(-1, 0)],
    ["INVALID_TENSOR", (ledger) => ledger.expect(1.5, 0)],
    ["COPY_EXISTS", (ledger) => ledger.expect(1, 0)],
    ["UNKNOWN_COPY", (ledger) => ledger.allocate(9, 0, 1)],
    ["UNKNOWN_COPY", (ledger) => ledger.allocate(2, 0, 1, 9)],
    ["UNKNOWN_COPY", (ledger) => ledger.addUse(1, 1)],
    ["UNKNOWN_COPY", (ledger) => ledger.release(9, 0)],
    ["UNKNOWN_COPY", (ledger) => ledger.abandon(9, 0)],
    ["UNKNOWN_COPY", (ledger) => ledger.bytesOf(9, 0)],
    ["UNKNOWN_COPY", (ledger) => ledger.reasons(9, 0)],
    ["ALREADY_ALLOCATED", (ledger) => ledger.allocate(1, 0, 1)],
    ["NOT_ALLOCATED", (ledger) => ledger.allocate(3, 0, 1, 2)],
    ["NOT_ALLOCATED", (ledger) => ledger.markPresent(2, 0)],
    ["ALREADY_PRESENT", (ledger) => ledger.markPresent(1, 0)],
    ["COUNT_BELOW_ZERO", (ledger) => ledger.endUse(1, 0)],
    ["COUNT_BELOW_ZERO", (ledger) => ledger.endSend(1, 0)],
    ["INVALID_BYTES", (ledger) => ledger.allocate(2, 0, -1)],
    ["INVALID_BYTES", (ledger) => ledger.allocate(2, 0, 0.5)],
    ["INVALID_BYTES", (ledger) => ledger.beginWorkspace(0, Number.NaN)],
    ["BYTES_OVERFLOW", (ledger) => ledger.beginWorkspace(0, Number.MAX_SAFE_INTEGER)],
    ["WORKSPACE_MISMATCH", (ledger) => ledger.endWorkspace(0, 1)],
    ["INVALID_BYTES", (ledger) => ledger.loadWeights(0, "w", -1)],
  ];
  test.each(cases)("%s: %s", (code, illegal) => {
    const ledger = ledgerOf();
    put(ledger, 1, 50);
    ledger.expect(2, 0);
    ledger.expect(3, 0);
    const before = ledger.save();
    expect(() => illegal(ledger)).toThrow(expect.objectContaining({ code }));
    expect(ledger.save()).toEqual(before);
    ledger.validate();
  });

  test("accelerators that make no sense are a TypeError", () => {
    const make = (capacityBytes: number, baselineBytes: number, granularityBytes: number) => () =>
      new ResidencyLedger([{ capacityBytes, baselineBytes, granularityBytes }]);
    expect(make(100, 101, 1)).toThrow(TypeError);
    expect(make(Number.NaN, 0, 1)).toThrow(TypeError);
    expect(make(100, 0, 0)).toThrow(TypeError);
    expect(make(100, 95, 10)).not.toThrow();
  });
});

describe("saved and loaded", () => {
  function busy(): ResidencyLedger {
    const ledger = ledgerOf();
    ledger.loadWeights(0, "w", 11);
    put(ledger, 1, 101);
    put(ledger, 2, 150, 1);
    ledger.release(1, 0);
    ledger.expect(3, 1);
    ledger.addUse(3, 1);
    ledger.beginWorkspace(0, 5);
    return ledger;
  }

  test("JSON and structured clone carry it unchanged, and it goes on as before", () => {
    const freed: number[] = [];
    const state = busy().save();
    expect(structuredClone(state)).toEqual(state);
    const loaded = ResidencyLedger.load(JSON.parse(JSON.stringify(state)), { onFreed: (tensor) => freed.push(tensor) });
    expect(loaded.save()).toEqual(state);
    loaded.validate();
    loaded.endWorkspace(0, 5);
    loaded.release(2, 0);
    expect([freed, loaded.usedBytes(0), loaded.peakBytes(0), loaded.fixedBytes(0)]).toEqual([[2], 120, 280, 120]);
    expect(loaded.reasons(3, 1)).toEqual({ uses: 1, sends: 0, held: true, producing: true });
  });

  const state = busy().save();
  const [first, second] = state.accelerators;
  const changed = (more: object) => ({ ...state, accelerators: [{ ...first, ...more }, second] });
  const copy = { tensor: 2, bytes: 150, present: true, uses: 0, sends: 0, held: true };
  test.each([
    ["format", {}],
    ["format", { format: "other", version: 1 }],
    ["version", { ...state, version: 2 }],
    ["state", null],
    ["accelerators", { ...state, accelerators: 3 }],
    ["accelerators[0].granularityBytes", changed({ granularityBytes: 0 })],
    ["accelerators[0]", changed({ capacityBytes: 200 })],
    ["accelerators[0]", changed({ capacityBytes: 1 })],
    ["accelerators[0]", changed({ peakBytes: 100 })],
    [
      "accelerators[0].weights[1].name",
      changed({
        weights: [
          { name: "w", bytes: 1 },
          { name: "w", bytes: 1 },
        ],
      }),
    ],
    ["accelerators[0].copies[1].tensor", changed({ copies: [copy, copy] })],
    ["accelerators[0].copies[0].present", changed({ copies: [{ ...copy, present: 1 }] })],
    ["accelerators[0]", changed({ copies: [{ ...copy, held: false }] })],
    ["accelerators[0]", changed({ buffers: [] })],
    ["accelerators[0].buffers[0].tensors[0]", changed({ buffers: [{ bytes: 150, tensors: [77] }] })],
    [
      "accelerators[0].buffers[1].tensors[0]",
      changed({
        buffers: [
          { bytes: 150, tensors: [2] },
          { bytes: 150, tensors: [2] },
        ],
      }),
    ],
    [
      "accelerators[0].buffers[1].tensors",
      changed({
        buffers: [
          { bytes: 150, tensors: [2] },
          { bytes: 10, tensors: [] },
        ],
      }),
    ],
    ["accelerators[0]", changed({ buffers: [{ bytes: 140, tensors: [2] }] })],
    ["accelerators[0]", changed({ buffers: [{ bytes: 155, tensors: [2] }] })],
  ])("a fault at %s is refused", (path, value) => {
    expect(() => ResidencyLedger.load(value)).toThrow(
      expect.objectContaining({
        code: "LEDGER_STATE_INVALID",
        faults: expect.arrayContaining([expect.objectContaining({ path })]),
      }),
    );
  });
});

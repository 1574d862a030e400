import { describe, expect, test } from "vitest";
import { ProgramBuilder } from "./program-builder.ts";
import { Size } from "./size.ts";

const float = "float32" as const;

describe("a program's account of its memory", () => {
  test("a result counts from its call to its last use, views and writes into it included; outputs do not count", () => {
    const builder = new ProgramBuilder();
    const x = builder.input(0, ["n"], float);
    const doubled = builder.fresh("aten::add.Tensor", [x, x], { shape: ["n"], dtype: float }); // 4n
    const wide = builder.fresh("aten::zeros", [[Size.of("n"), 10]], { shape: ["n", 10], dtype: float }); // 40n beside it
    const row = builder.view("aten::select.int", wide, [1, 0], ["n"]);
    builder.inPlace("aten::add_.Tensor", row, [doubled]); // both for the last time
    const out = builder.fresh("aten::neg", [x], { shape: ["n"], dtype: float }); // an output
    const { program, workspaceBytes } = builder.finish([out]);
    expect(workspaceBytes).toBe("128 + 44 * n");
    expect(program).toEqual({
      calls: [
        { op: "aten::add.Tensor", args: [{ input: 0 }, { input: 0 }], results: ["t0"] },
        { op: "aten::zeros", args: [[{ symbol: "n" }, 10]], results: ["t1"] },
        { op: "aten::select.int", args: [{ value: "t1" }, 1, 0], results: ["t2"] },
        { op: "aten::add_.Tensor", args: [{ value: "t2" }, { value: "t0" }], results: [null] },
        { op: "aten::neg", args: [{ input: 0 }], results: ["t3"] },
      ],
      outputs: [{ value: "t3" }],
    });
  });

  test("of moments that no one exceeds for all symbols, the workspace is the largest", () => {
    const builder = new ProgramBuilder();
    const tokens = Size.of("tokens");
    const squares = builder.fresh("aten::ones", [[tokens, tokens]], { shape: [tokens, tokens], dtype: float });
    builder.inPlace("aten::log_", squares, []);
    const line = builder.fresh("aten::ones", [[tokens.times(100)]], { shape: [tokens.times(100)], dtype: float });
    builder.fetch("line", line);
    const { workspaceBytes, program } = builder.finish([]);
    expect(workspaceBytes).toBe("max(128 + 4 * tokens * tokens, 128 + 400 * tokens)");
    expect(program.calls[3]).toEqual({ fetch: "line", args: [{ value: "t1" }] });
  });

  test("weights and host data are accounted elsewhere; extents are numbers or symbols, other operands stay as they are", () => {
    const builder = new ProgramBuilder();
    const ids = builder.feed("prompt", ["tokens"], "int64");
    const table = builder.weight("table", [10, 4], "float16");
    builder.fresh("aten::embedding", [table, ids, Size.of(7), Size.of("past").plus(1), -1, true], {
      shape: [0],
      dtype: float,
    });
    const { program, workspaceBytes } = builder.finish([]);
    expect(workspaceBytes).toBe("128");
    expect(program.calls[1]).toEqual({
      op: "aten::embedding",
      args: [{ weight: "table" }, { value: "t0" }, 7, { symbol: "past + 1" }, -1, true],
      results: ["t1"],
    });
  });
});

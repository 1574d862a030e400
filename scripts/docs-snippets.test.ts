import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it, vi } from "vitest";
import { documents, readSnippets } from "./snippets.mjs";

const root = join(import.meta.dirname, "..");
const snippets = documents(root).flatMap((file) => readSnippets(root, file));

describe("documentation", () => {
  it("compiles", { timeout: 120_000 }, () => {
    expect(snippets.length).toBeGreaterThan(0);
    expect(compile(snippets.map(({ file, line, code }) => ({ path: join(root, `${file}.${line}.ts`), code })))).toEqual(
      [],
    );
  });

  it.each(snippets.filter((it) => it.noRun === undefined))(
    "$file:$line runs",
    { timeout: 60_000 },
    async ({ file, line }) => {
      const log = vi.spyOn(console, "log").mockImplementation(() => {});
      try {
        await import(/* @vite-ignore */ `${join(root, file)}?snippet=${line}`);
      } finally {
        log.mockRestore();
      }
    },
  );

  it("would not compile with a misspelt name", { timeout: 120_000 }, () => {
    const code = 'import { SliceSheduler } from "slicescheduler";\nconsole.log(SliceSheduler);\n';
    expect(compile([{ path: join(root, "planted.ts"), code }])).toEqual([expect.stringContaining("SliceSheduler")]);
  });
});

/** Type errors of modules that exist in memory only, each resolved from the folder of its path, in one program. */
function compile(modules: readonly { path: string; code: string }[]): string[] {
  const { config } = ts.readConfigFile(join(root, "tsconfig.base.json"), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const host = ts.createCompilerHost(options);
  const inMemory = new Map(modules.map(({ path, code }) => [path, code]));
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => inMemory.has(path) || fileExists(path);
  host.readFile = (path) => inMemory.get(path) ?? readFile(path);
  host.getSourceFile = (path, language, ...rest) => {
    const code = inMemory.get(path);
    return code === undefined ? getSourceFile(path, language, ...rest) : ts.createSourceFile(path, code, language);
  };
  const program = ts.createProgram(
    [...inMemory.keys()],
    { ...options, moduleDetection: ts.ModuleDetectionKind.Force },
    host,
  );
  return [...inMemory.keys()].flatMap((path) => {
    const source = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((it) => {
      const line = source === undefined ? 0 : source.getLineAndCharacterOfPosition(it.start ?? 0).line + 1;
      return `${path.slice(root.length + 1)}, line ${line} of the block: ${ts.flattenDiagnosticMessageText(it.messageText, " ")}`;
    });
  });
}

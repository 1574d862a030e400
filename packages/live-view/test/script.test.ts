import ts from "typescript";
import { expect, test } from "vitest";
import { PAGE_SCRIPT } from "../src/page/script.ts";

test("what the browser runs has the types that it says, by the browser's own", () => {
  const options: ts.CompilerOptions = {
    allowJs: true,
    checkJs: true,
    noEmit: true,
    skipLibCheck: true,
    skipDefaultLibCheck: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
  };
  const libraries = new Map<string, ts.SourceFile | undefined>();
  const faultsOf = (script: string) => {
    const host = ts.createCompilerHost(options);
    const { getSourceFile, fileExists, readFile } = host;
    host.getSourceFile = (name, ...rest) => {
      if (name === "view.js") return ts.createSourceFile(name, script, ts.ScriptTarget.ES2022, true);
      const source = libraries.get(name) ?? getSourceFile.call(host, name, ...rest);
      libraries.set(name, source);
      return source;
    };
    host.fileExists = (name) => name === "view.js" || fileExists(name);
    host.readFile = (name) => (name === "view.js" ? script : readFile(name));
    const program = ts.createProgram(["view.js"], options, host);
    return ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
  };
  expect(faultsOf(PAGE_SCRIPT)).toEqual([]);
  expect(faultsOf(PAGE_SCRIPT.replace("bar.max = row.bar.max", "bar.max = row.cells"))).toHaveLength(1);
});

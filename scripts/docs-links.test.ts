import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { documents } from "./snippets.mjs";

const root = join(import.meta.dirname, "..");

test("what the documentation links to is there", () => {
  const dead: string[] = [];
  let links = 0;
  for (const file of documents(root)) {
    const text = readFileSync(join(root, file), "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      links += 1;
      const [path = "", anchor] = target.split("#");
      const found = path === "" ? file : join(dirname(file), path);
      if (!existsSync(join(root, found))) dead.push(`${file}: ${target}`);
      else if (anchor !== undefined && !anchorsOf(found).includes(anchor))
        dead.push(`${file}: ${target} (no such heading)`);
    }
  }
  expect(links).toBeGreaterThan(100);
  expect(dead).toEqual([]);
});

/** As GitHub makes them of headings. */
function anchorsOf(file: string): string[] {
  return [...readFileSync(join(root, file), "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}

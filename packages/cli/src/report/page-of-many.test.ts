import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tinyReplay, tinyWorkload } from "../tiny-workload.fixture.ts";

const { dir, run, remove } = tinyWorkload();
afterAll(remove);

beforeAll(async () => {
  expect((await run([...tinyReplay, "--record", "whole.run"])).code).toBe(0);
  expect((await run([...tinyReplay, "--minutes", "0.01", "--record", "part.run"])).code).toBe(0);
});

/** The first table, as text: a row per policy, by its name. */
async function report(...files: readonly string[]) {
  expect((await run(["report", ...files, "-o", "many.html"])).code).toBe(0);
  const text = readFileSync(join(dir, "many.html"), "utf8").replace(/<\/?bdi>/g, "");
  const table = text.slice(text.indexOf("<tbody>"), text.indexOf("</tbody>"));
  const rows = [...table.matchAll(/<tr><th scope="row">(.*?)<\/th>(.*?)<\/tr>/g)].map(([, name = "", cells = ""]) => {
    const texts = [...cells.matchAll(/<td[^>]*>(.*?)<\/td>/g)].map(([, cell = ""]) => cell.replace(/<.*/, ""));
    return [name, texts] as const;
  });
  return {
    text,
    rows: new Map(rows),
    titles: [...text.matchAll(/<th scope="col">(.*?)<\/th>/g)].map(([, title]) => title),
  };
}

test("files of different windows: each figure is what the replay of its own file says", async () => {
  const { text, rows, titles } = await report("whole.run", "part.run");
  expect(text).toContain("did not have the same workload");
  expect(text).not.toContain('class="best"');
  for (const file of ["whole.run", "part.run"]) {
    const { columns } = JSON.parse((await run(["compare", file, "--json"])).out);
    for (const { policy, figures } of columns) {
      const cells = rows.get(`${file}: ${policy}`) ?? [];
      const cell = (title: string): string | undefined => cells[titles.indexOf(title) - 1];
      expect(Number(cell("Requests/s")?.replace(",", ""))).toBeCloseTo(figures.requestsPerSecond, 1);
      expect(cell("SLO met")).toBe(`${(100 * figures.sloAttainment).toFixed(1)} %`);
      expect(cell("Busy")).toBe(`${(100 * figures.utilization).toFixed(1)} %`);
    }
  }
  expect(text).toContain('<h3 class="of">whole.run: static-online, whole.run: slicescheduler</h3>');
  expect(text).toContain("4 online requests of 3 instances");
  expect(text).toContain("3 online requests of");
  expect(text).toContain("<dt>Command of part.run</dt>");
  expect(text).not.toContain("Record of");
});

test("files of the same workload are compared, and their facts told once", async () => {
  expect((await run([...tinyReplay, "--record", "again.run"])).code).toBe(0);
  const { text } = await report("whole.run", "again.run");
  expect(text).not.toContain("did not have the same workload");
  expect(text.match(/4 online requests of 3 instances/g)).toHaveLength(1);
});

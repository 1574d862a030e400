import type { Dag } from "../../dag.ts";

/** Operators of a graph as one line of JSON each. */
export function writeJsonl({ operators }: Dag): string {
  return operators.map((operator) => JSON.stringify(operator)).join("\n");
}

/** Names are quoted; backslashes are not escaped in DOT, so names must not hold any. */
export function writeDot({ operators }: Dag): string {
  const id = (name: string) => `"${name.replaceAll('"', '\\"')}"`;
  const nodes = operators.map(
    ({ name, durationNs, outputBytes = 0, accelerator }) =>
      `  ${id(name)} [duration=${durationNs}, bytes=${outputBytes}, accelerator=${id(accelerator)}];\n`,
  );
  const edges = operators.flatMap(({ name, inputs = [] }) => inputs.map((input) => `  ${id(input)} -> ${id(name)};\n`));
  return `digraph {\n${nodes.join("")}${edges.join("")}}\n`;
}

/** Names must be 1, 2, … in order. @param costs One per operator, of its output; left out: no costs. */
export function writeStg({ operators }: Dag, costs?: readonly number[]): string {
  const cost = (name: string) => (costs === undefined ? "" : ` ${costs[Number(name) - 1] ?? 0}`);
  const read = new Set(operators.flatMap(({ inputs = [] }) => inputs));
  const zero = costs === undefined ? "" : " 0";
  const lines = operators.map(({ name, durationNs, inputs = [] }) => {
    const preds = inputs.length === 0 ? [`0${zero}`] : inputs.map((input) => `${input}${cost(input)}`);
    return `${name} ${durationNs} ${preds.length} ${preds.join(" ")}`;
  });
  const ends = operators.filter(({ name }) => !read.has(name)).map(({ name }) => `${name}${zero}`);
  const exit = `${operators.length + 1} 0 ${ends.length} ${ends.join(" ")}`;
  return [operators.length, "0 0 0", ...lines, exit, "# end of the graph", "anything 1 2 3", ""].join("\n");
}

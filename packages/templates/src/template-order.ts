import type { Faults } from "./validation.ts";

/** Cycles reported one by one, and operators named of each. */
const CYCLES_MAX = 16;
const NAMED_MAX = 12;

/**
 * Operator indices so that every operator stands after its predecessors, in declared order wherever that allows it.
 * Every cycle met on the way is a fault that names its operators from producer to consumer. A depth-first walk with a
 * stack of its own: a chain of any length is fine.
 */
export function orderOperators(
  faults: Faults,
  operators: readonly { readonly name: string }[],
  predecessors: readonly (readonly number[])[],
): number[] {
  const order: number[] = [];
  /** Per operator: −1 not seen, ≥ 0 its height on the stack, −2 in `order`. */
  const height = new Int32Array(operators.length).fill(-1);
  /** Per operator: how many of its predecessors were looked at. */
  const looked = new Int32Array(operators.length);
  const stack: number[] = [];
  let cycles = 0;
  for (let root = 0; root < operators.length; root++) {
    if (height[root] === -1) enter(root, stack, height);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = predecessors[top]?.[looked[top] as number];
      looked[top] = (looked[top] as number) + 1;
      if (next === undefined) {
        height[top] = -2;
        order.push(top);
        stack.pop();
      } else if (height[next] === -1) {
        enter(next, stack, height);
      } else if ((height[next] as number) >= 0 && cycles++ < CYCLES_MAX) {
        addCycle(faults, operators, stack.slice(height[next]));
      }
    }
  }
  return order;
}

function enter(operator: number, stack: number[], height: Int32Array): void {
  height[operator] = stack.length;
  stack.push(operator);
}

/** `path` goes from consumer to producer, and its last operator reads from its first. */
function addCycle(faults: Faults, operators: readonly { readonly name: string }[], path: readonly number[]): void {
  const flow = [...path].reverse();
  const start = flow.indexOf(flow.reduce((least, operator) => Math.min(least, operator)));
  const names = [...flow.slice(start), ...flow.slice(0, start)].map((operator) => operators[operator]?.name ?? "");
  const first = names[0] ?? "";
  const shown =
    names.length <= NAMED_MAX
      ? names
      : [...names.slice(0, NAMED_MAX - 1), `… ${names.length - NAMED_MAX} more …`, ...names.slice(-1)];
  faults.add("operators", `form a cycle of ${names.length}: ${[...shown, first].join(" → ")}`);
}

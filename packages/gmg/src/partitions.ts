/** Where instances and requests may be laid. */
import { homeOf } from "@slicescheduler/memory";
import { type CompiledPartition, partitionNamed, partitionsNamed, type Template } from "@slicescheduler/templates";
import { didYouMeanOneOf } from "@slicescheduler/templates/validation";
import { SubmissionError } from "./graph-errors.ts";
import type { GraphState } from "./graph-state.ts";
import type { Submission } from "./insert.ts";
import type { RequestNode, TensorNode } from "./nodes.ts";

/** What asks, and what it allows. */
type Asker = Pick<Submission, "id" | "allowedPartitions">;

/**
 * Names of the partitions that a submission and its request allow and on which each of its inputs can reach its readers; the
 * one that the request is laid on when it is. Throws UNKNOWN_PARTITION or NO_ROUTE when there is none.
 */
export function possiblePartitions(
  state: GraphState,
  template: Template,
  submission: Asker,
  request: RequestNode,
  inputs: readonly (TensorNode | null)[],
): string[] {
  checkNames(template, submission);
  const { partition: laidOn } = request;
  let names =
    laidOn === null ? [...partitionsNamed(template).keys()] : [laidOn].filter((name) => partitionNamed(template, name));
  for (const allowed of [submission.allowedPartitions, request.allowedPartitions]) {
    if (allowed === null) continue;
    if (names.length === 1) names = names.filter((name) => allowed.includes(name));
    else {
      const isAllowed = new Set(allowed);
      names = names.filter((name) => isAllowed.has(name));
    }
  }
  if (names.length === 0) throw refusal(submission, "UNKNOWN_PARTITION", whyNowhere(template, submission, request));
  if (inputs.every((tensor) => tensor === null)) return names;
  const routed = names.filter((name) => {
    const partition = partitionNamed(template, name);
    return partition !== undefined && missingRoute(state, template, partition, inputs) === null;
  });
  if (routed.length > 0) return routed;
  const first = partitionNamed(template, names[0] as string) as CompiledPartition;
  const [source, destination] = missingRoute(state, template, first, inputs) ?? ["?", "?"];
  throw refusal(
    submission,
    "NO_ROUTE",
    `on ${names.join(", ")} an input would have to move from ${JSON.stringify(source)} to ${JSON.stringify(destination)}, and no ` +
      "link leads there; declare one, or a defaultLink, or allow another partition",
  );
}

/** Names of the partitions that all live instances of an unplaced request have in common, in the order of the first. */
export function sharedPartitions(request: RequestNode): readonly string[] {
  const [first, ...others] = [...request.instances].filter((instance) => instance.state === "live");
  let names = first?.allowedPartitions ?? [];
  for (const { allowedPartitions } of others) {
    // Most have the same ones, in the same order.
    if (names.length === allowedPartitions.length && names.every((name, i) => name === allowedPartitions[i])) continue;
    const isAllowed = new Set(allowedPartitions);
    names = names.filter((name) => isAllowed.has(name));
  }
  return names;
}

function checkNames(template: Template, submission: Asker): void {
  const known = partitionsNamed(template);
  if (submission.allowedPartitions?.length === 0) {
    throw refusal(submission, "UNKNOWN_PARTITION", "it may be laid on no partition at all; name at least one");
  }
  for (const name of submission.allowedPartitions ?? []) {
    if (known.has(name)) continue;
    throw refusal(
      submission,
      "UNKNOWN_PARTITION",
      `template ${JSON.stringify(template.name)} has no partition ${JSON.stringify(name)}${didYouMeanOneOf(name, [...known.keys()])}`,
    );
  }
}

function whyNowhere(template: Template, submission: Asker, request: RequestNode): string {
  const own = submission.allowedPartitions ?? template.partitions.map((partition) => partition.name);
  const name = JSON.stringify(template.name);
  if (request.partition !== null) {
    return (
      `request ${request.id} is laid on partition ${JSON.stringify(request.partition)}, and template ${name} may be laid on ` +
      `${own.join(", ")} here; allow that partition, or submit to another request`
    );
  }
  return (
    `request ${request.id} allows ${request.allowedPartitions?.join(", ")}, and template ${name} may be laid on ` +
    `${own.join(", ")} here; they have no partition in common`
  );
}

/** Names of two accelerators between which an input would have to move and cannot; null when all can. */
function missingRoute(
  { cluster }: GraphState,
  template: Template,
  partition: CompiledPartition,
  inputs: readonly (TensorNode | null)[],
): [string, string] | null {
  for (const operator of template.operators) {
    const at = partition.acceleratorOf[operator.index] as number;
    for (const { slot } of operator.inputs) {
      const tensor = slot < 0 ? null : (inputs[slot] ?? null);
      if (tensor === null) continue;
      const home = homeOf(tensor, partition.name);
      if (home < 0 || home === at || cluster.route(home, at) !== undefined) continue;
      return [cluster.accelerators[home]?.name ?? "?", cluster.accelerators[at]?.name ?? "?"];
    }
  }
  return null;
}

function refusal(submission: Asker, code: "UNKNOWN_PARTITION" | "NO_ROUTE", reason: string): SubmissionError {
  return new SubmissionError(code, `instance ${submission.id} refused: ${reason}`, { instance: submission.id });
}

import type { Binding, Template, TemplateInput } from "@slicescheduler/templates";
import { didYouMeanOneOf } from "@slicescheduler/templates/validation";
import { newInstance } from "./build.ts";
import { SubmissionError, type SubmissionErrorCode } from "./graph-errors.ts";
import { type GraphState, isAttachable, nameOf } from "./graph-state.ts";
import { originOf } from "./lineage.ts";
import type { InstanceNode, OperatorNode, RequestNode, TensorNode } from "./nodes.ts";
import { urgencyFaults } from "./opening.ts";
import { possiblePartitions } from "./partitions.ts";
import type { InstanceId } from "./types.ts";
import { raiseProducers } from "./urgency.ts";

/** An output of an instance in the graph, by name. */
export interface OutputReference {
  readonly instance: InstanceId;
  readonly output: string;
}

export interface Submission {
  /**
   * A whole number from 0, above every one inserted before, whether those instances have ended or not: events, outputs and
   * records of an ended instance can then never be taken for those of a later one.
   */
  readonly id: InstanceId;
  readonly template: string;
  /** Symbols with a declared bound may be left out. */
  readonly symbols: Readonly<Record<string, number>>;
  readonly inputs: Readonly<Record<string, OutputReference>>;
  /** Names of outputs that later instances may refer to until they are released. */
  readonly retain: readonly string[];
  /** Names of partitions it may be laid on; null for all of the template's. */
  readonly allowedPartitions: readonly string[] | null;
  readonly label: string;
  /** Priority class of this instance alone, a whole number from 0 to 65,535, 0 the most urgent. Default: that of its request. */
  readonly rank?: number;
  /** From 0; Infinity for none. Default: that of its request. */
  readonly deadlineNs?: number;
  /** Within its class and deadline the lower goes first, then the older: a number from 0. Default 0. */
  readonly order?: number;
}

/**
 * Checks all of a submission and builds its nodes; the graph is not changed. Linear in the template. An id that is no whole
 * number from 0 is a TypeError.
 */
export function buildInstance(
  state: GraphState,
  template: Template,
  submission: Submission,
  request: RequestNode,
  nowNs: number,
): InstanceNode {
  if (!Number.isSafeInteger(submission.id) || submission.id < 0) {
    throw new TypeError(`the number of an instance is a whole number from 0, not ${submission.id}`);
  }
  const binding = template.bind(submission.symbols);
  checkLimits(binding, request, submission.id);
  const inputs = resolveInputs(state, binding, submission);
  for (const tensor of inputs) {
    if (tensor !== null && tensor.producer.instance.request !== request) {
      throw refusal(
        submission,
        "INPUTS_SPAN_REQUESTS",
        `its input ${tensor.id} belongs to request ${tensor.producer.instance.request.id}, not to request ${request.id}; ` +
          "instances that share results share one request",
      );
    }
  }
  const { id, label, rank = request.rank, deadlineNs = request.deadlineNs, order = 0 } = submission;
  const faults = urgencyFaults(rank, deadlineNs);
  if (!(order >= 0 && order < Number.POSITIVE_INFINITY)) faults.push(`order ${order} is not a number from 0`);
  if (faults.length > 0) throw refusal(submission, "INVALID_URGENCY", faults.join("; "));
  // Kept for as long as results of it are: not the caller's objects.
  const symbols = { ...submission.symbols };
  const restriction = submission.allowedPartitions === null ? null : [...submission.allowedPartitions];
  const instance = newInstance({
    request,
    origin: originOf({ id, template, symbols, label, restriction }, inputs),
    binding,
    inputs,
    allowedPartitions: possiblePartitions(state, template, submission, request, inputs),
    insertedNs: nowNs,
    rank,
    deadlineNs,
    order,
    firstTensor: state.nextTensor,
  });
  checkContinuations(submission, instance.operators);
  for (const name of submission.retain) {
    for (const tensor of outputTensors(instance, name, submission)) tensor.retained = true;
  }
  return instance;
}

/** Makes a built instance part of the graph. */
export function linkInstance(state: GraphState, instance: InstanceNode): void {
  state.instances.set(instance.id, instance);
  instance.origin.node = instance;
  instance.request.instances.add(instance);
  for (const index of instance.template.order) {
    const operator = instance.operators[index] as OperatorNode;
    for (const tensor of operator.outputs) {
      state.tensors.set(tensor.id, tensor);
      state.nextTensor = tensor.id + 1;
      instance.liveTensors += 1;
      if (tensor.aliases !== null) tensor.aliases.continued = true;
    }
    for (const tensor of operator.inputs) {
      tensor.consumers.add(operator);
      tensor.unissuedConsumers += 1;
      if (tensor.producer.state === "unscheduled") operator.unscheduledInputs += 1;
    }
    if (operator.unscheduledInputs === 0) state.frontier.add(operator);
    raiseProducers(state, operator);
  }
}

/** The tensors of a named output. Throws UNKNOWN_OUTPUT. */
export function outputTensors(
  instance: InstanceNode,
  name: string,
  asker: { id: InstanceId } = instance,
): TensorNode[] {
  const output = instance.template.outputNamed(name);
  if (output === undefined) {
    const known = instance.template.outputs.map((candidate) => candidate.name);
    throw refusal(
      asker,
      "UNKNOWN_OUTPUT",
      `template ${JSON.stringify(instance.template.name)} has no output ${JSON.stringify(name)}${didYouMeanOneOf(name, known)}`,
    );
  }
  return output.refs.map((ref) => instance.operators[ref.operator]?.outputs[ref.output] as TensorNode);
}

function resolveInputs(state: GraphState, binding: Binding, submission: Submission): (TensorNode | null)[] {
  const { template } = binding;
  const known = new Set(template.inputs.map((input) => input.name));
  for (const name of Object.keys(submission.inputs)) {
    if (known.has(name)) continue;
    const message = `template ${JSON.stringify(template.name)} has no input ${JSON.stringify(name)}${didYouMeanOneOf(name, known)}`;
    throw refusal(submission, "UNKNOWN_INPUT", message);
  }
  const slots: (TensorNode | null)[] = Array.from({ length: template.inputSlots }, () => null);
  for (const input of template.inputs) {
    const reference = Object.hasOwn(submission.inputs, input.name) ? submission.inputs[input.name] : undefined;
    if (reference === undefined) requireEmpty(binding, input, submission);
    else bindInput(state, binding, input, reference, submission, slots);
  }
  return slots;
}

function requireEmpty(binding: Binding, input: TemplateInput, submission: Submission): void {
  for (let slot = input.first; slot < input.first + input.count; slot++) {
    const bytes = binding.inputBytes(slot);
    if (bytes === 0) continue;
    throw refusal(
      submission,
      "UNBOUND_INPUT",
      `input ${JSON.stringify(binding.template.slots[slot]?.name)} has ${bytes} bytes under these symbols and must be bound to an output`,
    );
  }
}

function bindInput(
  state: GraphState,
  binding: Binding,
  input: TemplateInput,
  reference: OutputReference,
  submission: Submission,
  slots: (TensorNode | null)[],
): void {
  const source = state.instances.get(reference.instance);
  if (source === undefined) {
    throw refusal(
      submission,
      "UNKNOWN_INSTANCE",
      `input ${JSON.stringify(input.name)} refers to instance ${reference.instance}, which the graph does not (or no longer) know`,
    );
  }
  const tensors = outputTensors(source, reference.output, submission);
  if (tensors.length !== input.count) {
    throw refusal(
      submission,
      "INPUT_MISMATCH",
      `input ${JSON.stringify(input.name)} takes ${input.count} tensors; output ${JSON.stringify(reference.output)} of instance ${source.id} has ${tensors.length}`,
    );
  }
  tensors.forEach((tensor, i) => {
    const slot = input.first + i;
    slots[slot] = tensor;
    const asked = binding.inputBytes(slot);
    const dtype = binding.template.slots[slot]?.dtype ?? "uint8";
    const given = source.template.operators[tensor.producer.index]?.outputs[tensor.output]?.dtype ?? "uint8";
    if (tensor.bytes !== asked || dtype !== given) {
      throw refusal(
        submission,
        "INPUT_MISMATCH",
        `input ${JSON.stringify(binding.template.slots[slot]?.name)} takes ${asked} bytes of ${dtype}; the output bound to it has ${tensor.bytes} bytes of ${given}`,
      );
    }
    if (isAttachable(tensor)) return;
    const lost = tensor.producer.state === "cancelled" || tensor.producer.state === "failed";
    throw refusal(
      submission,
      lost ? "OUTPUT_LOST" : "OUTPUT_RELEASED",
      lost
        ? `output ${JSON.stringify(reference.output)}: ${nameOf(tensor.producer)} was ${tensor.producer.state}`
        : `output ${JSON.stringify(reference.output)} of instance ${source.id} is released; retain it when you submit the instance, until its readers are submitted`,
    );
  });
}

function checkContinuations(submission: Submission, operators: readonly OperatorNode[]): void {
  const continuing = new Set<TensorNode>();
  for (const { outputs } of operators) {
    for (const { aliases } of outputs) {
      if (aliases === null) continue;
      if (aliases.continued || continuing.has(aliases)) {
        throw refusal(
          submission,
          "ALREADY_CONTINUED",
          `output ${aliases.output} of ${nameOf(aliases.producer)} is continued in place by another operator already`,
        );
      }
      continuing.add(aliases);
    }
  }
}

/** The limits of a request bound each tensor, so that they bound every sum of them. */
function checkLimits(binding: Binding, request: RequestNode, id: InstanceId): void {
  if (request.limits === null) return;
  const { template } = binding;
  const limit = request.limits.find((candidate) => candidate.template === template);
  if (limit === undefined) {
    throw refusal(
      { id },
      "LIMITS_EXCEEDED",
      `request ${request.id} declares no limits for template ${JSON.stringify(template.name)}`,
    );
  }
  template.slots.forEach((slot, i) => {
    const bytes = binding.inputBytes(i);
    const maxBytes = limit.inputBytes(i);
    if (bytes <= maxBytes) return;
    throw refusal(
      { id },
      "LIMITS_EXCEEDED",
      `input ${slot.name} takes ${bytes} bytes; the limits of request ${request.id} allow ${maxBytes}`,
    );
  });
  for (const operator of template.operators) {
    operator.outputs.forEach((output, o) => {
      const bytes = binding.outputBytes(operator.index, o);
      const maxBytes = limit.outputBytes(operator.index, o);
      if (bytes <= maxBytes) return;
      throw refusal(
        { id },
        "LIMITS_EXCEEDED",
        `output ${operator.name}.${output.name} takes ${bytes} bytes; the limits of request ${request.id} allow ${maxBytes}`,
      );
    });
    if (binding.workspaceBytes(operator.index) > limit.workspaceBytes(operator.index)) {
      throw refusal(
        { id },
        "LIMITS_EXCEEDED",
        `operator ${operator.name} takes ${binding.workspaceBytes(operator.index)} bytes of workspace; the limits of request ${request.id} allow ${limit.workspaceBytes(operator.index)}`,
      );
    }
  }
}

function refusal(submission: { readonly id: InstanceId }, code: SubmissionErrorCode, reason: string): SubmissionError {
  return new SubmissionError(code, `instance ${submission.id} refused: ${reason}`, { instance: submission.id });
}

import type { Executor, ExecutorEvent, ExecutorInstruction, IssueInstruction } from "@slicescheduler/executor";
import {
  type Binding,
  type Cluster,
  type ClusterSpec,
  compileCluster,
  compileTemplate,
  type Template,
  type TemplateSpec,
} from "@slicescheduler/gmg";
import { type Copy, DeviceMemory } from "./device-memory.ts";
import { relayedExecutor } from "./relayed-executor.ts";
import type { Violation } from "./violation.ts";

interface Issue {
  readonly accelerator: number;
  readonly name: string;
  /** `"instance/operator"`. */
  readonly operator: string;
  readonly reads: readonly Copy[];
  readonly outputs: readonly { readonly tensor: number; readonly bytes: number; readonly aliases: number | null }[];
  readonly workspaceBytes: number;
  started: boolean;
}

interface Transfer {
  readonly tensor: number;
  readonly source: number;
  readonly destination: number;
}

/**
 * What an executor's devices hold, by books of its own: from the instructions that reach the executor and the events it reports, by
 * the rules of docs/execution-model.md, with the sizes that the templates declare, whatever sizes the instructions give. It
 * trusts neither the master's books nor the executor's, and recounts everything whenever it is asked.
 *
 * Within an instant it may be behind the executor; once everything that an event causes has happened, it is exact.
 */
export class DeviceBooks {
  readonly cluster: Cluster;
  readonly #templates: ReadonlyMap<string, Template>;
  readonly #weightBytes = new Map<string, number>();
  readonly #memories: readonly DeviceMemory[];
  readonly #issues = new Map<number, Issue>();
  readonly #transfers = new Map<number, Transfer>();
  /** Bytes of every tensor that was issued. */
  readonly #bytes = new Map<number, number>();
  /** Transfers that have ended: an issue that comes too late for one gets no other. */
  readonly #pastTransfers = new Set<number>();
  readonly #absent = new Set<number>();
  /** Per operator, how many accelerators had been lost and operators had failed when it last started; failed and withdrawn ones are forgotten. */
  readonly #lossesAtStart = new Map<string, number>();
  /** Per operator, how often it started, but for runs that failed. */
  readonly #runs = new Map<string, number>();
  #losses = 0;
  readonly #violations: Violation[] = [];

  /** The true cluster and templates. */
  constructor(cluster: ClusterSpec, templates: readonly TemplateSpec[]) {
    this.cluster = compileCluster(cluster);
    this.#templates = new Map(templates.map((spec) => [spec.name, compileTemplate(spec, this.cluster)]));
    for (const { operators } of this.#templates.values()) {
      for (const { weights } of operators) for (const { name, bytes } of weights) this.#weightBytes.set(name, bytes);
    }
    for (const { index, absent } of this.cluster.accelerators) if (absent) this.#absent.add(index);
    this.#memories = this.cluster.accelerators.map(
      (accelerator) => new DeviceMemory(accelerator, (bytes) => this.cluster.roundBytes(accelerator.index, bytes)),
    );
  }

  /** The same executor, overheard. */
  overhear(executor: Executor): Executor {
    return relayedExecutor(executor, {
      execute: (instructions, pass) => {
        for (const instruction of instructions) this.#instructed(instruction);
        pass(instructions);
      },
      deliver: (event, pass) => {
        this.#reported(event);
        pass(event);
      },
    });
  }

  /** In use now: baseline, weights, buffers and workspace. */
  usedBytes(accelerator: number): number {
    return this.#memories[accelerator]?.usedBytes() ?? 0;
  }

  /** What is in use when nothing runs: baseline and weights. */
  restingBytes(accelerator: number): number {
    return this.#memories[accelerator]?.restingBytes() ?? 0;
  }

  /** How often each operator, `"instance/operator"`, ran or runs, and losses and failures: what tells whether one may run again. */
  reruns(): { readonly runs: readonly (readonly [string, number])[]; readonly losses: number } {
    return { runs: [...this.#runs].sort(([a], [b]) => (a < b ? -1 : 1)), losses: this.#losses };
  }

  /** Operators that ran again although they had ended, or while they ran. */
  get violations(): readonly Violation[] {
    return this.#violations;
  }

  /** What exceeds its capacity at this moment. */
  overCapacity(): Violation[] {
    const violations: Violation[] = [];
    for (const { index, name, capacityBytes } of this.cluster.accelerators) {
      const usedBytes = this.usedBytes(index);
      if (usedBytes <= capacityBytes) continue;
      const words = `accelerator ${name} has ${usedBytes} bytes in use of ${capacityBytes}`;
      violations.push({ kind: "overCapacity", words, amount: 1 });
    }
    return violations;
  }

  #instructed(instruction: ExecutorInstruction): void {
    if (!("accelerator" in instruction) || this.#absent.has(instruction.accelerator)) return;
    const memory = this.#at(instruction.accelerator);
    switch (instruction.type) {
      case "issue":
        this.#issue(instruction, memory);
        return;
      case "loadWeights":
        memory.loadWeights(instruction.name, this.#weightBytes.get(instruction.name) ?? instruction.bytes);
        return;
      case "hold":
        memory.hold(instruction.tensor);
        return;
      case "release":
        memory.release(instruction.tensor);
        return;
      default: // Nothing else changes what is in memory before it is answered.
    }
  }

  #issue(instruction: IssueInstruction, memory: DeviceMemory): void {
    const { issueNumber, accelerator, inputs, instance, operator, template, symbols } = instruction;
    // One whose inputs have gone is refused by the executor, which then does nothing else about it.
    if (!inputs.every((input) => this.#isAvailable(input, memory))) return;
    for (const { tensor, transfer, source } of inputs) {
      if (transfer === null || memory.has(tensor)) continue;
      this.#at(source).addSend(tensor);
      memory.expect(tensor);
      this.#transfers.set(transfer, { tensor, source, destination: accelerator });
    }
    const known = this.#templates.get(template);
    const binding: Binding | undefined = known?.bind(symbols);
    const outputs = instruction.outputs.map(({ tensor, aliases }, output) => {
      const bytes = binding?.outputBytes(operator, output) ?? 0;
      this.#bytes.set(tensor, bytes);
      memory.expect(tensor);
      return { tensor, bytes, aliases };
    });
    this.#issues.set(issueNumber, {
      accelerator,
      name: `operator ${known?.operators[operator]?.name} (${operator}) of instance ${instance}`,
      operator: `${instance}/${operator}`,
      reads: inputs.map(({ tensor }) => memory.addUse(tensor)),
      outputs,
      workspaceBytes: binding?.workspaceBytes(operator) ?? 0,
      started: false,
    });
  }

  #isAvailable({ tensor, transfer, source }: IssueInstruction["inputs"][number], memory: DeviceMemory): boolean {
    if (!memory.has(tensor))
      return transfer !== null && !this.#pastTransfers.has(transfer) && this.#at(source).has(tensor);
    if (transfer === null) return true;
    for (const [number, incoming] of this.#transfers) {
      if (incoming.tensor === tensor && incoming.destination === memory.index) return number === transfer;
    }
    return true;
  }

  #reported(event: ExecutorEvent): void {
    switch (event.type) {
      case "operatorStarted":
        this.#started(event.issueNumber);
        return;
      case "operatorFailed":
        if (event.cause === "outOfMemory") this.#refused(event.issueNumber);
        // Its request is perhaps laid anew, and what was made for it is made again.
        if (event.cause === "fault") this.#losses += 1;
        this.#ended(event.issueNumber, event.type);
        return;
      case "operatorDone":
      case "withdrawn":
        this.#ended(event.issueNumber, event.type);
        return;
      case "recvReady": {
        const transfer = this.#transfers.get(event.transfer);
        if (transfer === undefined) return;
        const { tensor, destination } = transfer;
        this.#at(destination).allocate(tensor, this.#bytes.get(tensor) ?? 0, null);
        return;
      }
      case "transferDone":
      case "transferFailed":
      case "transferCancelled":
        this.#moved(event.transfer, event.type === "transferDone");
        return;
      case "acceleratorLost":
        this.#lost(event.accelerator);
        return;
      case "acceleratorReturned":
        this.#absent.delete(event.accelerator);
        return;
      default:
      // Intents, and receive buffers that were refused, take no memory.
    }
  }

  #started(issueNumber: number): void {
    const issue = this.#issues.get(issueNumber);
    if (issue === undefined || issue.started) {
      const what = issue?.name ?? `the operator of issue ${issueNumber}`;
      this.#violations.push({ kind: "doubled", words: `${what} started again`, amount: 1 });
      return;
    }
    // Only a loss or a failure is a reason to run again what has run: each once, and perhaps later than what it started before that was heard.
    const runs = (this.#runs.get(issue.operator) ?? 0) + 1;
    this.#runs.set(issue.operator, runs);
    if (this.#lossesAtStart.get(issue.operator) === this.#losses && runs > 1 + this.#losses) {
      this.#violations.push({ kind: "doubled", words: `${issue.name} ran twice`, amount: 1 });
    }
    this.#lossesAtStart.set(issue.operator, this.#losses);
    issue.started = true;
    const memory = this.#at(issue.accelerator);
    for (const { tensor, bytes, aliases } of issue.outputs) memory.allocate(tensor, bytes, aliases);
    memory.workspaceBytes += this.cluster.roundBytes(issue.accelerator, issue.workspaceBytes);
  }

  /** It took what fitted, in order, before it was refused; a buffer that it continued stays as large as it made it. */
  #refused(issueNumber: number): void {
    const issue = this.#issues.get(issueNumber);
    if (issue === undefined || issue.started) return;
    const { capacityBytes = 0 } = this.cluster.accelerators[issue.accelerator] ?? {};
    const memory = this.#at(issue.accelerator);
    for (const { tensor, bytes, aliases } of issue.outputs) {
      if (!memory.allocate(tensor, bytes, aliases, capacityBytes)) return;
    }
  }

  #ended(issueNumber: number, how: "operatorDone" | "operatorFailed" | "withdrawn"): void {
    const issue = this.#issues.get(issueNumber);
    if (issue === undefined) return;
    this.#issues.delete(issueNumber);
    const memory = this.#at(issue.accelerator);
    if (issue.started) memory.workspaceBytes -= this.cluster.roundBytes(issue.accelerator, issue.workspaceBytes);
    if (how !== "operatorDone") {
      this.#lossesAtStart.delete(issue.operator);
      if (issue.started) this.#runs.set(issue.operator, (this.#runs.get(issue.operator) ?? 0) - 1);
    }
    for (const copy of issue.reads) memory.endUse(copy);
    for (const { tensor } of issue.outputs) {
      if (how === "operatorDone") memory.markPresent(tensor);
      else memory.forget(tensor);
    }
  }

  #moved(number: number, arrived: boolean): void {
    const transfer = this.#transfers.get(number);
    if (transfer === undefined) return;
    this.#transfers.delete(number);
    this.#pastTransfers.add(number);
    const { tensor, source, destination } = transfer;
    this.#at(source).endSend(tensor);
    if (arrived) this.#at(destination).markPresent(tensor);
    else this.#at(destination).forget(tensor);
  }

  /** Nothing else is reported of what was there, on its way there or from there. */
  #lost(accelerator: number): void {
    this.#losses += 1;
    this.#absent.add(accelerator);
    this.#at(accelerator).loseEverything();
    for (const [number, issue] of this.#issues) if (issue.accelerator === accelerator) this.#issues.delete(number);
    for (const [number, { source, destination }] of this.#transfers) {
      if (source === accelerator || destination === accelerator) this.#moved(number, false);
    }
  }

  #at(accelerator: number): DeviceMemory {
    const memory = this.#memories[accelerator];
    if (memory === undefined) throw new RangeError(`there is no accelerator ${accelerator} in the books`);
    return memory;
  }
}

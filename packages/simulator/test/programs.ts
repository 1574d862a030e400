/** Random problems as lists of adder calls, so that the simulator and its twin are told the same. */
import fc from "fast-check";
import type { AcceleratorState, SimulatorOptions } from "../src/index.ts";

/** The adders, with plain numbers. */
export interface Adders {
  addTensor(accelerator: number, bytes: number, held: boolean, aliases: number): number;
  addCopy(tensor: number, accelerator: number, held: boolean, aliases: number): void;
  addOperator(accelerator: number, durationNs: number, rank: number, issue: number, workspace: number): number;
  addInput(operator: number, tensor: number, source: number): void;
  addOutput(operator: number, bytes: number, held: boolean, aliases: number): number;
  setRunning(operator: number, remainingNs: number): void;
  setReadySince(operator: number, sinceNs: number): void;
  addTransfer(tensor: number, source: number, destination: number, rank: number): void;
  setTransferring(tensor: number, source: number, destination: number, remainingNs: number): void;
  setIntentSince(tensor: number, destination: number, sinceNs: number): void;
  setHeld(tensor: number, accelerator: number, held: boolean): void;
}

export type Call = (to: Adders) => unknown;

export interface Program {
  readonly options: SimulatorOptions;
  readonly nowNs: number;
  readonly accelerators: readonly AcceleratorState[];
  readonly base: readonly Call[];
  /** Each to be laid over the base. */
  readonly candidates: readonly (readonly Call[])[];
}

const few = fc.nat(5);
const picks = fc.array(fc.nat(), { maxLength: 3 });
/** Long enough, now and then, that intents age and reserve while something else happens. */
const duration = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 6 }) },
  { weight: 1, arbitrary: fc.integer({ min: 7, max: 40 }) },
);
const operator = fc.record({
  accelerator: fc.nat(),
  durationNs: duration,
  /** Ranks above 31 are queued in another way. */
  rank: fc.oneof({ weight: 30, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.constantFrom(31, 40, 1e6) }),
  issueKey: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: few }),
  workspace: few,
  inputs: picks,
  outputs: fc.array(fc.record({ bytes: few, held: fc.boolean(), alias: fc.option(fc.nat(), { freq: 3 }) }), {
    maxLength: 2,
  }),
  remainingNs: fc.option(duration, { freq: 2 }),
  readySince: fc.option(fc.nat(10), { freq: 2 }),
});
const tensor = fc.record({
  accelerator: fc.nat(),
  bytes: few,
  held: fc.boolean(),
  alias: fc.option(fc.nat(), { freq: 3 }),
  copyOn: fc.option(fc.nat(), { freq: 3 }),
  /** A transfer that is declared: planned, or an intent since then, or in flight. */
  transfer: fc.option(
    fc.record({ to: fc.nat(), rank: fc.nat(3), since: fc.option(fc.nat(10)), remainingNs: fc.option(duration) }),
    { freq: 3 },
  ),
  flight: fc.option(fc.record({ to: fc.nat(), remainingNs: duration }), { freq: 3 }),
  intent: fc.option(fc.record({ to: fc.nat(), since: fc.nat(10) }), { freq: 3 }),
  heldOn: fc.option(fc.nat(), { freq: 3 }),
});
const addition = fc.record({
  operators: fc.array(operator, { maxLength: 12 }),
  /** Inputs from a later operator, which can close a cycle. */
  loops: fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 2 }),
  holds: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.boolean()), { maxLength: 2 }),
  /** Of outputs, which are not there yet. */
  transfers: fc.array(fc.record({ tensor: fc.nat(), to: fc.nat(), rank: fc.nat(3) }), { maxLength: 2 }),
  isPlain: fc.boolean(),
  /** A new tensor before the operators. */
  tensor: fc.option(fc.record({ accelerator: fc.nat(), bytes: few, held: fc.boolean() }), { freq: 2 }),
});
export const cluster = fc.record({
  accelerators: fc.integer({ min: 1, max: 6 }),
  engines: fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 6, maxLength: 6 }),
  /** Without links, accelerators that exchange nothing have nothing to do with each other. */
  links: fc.array(fc.integer({ min: 1, max: 2 }), { maxLength: 3 }),
  granularityBytes: fc.constantFrom(1, 1, 4),
  capacityBytes: fc.constantFrom(1e6, 1e6, 30, 60),
  agingNs: fc.oneof(fc.constant(1e9), fc.integer({ min: 1, max: 20 })),
  reserveNs: fc.oneof(fc.constant(4e9), fc.integer({ min: 0, max: 20 })),
  /** What a transfer takes longer than usual. */
  slowness: fc.constantFrom(1, 1, 4),
  nowNs: fc.constantFrom(0, 20),
});

/** Keeps what the rules of the adders need to know, and turns picks into legal calls. */
class Builder {
  readonly accelerators: number;
  readonly nowNs: number;
  readonly links: readonly string[];
  tensors: { on: Set<number>; home: number; produced: boolean; declared: Set<number> }[] = [];
  operators: { accelerator: number; inputs: number[] }[] = [];
  issued = 0;
  readonly running = new Set<number>();
  /** Ports of transfers in flight, one each, and all links together, so that they can never be overcommitted. */
  readonly busy = new Set<string>();

  constructor(accelerators: number, nowNs: number, links: readonly string[]) {
    this.accelerators = accelerators;
    this.nowNs = nowNs;
    this.links = links;
  }

  copy(): Builder {
    const copy = new Builder(this.accelerators, this.nowNs, this.links);
    copy.tensors = this.tensors.map(({ on, home, produced, declared }) => {
      return { on: new Set(on), home, produced, declared: new Set(declared) };
    });
    copy.operators = this.operators.map(({ accelerator, inputs }) => ({ accelerator, inputs: [...inputs] }));
    copy.issued = this.issued;
    for (const it of this.running) copy.running.add(it);
    for (const it of this.busy) copy.busy.add(it);
    return copy;
  }

  tensor(it: typeof tensor extends fc.Arbitrary<infer T> ? T : never): Call[] {
    const calls: Call[] = [];
    const accelerator = it.accelerator % this.accelerators;
    const here = [...this.tensors.keys()].filter((index) => this.tensors[index]?.home === accelerator);
    const aliases = it.alias === null || here.length === 0 ? -1 : (here[it.alias % here.length] as number);
    calls.push((to) => to.addTensor(accelerator, it.bytes, it.held, aliases));
    const index = this.tensors.length;
    const present = new Set([accelerator]);
    const declared = new Set([accelerator]);
    if (it.copyOn !== null && !declared.has(it.copyOn % this.accelerators)) {
      const on = it.copyOn % this.accelerators;
      const there = [...this.tensors.keys()].filter((other) => this.tensors[other]?.on.has(on));
      const shared = it.alias === null || there.length === 0 ? -1 : (there[it.alias % there.length] as number);
      calls.push((to) => to.addCopy(index, on, it.held, shared));
      present.add(on);
      declared.add(on);
    }
    const { transfer } = it;
    if (transfer !== null && !declared.has(transfer.to % this.accelerators)) {
      const to = transfer.to % this.accelerators;
      const { rank, since, remainingNs } = transfer;
      calls.push((on) => on.addTransfer(index, accelerator, to, rank));
      declared.add(to);
      if (since !== null) calls.push((on) => on.setIntentSince(index, to, Math.min(since, this.nowNs)));
      if (remainingNs !== null && this.#takePorts(accelerator, to))
        calls.push((on) => on.setTransferring(index, accelerator, to, remainingNs));
    }
    const flight = it.flight === null ? -1 : it.flight.to % this.accelerators;
    if (it.flight !== null && !declared.has(flight) && this.#takePorts(accelerator, flight)) {
      const { remainingNs } = it.flight;
      calls.push((to) => to.setTransferring(index, accelerator, flight, remainingNs));
      declared.add(flight);
    }
    if (it.intent !== null && !declared.has(it.intent.to % this.accelerators)) {
      const { to: destination, since } = it.intent;
      calls.push((to) => to.setIntentSince(index, destination % this.accelerators, Math.min(since, this.nowNs)));
      declared.add(destination % this.accelerators);
    }
    if (it.heldOn !== null) {
      const on = it.heldOn % this.accelerators;
      calls.push((to) => to.setHeld(index, on, true));
      declared.add(on);
    }
    this.tensors.push({ on: present, home: accelerator, produced: false, declared });
    return calls;
  }

  /** False where one of them is taken. */
  #takePorts(source: number, destination: number): boolean {
    const ports = [...this.links, `out ${source}`, `in ${destination}`];
    if (ports.some((port) => this.busy.has(port))) return false;
    for (const port of ports) this.busy.add(port);
    return true;
  }

  operator(it: typeof operator extends fc.Arbitrary<infer T> ? T : never, isPlain = false): Call[] {
    const accelerator = it.accelerator % this.accelerators;
    const index = this.operators.length;
    const issueNumber = (isPlain ? 6 : it.issueKey) * 1000 + this.issued++;
    const calls: Call[] = [(to) => to.addOperator(accelerator, it.durationNs, it.rank, issueNumber, it.workspace)];
    const inputs: number[] = [];
    for (const pick of this.tensors.length === 0 ? [] : it.inputs) {
      const input = pick % this.tensors.length;
      const { on, produced } = this.tensors[input] ?? { on: new Set<number>(), produced: true };
      const sources = [-1, ...(produced ? [] : on)];
      const source = sources[pick % sources.length] as number;
      calls.push((to) => to.addInput(index, input, source));
      inputs.push(input);
    }
    const present = inputs.every((input) => this.tensors[input]?.on.has(accelerator));
    const { remainingNs, readySince } = it;
    if (!isPlain && remainingNs !== null && present && !this.running.has(accelerator)) {
      this.running.add(accelerator);
      calls.push((to) => to.setRunning(index, remainingNs));
    } else if (!isPlain && readySince !== null)
      calls.push((to) => to.setReadySince(index, Math.min(readySince, this.nowNs)));
    for (const { bytes, held, alias } of it.outputs) {
      const aliases = alias === null || inputs.length === 0 ? -1 : (inputs[alias % inputs.length] as number);
      calls.push((to) => to.addOutput(index, bytes, held, aliases));
      this.tensors.push({ on: new Set(), home: accelerator, produced: true, declared: new Set([accelerator]) });
    }
    this.operators.push({ accelerator, inputs });
    return calls;
  }

  addition(it: typeof addition extends fc.Arbitrary<infer T> ? T : never, mayBePlain: boolean): Call[] {
    const first = this.operators.length;
    const isPlain = it.isPlain && mayBePlain;
    const calls: Call[] = [];
    if (it.tensor !== null && isPlain) {
      const none = { alias: null, copyOn: null, transfer: null, flight: null, intent: null, heldOn: null };
      calls.push(...this.tensor({ ...it.tensor, ...none }));
    }
    calls.push(...it.operators.flatMap((each) => this.operator(each, isPlain)));
    const added = this.operators.length - first;
    for (const [pick, input] of it.loops) {
      if (added === 0 || this.running.size > 0 || this.tensors.length === 0) continue;
      calls.push((to) => to.addInput(first + (pick % added), input % this.tensors.length, -1));
    }
    for (const { tensor: pick, to, rank } of isPlain || this.tensors.length === 0 ? [] : it.transfers) {
      const moved = pick % this.tensors.length;
      const { home, declared } = this.tensors[moved] ?? { home: 0, declared: new Set<number>() };
      const destination = to % this.accelerators;
      if (declared.has(destination)) continue;
      declared.add(destination);
      calls.push((on) => on.addTransfer(moved, home, destination, rank));
    }
    for (const [pick, accelerator, held] of this.tensors.length === 0 ? [] : it.holds) {
      const changed = pick % this.tensors.length;
      const on = accelerator % this.accelerators;
      this.tensors[changed]?.declared.add(on);
      calls.push((to) => to.setHeld(changed, on, held));
    }
    return calls;
  }
}

export const program: fc.Arbitrary<Program> = programOn(cluster);

export function programOn(clusters: typeof cluster): fc.Arbitrary<Program> {
  return fc
    .record({
      cluster: clusters,
      tensors: fc.array(tensor, { maxLength: 6 }),
      base: addition,
      candidates: fc.array(addition, { minLength: 1, maxLength: 3 }),
      /** Every candidate has only new operators behind all of the base, as a scheduler lays them. */
      areAllPlain: fc.constantFrom(true, true, false),
    })
    .map(({ cluster: it, tensors, base, candidates, areAllPlain }) => {
      const builder = new Builder(it.accelerators, it.nowNs, it.links.length === 0 ? [] : ["links"]);
      const calls = [...tensors.flatMap((each) => builder.tensor(each)), ...builder.addition(base, false)];
      return {
        options: {
          topology: {
            accelerators: it.accelerators,
            portCapacity: it.engines.slice(0, it.accelerators),
            linkCapacity: it.links,
            // Some pairs share a link, some take two, some none.
            route: (source: number, destination: number) =>
              [...new Set([source + destination, 3 * source + 2 * destination])]
                .map((link) => link % (it.links.length + 1))
                .filter((link, at, all) => link < it.links.length && all.indexOf(link) === at),
          },
          transferNs: (source: number, destination: number, bytes: number) =>
            it.slowness * (1 + ((5 * source + 3 * destination + bytes) % 7)),
          agingNs: it.agingNs,
          reserveNs: it.reserveNs,
        },
        nowNs: it.nowNs,
        accelerators: Array.from({ length: it.accelerators }, (_, index) => ({
          capacityBytes: it.capacityBytes,
          fixedBytes: index,
          granularityBytes: it.granularityBytes,
        })),
        base: calls,
        candidates: candidates.map((each) =>
          builder.copy().addition({ ...each, isPlain: each.isPlain || areAllPlain }, true),
        ),
      };
    });
}

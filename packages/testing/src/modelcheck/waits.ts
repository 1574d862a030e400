/** Who waits for what in a state: what makes a standstill readable. */
import type { Device } from "./device.ts";
import type { Names } from "./names.ts";
import { tellEvent, tellInstruction } from "./story.ts";
import type { Look } from "./system.ts";

/** One line for each operator, transfer and instance that has not come to its end, and for each message under way. */
export function tellWaits(look: Look, names: Names): string[] {
  const { instructions, events } = look;
  return [
    ...tellOperators(look, names),
    ...tellTransfers(look, names),
    ...tellMemory(look, names),
    ...tellInstances(look),
    ...instructions.map((it) => `under way to the executor: ${tellInstruction(it, names)}`),
    ...events.map((it) => `under way to the master: ${tellEvent(it, names)}`),
  ];
}

function tellOperators({ device }: Look, names: Names): string[] {
  const { operators, transfers } = device.core.leftovers();
  return operators.map(({ issueNumber, accelerator, state }) => {
    const name = names.operator(issueNumber);
    if (state === "running") return `${name} runs`;
    if (state !== "blocked") {
      const running = operators.find((other) => other.accelerator === accelerator && other.state === "running");
      if (running !== undefined) return `${name} is ready and waits for ${names.operator(running.issueNumber)} to end`;
      const { outputs = [], workspaceBytes = 0 } = device.issue(issueNumber) ?? {};
      const bytes = outputs.reduce((sum, output) => sum + output.bytes, workspaceBytes);
      return `${name} is ready and waits for ${bytes} bytes on ${free(device, accelerator)}`;
    }
    const reads = device.issue(issueNumber)?.inputs.map(({ tensor }) => tensor) ?? [];
    const absent = reads.filter((tensor) => !device.core.ledger.isPresent(tensor, accelerator));
    const missing = absent.map((tensor) => {
      const bringing = transfers.find((it) => it.tensor === tensor && it.destination === accelerator);
      return bringing === undefined ? names.tensor(tensor) : names.transfer(bringing.transfer);
    });
    return `${name} waits for ${missing.join(" and for ")}`;
  });
}

function tellTransfers({ device, master }: Look, names: Names): string[] {
  const { transfers } = device.core.leftovers();
  return transfers.map(({ transfer, tensor, source, destination, state }) => {
    const name = names.transfer(transfer);
    if (state === "planned") return `${name} waits for ${names.tensor(tensor)} to be produced`;
    if (state === "sending") return `${name} moves its data`;
    if (state === "receiving") return `${name} has its receive buffer and waits for its send`;
    const known = master.graph.transfer(transfer);
    if (known?.state === "receiving") {
      const { bytes } = known.tensor;
      return `${name} waits for a receive buffer of ${bytes} bytes on ${free(device, destination)}`;
    }
    const before = [...master.graph.transfers()].filter((other) => {
      const shares = other.source === source || other.destination === destination;
      return other.number !== transfer && shares && (other.state === "receiving" || other.state === "sending");
    });
    if (before.length === 0) return `${name} waits for the master to select it`;
    return `${name} waits for the ports of ${before.map(({ number }) => names.transfer(number)).join(" and of ")}`;
  });
}

function tellMemory({ device }: Look, names: Names): string[] {
  return names.cluster.accelerators.flatMap(({ index, name, capacityBytes }) => {
    const copies = device.core.ledger.copies(index).filter(({ allocated }) => allocated);
    if (copies.length === 0) return [];
    const held = copies.map(({ tensor, bytes }) => `${names.tensor(tensor)} (${bytes})`).join(", ");
    return [`${name} has ${device.core.ledger.usedBytes(index)} of ${capacityBytes} bytes in use: ${held}`];
  });
}

function tellInstances({ master }: Look): string[] {
  const instances = new Map<number, string[]>();
  for (const { instance, index, state, startedNs } of master.graph.issuedOperators()) {
    const names = instances.get(instance.id) ?? [];
    instances.set(instance.id, names);
    names.push(`${instance.template.operators[index]?.name} is ${startedNs < 0 ? state : "started"}`);
  }
  for (const { instance, index } of master.graph.unscheduledFrontier) {
    const names = instances.get(instance.id) ?? [];
    instances.set(instance.id, names);
    names.push(`${instance.template.operators[index]?.name} waits to be issued`);
  }
  return Array.from(instances, ([id, names]) => `the master believes of instance ${id}: ${names.join(", ")}`);
}

function free({ core, cluster }: Device, accelerator: number): string {
  const { name = "", capacityBytes = 0 } = cluster.accelerators[accelerator] ?? {};
  return `${name}, where ${capacityBytes - core.ledger.usedBytes(accelerator)} are free`;
}

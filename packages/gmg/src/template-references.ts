import type { OperatorInput, TemplateInput } from "./template.ts";
import type { Dtype, TemplateSpec } from "./types.ts";
import { describe, type Faults } from "./validation.ts";

/** Everything a reference inside one template can name. */
export class References {
  readonly inputs: readonly TemplateInput[];
  readonly slots: readonly { readonly name: string; readonly dtype: Dtype }[];
  readonly #faults: Faults;
  readonly #spec: TemplateSpec;
  readonly #slots = new Map<string, OperatorInput>();
  readonly #operators = new Map<string, number>();
  /** Per operator: the names of its outputs, and a reference for each. */
  readonly #outputNames: (readonly string[])[] = [];
  readonly #outputs: (readonly OperatorInput[])[] = [];

  constructor(faults: Faults, spec: TemplateSpec) {
    this.#faults = faults;
    this.#spec = spec;
    const inputs: TemplateInput[] = [];
    const slots: { name: string; dtype: Dtype }[] = [];
    for (const [name, tensors] of Object.entries(spec.inputs ?? {})) {
      const bundle = "length" in tensors;
      const list = bundle ? tensors : [tensors];
      inputs.push({ name, first: slots.length, count: list.length, bundle });
      list.forEach(({ dtype }, i) => {
        const text = bundle ? `${name}[${i}]` : name;
        this.#slots.set(text, { operator: -1, output: -1, slot: slots.length });
        slots.push({ name: text, dtype });
      });
    }
    this.inputs = inputs;
    this.slots = slots;
    spec.operators.forEach(({ name, outputs }, operator) => {
      const names = Object.keys(outputs);
      this.#outputNames.push(names);
      this.#outputs.push(names.map((_, output) => ({ operator, output, slot: -1 })));
      const before = this.#operators.get(name);
      if (before === undefined) this.#operators.set(name, operator);
      else if (name !== "")
        faults.add(`operators[${operator}].name`, `${describe(name)} is taken by operators[${before}]`);
    });
  }

  /** Null where there is nothing of that name; no fault. Equal references give the identical object. */
  find(text: string): OperatorInput | null {
    const dot = text.indexOf(".");
    if (dot < 0) return this.#slots.get(text) ?? null;
    const operator = this.#operators.get(text.slice(0, dot));
    if (operator === undefined) return null;
    const output = this.#outputNames[operator]?.indexOf(text.slice(dot + 1)) ?? -1;
    return this.#outputs[operator]?.[output] ?? null;
  }

  /** Null after a fault that says what is wrong with the reference. */
  resolve(text: string, path: string): OperatorInput | null {
    const found = this.find(text);
    // A reference that is not even a string has its fault already and reads as "".
    if (found === null && text !== "" && !this.#faults.full) this.#faults.add(path, this.#whyUnknown(text));
    return found;
  }

  /** The same for a place where only an operator's output will do. */
  resolveProduced(text: string, path: string): OperatorInput | null {
    const found = this.resolve(text, path);
    if (found === null || found.operator >= 0) return found;
    this.#faults.add(path, `${describe(text)} is an input of the template; name an output of an operator`);
    return null;
  }

  dtypeOf({ operator, output, slot }: OperatorInput): Dtype | undefined {
    if (slot >= 0) return this.slots[slot]?.dtype;
    const name = this.#outputNames[operator]?.[output] ?? "";
    return this.#spec.operators[operator]?.outputs[name]?.dtype;
  }

  #whyUnknown(text: string): string {
    const dot = text.indexOf(".");
    if (dot >= 0) return this.#whyNoOutput(text.slice(0, dot), text.slice(dot + 1));
    const base = text.replace(/\[.*$/, "");
    const input = this.inputs.find(({ name }) => name === base);
    if (input?.bundle === true) {
      const range = input.count === 1 ? `${base}[0]` : `${base}[0] … ${base}[${input.count - 1}]`;
      return `${describe(text)} does not name a tensor of the bundle ${describe(base)}; there is ${range}`;
    }
    if (input !== undefined) return `${describe(text)}: the input ${describe(base)} is one tensor, not a bundle`;
    const operator = this.#operators.get(text);
    if (operator !== undefined) {
      return `${describe(text)} is an operator; name one of its outputs: ${(this.#outputNames[operator] ?? [])
        .map((name) => describe(`${text}.${name}`))
        .join(", ")}`;
    }
    const names = this.inputs.map(({ name }) => name);
    return `no input ${describe(base)} is declared${this.#faults.suggest(base, names)}`;
  }

  #whyNoOutput(operatorName: string, outputName: string): string {
    const operator = this.#operators.get(operatorName);
    if (operator === undefined) {
      return `no operator ${describe(operatorName)} is declared${this.#faults.suggest(operatorName, this.#operators)}`;
    }
    const outputs = this.#outputNames[operator] ?? [];
    return `operator ${describe(operatorName)} has no output ${describe(outputName)}, it has ${outputs.map(describe).join(", ")}`;
  }
}

import type { OperatorInput, TemplateInput, TemplateTensor } from "./template.ts";
import type { Dtype, TemplateSpec } from "./types.ts";
import { at, describe, type Faults } from "./validation.ts";

/** What an operator reads: a tensor on accelerators, or host data by their index in `externals`. */
export type Found = OperatorInput | number;

/** Everything a reference inside one template can name. A reference costs one look-up, however wide its operator is. */
export class References {
  readonly inputs: readonly TemplateInput[];
  readonly slots: readonly TemplateTensor[];
  readonly externals: readonly TemplateTensor[];
  readonly #faults: Faults;
  readonly #spec: TemplateSpec;
  readonly #slots = new Map<string, OperatorInput>();
  readonly #externals = new Map<string, number>();
  /** Inputs and externals by their own name, without an index. */
  readonly #declared = new Map<string, Declared>();
  readonly #operators = new Map<string, number>();
  readonly #outputs: OutputNames[] = [];

  constructor(faults: Faults, spec: TemplateSpec) {
    this.#faults = faults;
    this.#spec = spec;
    const inputs: TemplateInput[] = [];
    const slots: TemplateTensor[] = [];
    const externals: TemplateTensor[] = [];
    for (const { name, bundle, tensors } of tensorsOf(spec.inputs)) {
      inputs.push({ name, first: slots.length, count: tensors.length, bundle });
      this.#declared.set(name, { kind: "input", count: tensors.length, bundle });
      for (const tensor of tensors) {
        this.#slots.set(tensor.name, { operator: -1, output: -1, slot: slots.length });
        slots.push(tensor);
      }
    }
    for (const { name, bundle, tensors } of tensorsOf(spec.external)) {
      if (this.#declared.has(name))
        faults.add(at("external", name), `${describe(name)} is taken by ${at("inputs", name)}`);
      else this.#declared.set(name, { kind: "external", count: tensors.length, bundle });
      for (const tensor of tensors) {
        this.#externals.set(tensor.name, externals.length);
        externals.push(tensor);
      }
    }
    this.inputs = inputs;
    this.slots = slots;
    this.externals = externals;
    spec.operators.forEach(({ name, outputs }, operator) => {
      this.#outputs.push(new OutputNames(operator, Object.keys(outputs)));
      const before = this.#operators.get(name);
      if (before === undefined) this.#operators.set(name, operator);
      else if (name !== "")
        faults.add(`operators[${operator}].name`, `${describe(name)} is taken by operators[${before}]`);
    });
  }

  /** Null where there is nothing of that name; no fault. Equal references give the identical object. */
  find(text: string): Found | null {
    const dot = text.indexOf(".");
    if (dot < 0) return this.#slots.get(text) ?? this.#externals.get(text) ?? null;
    const operator = this.#operators.get(text.slice(0, dot));
    return operator === undefined ? null : (this.#outputs[operator]?.find(text.slice(dot + 1)) ?? null);
  }

  /** Null after a fault that says what is wrong with the reference. */
  resolve(text: string, path: string): Found | null {
    const found = this.find(text);
    // A reference that is not even a string has its fault already and reads as "".
    if (found === null && text !== "" && !this.#faults.full) this.#faults.add(path, this.#whyUnknown(text));
    return found;
  }

  /** The same for a place where only an operator's output will do. */
  resolveProduced(text: string, path: string): OperatorInput | null {
    const found = this.resolve(text, path);
    if (found === null) return null;
    if (typeof found !== "number" && found.operator >= 0) return found;
    const what = typeof found === "number" ? "host data" : "an input of the template";
    this.#faults.add(path, `${describe(text)} is ${what}; name an output of an operator`);
    return null;
  }

  dtypeOf({ operator, output, slot }: OperatorInput): Dtype | undefined {
    if (slot >= 0) return this.slots[slot]?.dtype;
    const name = this.#outputs[operator]?.names[output] ?? "";
    return this.#spec.operators[operator]?.outputs[name]?.dtype;
  }

  #whyUnknown(text: string): string {
    const dot = text.indexOf(".");
    if (dot >= 0) return this.#whyNoOutput(text.slice(0, dot), text.slice(dot + 1));
    const base = text.replace(/\[.*$/, "");
    const declared = this.#declared.get(base);
    if (declared?.bundle === true) {
      const range = declared.count === 1 ? `${base}[0]` : `${base}[0] … ${base}[${declared.count - 1}]`;
      return `${describe(text)} does not name a tensor of the bundle ${describe(base)}; there is ${range}`;
    }
    if (declared !== undefined) {
      return `${describe(text)}: the ${declared.kind} ${describe(base)} is one tensor, not a bundle`;
    }
    const operator = this.#operators.get(text);
    if (operator !== undefined) {
      const names = (this.#outputs[operator]?.names ?? []).map((name) => `${text}.${name}`);
      return `${describe(text)} is an operator; name one of its outputs: ${listed(names)}`;
    }
    return `no input ${describe(base)} is declared${this.#faults.suggest(base, this.#declared)}`;
  }

  #whyNoOutput(operatorName: string, outputName: string): string {
    const operator = this.#operators.get(operatorName);
    if (operator === undefined) {
      return `no operator ${describe(operatorName)} is declared${this.#faults.suggest(operatorName, this.#operators)}`;
    }
    const names = this.#outputs[operator]?.names ?? [];
    return `operator ${describe(operatorName)} has no output ${describe(outputName)}, it has ${listed(names)}`;
  }
}

interface Declared {
  readonly kind: "input" | "external";
  readonly count: number;
  readonly bundle: boolean;
}

/** Output names looked through one by one; a table for more costs less than that search. */
const SEARCHED_MAX = 8;

/** The outputs of one operator, with one reference object for each. */
class OutputNames {
  readonly names: readonly string[];
  readonly #references: readonly OperatorInput[];
  #table: ReadonlyMap<string, OperatorInput> | null = null;

  constructor(operator: number, names: readonly string[]) {
    this.names = names;
    this.#references = names.map((_, output) => ({ operator, output, slot: -1 }));
  }

  find(name: string): OperatorInput | undefined {
    if (this.names.length <= SEARCHED_MAX) return this.#references[this.names.indexOf(name)];
    this.#table ??= new Map(this.#references.map((reference) => [this.names[reference.output] ?? "", reference]));
    return this.#table.get(name);
  }
}

/** Each declared name with its tensors as references write them: `"hidden"`, or `"kv[2]"` of a bundle. */
function* tensorsOf(
  declared: TemplateSpec["inputs"] = {},
): Generator<{ name: string; bundle: boolean; tensors: TemplateTensor[] }> {
  for (const [name, spec] of Object.entries(declared)) {
    const bundle = "length" in spec;
    const list = bundle ? spec : [spec];
    yield { name, bundle, tensors: list.map(({ dtype }, i) => ({ name: bundle ? `${name}[${i}]` : name, dtype })) };
  }
}

const LISTED_MAX = 20;

function listed(names: readonly string[]): string {
  const shown = names.slice(0, LISTED_MAX).map(describe).join(", ");
  return names.length > LISTED_MAX ? `${shown} and ${names.length - LISTED_MAX} more` : shown;
}

/**
 * One iteration of training a stack of residual layers, y = x + relu(x · A) · B, as a graph: per micro-batch a forward and a backward operator of each layer,
 * gradients summed in place from micro-batch to micro-batch, an update of each layer's parameters in place.
 */
import { type Extent, ProgramBuilder, Size, type Value } from "@slicescheduler/executor-libtorch/llama";
import type { OperatorSpec, OutputSpec, PartitionSpec, TemplateSpec } from "@slicescheduler/gmg";

export interface TrainingShape {
  readonly layers: number;
  readonly hidden: number;
  readonly inner: number;
  readonly microBatches: number;
  readonly learningRate: number;
}

type Program = ReturnType<ProgramBuilder["finish"]>["program"];

export interface TrainingGraph<Spec extends TemplateSpec> {
  readonly template: Spec;
  readonly programs: Readonly<Record<string, Program>>;
}

export type InitialSpec = TemplateSpec<never, never, "parameters">;
export type IterationSpec = TemplateSpec<"rows", "parameters", "parameters">;

const dtype = "float32" as const;

/** Layers first to last over the accelerators of the partition, evenly. */
export interface Placed {
  readonly shape: TrainingShape;
  readonly accelerators: readonly string[];
}

/** The parameters at the start, copied from weights `initial0`, `initial1`, … of tensors `parameters`, float32 [2, inner, hidden]. */
export function initialParameters({ shape, accelerators }: Placed): TrainingGraph<InitialSpec> {
  const { layers, hidden, inner } = shape;
  const names = Array.from({ length: layers }, (_, layer) => `initial${layer}`);
  const built = names.map((name): { readonly name: string; readonly program: Program } => {
    const builder = new ProgramBuilder();
    const weight = builder.weight("parameters", [2, inner, hidden], dtype);
    const { program } = builder.finish([builder.fresh("aten::clone", [weight], weight)]);
    return { name, program };
  });
  return {
    template: {
      name: "training/initial",
      symbols: [],
      operators: names.map((name) => ({
        name,
        outputs: { parameters: { shape: [2, inner, hidden], dtype } },
        weights: { [name]: 4 * 2 * inner * hidden },
      })),
      outputs: { parameters: names.map((name) => `${name}.parameters`) },
      partitions: [
        pipeline(
          accelerators,
          names.map((_, layer) => layer),
          layers,
        ),
      ],
    },
    programs: Object.fromEntries(built.map(({ name, program }) => [name, program])),
  };
}

/** An iteration on `rows` rows per micro-batch, which are fed as `batch0`, `target0`, …; fetches `loss0`, …, one per micro-batch. */
export function trainingIteration({ shape, accelerators }: Placed): TrainingGraph<IterationSpec> {
  const graph = new IterationGraph(shape);
  for (let micro = 0; micro < shape.microBatches; micro++) graph.microBatch(micro);
  for (let layer = 0; layer < shape.layers; layer++) graph.update(layer);
  const rows = { shape: ["rows", shape.hidden], dtype } as const;
  const micros = Array.from({ length: shape.microBatches }, (_, micro) => micro);
  const layers = Array.from({ length: shape.layers }, (_, layer) => layer);
  return {
    template: {
      name: "training/iteration",
      symbols: ["rows"],
      inputs: { parameters: layers.map(() => parametersOf(shape)) },
      external: Object.fromEntries(
        micros.flatMap((micro) => [
          [`batch${micro}`, rows],
          [`target${micro}`, rows],
        ]),
      ),
      operators: graph.operators,
      outputs: { parameters: layers.map((layer) => `update${layer}.parameters`) },
      partitions: [pipeline(accelerators, graph.layerOf, shape.layers)],
    },
    programs: graph.programs,
  };
}

function pipeline(accelerators: readonly string[], layerOf: readonly number[], layers: number): PartitionSpec {
  const layout = layerOf.map((layer) => Math.floor((layer * accelerators.length) / layers));
  return { name: "pipeline", accelerators: [...accelerators], layout };
}

function parametersOf({ inner, hidden }: TrainingShape): { shape: number[]; dtype: typeof dtype } {
  return { shape: [2, inner, hidden], dtype };
}

class IterationGraph {
  readonly operators: OperatorSpec[] = [];
  readonly programs: Record<string, Program> = {};
  /** The layer whose accelerator each operator runs on. */
  readonly layerOf: number[] = [];
  readonly #shape: TrainingShape;

  constructor(shape: TrainingShape) {
    this.#shape = shape;
  }

  microBatch(micro: number): void {
    const { layers } = this.#shape;
    for (let layer = 0; layer < layers; layer++) this.#forward(layer, micro);
    this.#loss(micro);
    for (let layer = layers - 1; layer >= 0; layer--) this.#backward(layer, micro);
  }

  update(layer: number): void {
    const { microBatches, learningRate } = this.#shape;
    const gradients = `backward${layer}/${microBatches - 1}.gradients`;
    const own = `parameters[${layer}]`;
    const { shape } = parametersOf(this.#shape);
    const builder = new ProgramBuilder();
    const parameters = builder.input(0, shape, dtype);
    const given = builder.input(1, shape, dtype);
    builder.inPlace("aten::add_.Tensor", parameters, [given], { alpha: -learningRate });
    this.#add(`update${layer}`, layer, {
      inputs: [own, gradients],
      outputs: { parameters: { shape, dtype, aliases: own } },
      results: [parameters],
      builder,
      model: "update",
    });
  }

  /** The input of a layer: what the layer before it made, or host data. */
  #source(layer: number, micro: number): string {
    return layer === 0 ? `batch${micro}` : `forward${layer - 1}/${micro}.y`;
  }

  #forward(layer: number, micro: number): void {
    const { hidden, inner } = this.#shape;
    const builder = new ProgramBuilder();
    const parameters = builder.input(0, parametersOf(this.#shape).shape, dtype);
    const x = this.#given(builder, layer, micro, 1);
    const turned = builder.view("aten::t", this.#matrix(builder, parameters, 0), [], [hidden, inner]);
    const active = builder.fresh("aten::mm", [x, turned], { shape: ["rows", inner], dtype });
    builder.inPlace("aten::relu_", active, []);
    const y = builder.fresh("aten::mm", [active, this.#matrix(builder, parameters, 1)], {
      shape: ["rows", hidden],
      dtype,
    });
    builder.inPlace("aten::add_.Tensor", y, [x]);
    this.#add(`forward${layer}/${micro}`, layer, {
      inputs: [`parameters[${layer}]`, this.#source(layer, micro)],
      outputs: { y: { shape: ["rows", hidden], dtype }, active: { shape: ["rows", inner], dtype } },
      results: [y, active],
      builder,
      model: layer === 0 ? "forward of host data" : "forward",
    });
  }

  /** Mean of squared differences; its gradient goes to the last layer. */
  #loss(micro: number): void {
    const { hidden, layers, microBatches } = this.#shape;
    const wide = { shape: ["rows", hidden] as Extent[], dtype };
    const builder = new ProgramBuilder();
    const y = builder.input(0, wide.shape, dtype);
    const target = builder.feed(`target${micro}`, wide.shape, dtype);
    const difference = builder.fresh("aten::sub.Tensor", [y, target], wide);
    const squares = builder.fresh("aten::mul.Tensor", [difference, difference], wide);
    builder.fetch(`loss${micro}`, builder.fresh("aten::mean", [squares], { shape: [], dtype }));
    builder.inPlace("aten::mul_.Scalar", difference, [2 / (hidden * microBatches)]);
    builder.inPlace("aten::div_.Scalar", difference, [Size.of("rows")]);
    this.#add(`loss${micro}`, layers - 1, {
      inputs: [`forward${layers - 1}/${micro}.y`, `target${micro}`],
      outputs: { gradient: { shape: ["rows", hidden], dtype } },
      results: [difference],
      builder,
      model: "loss",
    });
  }

  #backward(layer: number, micro: number): void {
    const { hidden, inner, layers } = this.#shape;
    const { shape } = parametersOf(this.#shape);
    const builder = new ProgramBuilder();
    const parameters = builder.input(0, shape, dtype);
    const gradient = builder.input(1, ["rows", hidden], dtype);
    const active = builder.input(2, ["rows", inner], dtype);
    const sum = micro === 0 ? zeros(builder, shape) : builder.input(3, shape, dtype);
    const x = this.#given(builder, layer, micro, micro === 0 ? 3 : 4);
    const second = builder.view("aten::t", this.#matrix(builder, parameters, 1), [], [hidden, inner]);
    const back = builder.fresh("aten::mm", [gradient, second], { shape: ["rows", inner], dtype });
    const inside = builder.fresh("aten::threshold_backward", [back, active, 0], { shape: ["rows", inner], dtype });
    const add = (which: number, left: Value, right: Value): void => {
      const turned = builder.view("aten::t", left, [], [inner, "rows"]);
      builder.inPlace("aten::addmm_", this.#matrix(builder, sum, which), [turned, right]);
    };
    add(0, inside, x);
    add(1, active, gradient);
    const outward = builder.fresh("aten::mm", [inside, this.#matrix(builder, parameters, 0)], {
      shape: ["rows", hidden],
      dtype,
    });
    builder.inPlace("aten::add_.Tensor", outward, [gradient]);
    const from = layer === layers - 1 ? `loss${micro}.gradient` : `backward${layer + 1}/${micro}.gradient`;
    const before = `backward${layer}/${micro - 1}.gradients`;
    this.#add(`backward${layer}/${micro}`, layer, {
      inputs: [
        `parameters[${layer}]`,
        from,
        `forward${layer}/${micro}.active`,
        ...(micro === 0 ? [] : [before]),
        this.#source(layer, micro),
      ],
      outputs: {
        gradient: { shape: ["rows", hidden], dtype },
        gradients: micro === 0 ? { shape, dtype } : { shape, dtype, aliases: before },
      },
      results: [outward, sum],
      builder,
      model: `backward${micro === 0 ? ", first" : ""}${layer === 0 ? " of host data" : ""}`,
    });
  }

  #given(builder: ProgramBuilder, layer: number, micro: number, input: number): Value {
    const shape = ["rows", this.#shape.hidden];
    return layer === 0 ? builder.feed(`batch${micro}`, shape, dtype) : builder.input(input, shape, dtype);
  }

  /** The first or the second of a layer's two matrices, [inner, hidden]. */
  #matrix(builder: ProgramBuilder, both: Value, which: number): Value {
    return builder.view("aten::select.int", both, [0, which], both.shape.slice(1));
  }

  #add(
    name: string,
    layer: number,
    it: {
      readonly inputs: readonly string[];
      readonly outputs: Readonly<Record<string, OutputSpec>>;
      readonly results: readonly Value[];
      readonly builder: ProgramBuilder;
      readonly model: string;
    },
  ): void {
    const { program, workspaceBytes } = it.builder.finish(it.results);
    this.programs[name] = program;
    this.layerOf.push(layer);
    const durationModel = `training/${it.model}`;
    this.operators.push({ name, inputs: it.inputs, outputs: it.outputs, workspaceBytes, durationModel });
  }
}

function zeros(builder: ProgramBuilder, shape: readonly number[]): Value {
  return builder.fresh("aten::zeros", [shape], { shape, dtype }, { dtype: { dtype } });
}

/** For each planted fault a small world in which it shows. */
import { MODEL_PLANTS, type ModelPlant } from "./model-plants.ts";
import { SHAPES, type Shape } from "./shapes.ts";
import type { SmallWorld } from "./small-world.ts";
import { smallWorldOf, type WorldChoice } from "./small-worlds.ts";

export function modelPlants(): ModelPlant[] {
  return Object.keys(MODEL_PLANTS) as ModelPlant[];
}

/** Nothing is found in this world without the fault. */
export function plantedWorld(plant: ModelPlant): SmallWorld {
  return { ...smallWorldOf({ ...COMMON, ...WHERE[plant] }), plant };
}

const COMMON: WorldChoice = {
  shape: shapeNamed("chain"),
  layouts: [[0, 1, 0]],
  accelerators: 2,
  instances: 2,
  chained: false,
  urgentLast: false,
  memory: "tight",
  copyEngines: 1,
  sharedLink: false,
  channel: "inOrder",
  fault: null,
  issuedAheadMax: 8,
};

/** Two accelerators that send to each other. */
const FACING = {
  shape: shapeNamed("pair"),
  layouts: [
    [0, 1],
    [1, 0],
  ],
  channel: "immediate",
} as const;

const WHERE: Readonly<Record<ModelPlant, Partial<WorldChoice>>> = {
  sendBeforeRecv: {},
  noReservation: {},
  noReservationWaits: { ...FACING, instances: 4 },
  portsFreedTwice: { ...FACING, instances: 3, memory: "ample" },
  doneLost: { channel: "immediate", memory: "ample" },
  releaseTooEarly: {},
  releaseLost: { shape: shapeNamed("pair"), layouts: [[0, 1]], instances: 1, channel: "immediate" },
  recvTwice: {},
};

function shapeNamed(name: string): Shape {
  const shape = SHAPES.find((it) => it.name === name);
  if (shape === undefined)
    throw new RangeError(`there is no shape ${name}; there are ${SHAPES.map((it) => it.name).join(", ")}`);
  return shape;
}

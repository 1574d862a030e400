/** The state at begin, put into a run. */
import type { Components } from "./components.ts";
import { raise, start } from "./kernel.ts";
import { ACCELERATOR, DONE, DURATION, INPUTS, PLACE, TRANSFER } from "./nodes.ts";
import type { Run } from "./run.ts";

/** A component of the base. */
export function loadComponent(run: Run, components: Components, component: number): void {
  const { planned } = run;
  const { accelerators, underway, ready, raised } = components;
  const end = accelerators.from[component + 1] as number;
  for (let at = accelerators.from[component] as number; at < end; at++)
    loadAccelerator(run, accelerators.items[at] as number);
  const underwayEnd = underway.from[component + 1] as number;
  for (let at = underway.from[component] as number; at < underwayEnd; at++)
    enter(run, planned.underwayNode[underway.items[at] as number] as number);
  const readyEnd = ready.from[component + 1] as number;
  for (let at = ready.from[component] as number; at < readyEnd; at++) pushReady(run, ready.items[at] as number);
  const raisedEnd = raised.from[component + 1] as number;
  for (let at = raised.from[component] as number; at < raisedEnd; at++) {
    const item = raised.items[at] as number;
    raise(run, planned.raisedNode[item] as number, planned.raisedNs[item] as number);
  }
}

/** What an overlay adds to its components. */
export function loadOverlay(run: Run): void {
  const { planned } = run;
  for (let item = planned.baseReady; item < planned.ready; item++) pushReady(run, item);
  for (let item = planned.baseRaised; item < planned.raised; item++)
    raise(run, planned.raisedNode[item] as number, planned.raisedNs[item] as number);
}

export function startComponent(run: Run, { accelerators }: Components, component: number): void {
  const end = accelerators.from[component + 1] as number;
  for (let at = accelerators.from[component] as number; at < end; at++)
    startNext(run, accelerators.items[at] as number);
}

export function startNext(run: Run, accelerator: number): void {
  if (run.running[accelerator] !== -1 || run.failedAccelerator !== -1) return;
  const node = run.ready.pop(accelerator);
  if (node !== -1) start(run, node);
}

function loadAccelerator(run: Run, accelerator: number): void {
  const bytes = run.planned.initialBytes[accelerator] as number;
  run.usedBytes[accelerator] = bytes;
  run.peakBytes[accelerator] = bytes;
  run.busyNs[accelerator] = 0;
  run.running[accelerator] = -1;
  run.ready.clear(accelerator);
  if (run.keepsTimeline) run.sample(accelerator);
}

function pushReady(run: Run, item: number): void {
  const { planned } = run;
  const node = planned.readyNode[item] as number;
  planned.nodes.f64[(node << 3) + DONE] = planned.readyNs[item] as number;
  run.ready.push(planned.accelerator(node), node);
}

/** What runs or moves at begin; its memory is among the initial bytes. */
function enter(run: Run, node: number): void {
  const { planned } = run;
  const { i32, f64 } = planned.nodes;
  const place = i32[(node << 4) + PLACE] as number;
  const durationNs = f64[(node << 3) + DURATION] as number;
  const accelerator = place & ACCELERATOR;
  f64[(node << 3) + DONE] = planned.beginNs + durationNs;
  if ((place & TRANSFER) !== 0)
    planned.intents.occupy(planned.accelerator(i32[(node << 4) + INPUTS] as number), accelerator);
  else {
    run.running[accelerator] = node;
    run.busyNs[accelerator] = durationNs;
  }
  run.events.insert(node);
}

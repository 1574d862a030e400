import { nextStamp } from "./arrays.ts";
import { Components } from "./components.ts";
import { failBytes, failTime } from "./errors.ts";
import { advance, scoreBound, selectTransfers } from "./kernel.ts";
import { loadComponent, loadOverlay, startComponent, startNext } from "./load.ts";
import { ACCELERATOR, DONE, DURATION, INPUTS, PLACE, RANKS, TRANSFER } from "./nodes.ts";
import type { Planned } from "./planned.ts";
import { NOW, Run, TARGETS_DONE, TURNS } from "./run.ts";

/**
 * Runs what is planned. Components go one after the other, which gives the same result as all at once, as long as nothing stops
 * early and no intent waits until the arbiter's order changes through time alone (turns.ts); under an overlay only those that it
 * touches go, together, and what is known of the others stays. Whatever is not so, or stops early for another reason than the
 * score, is run again, all components together, in the order of the execution model.
 *
 * Between two calls all counters are as at begin.
 */
export class Evaluation {
  readonly run: Run;
  readonly #planned: Planned;
  readonly #components = new Components();

  outcome: "finished" | "outOfMemory" | "standstill" | "abandoned" = "finished";
  endNs = 0;
  operatorsDone = 0;
  scoreNs = Number.NaN;
  /** What had started and did not end; its DONE is when it would have. Empty where nothing stopped early. */
  readonly unfinished = new Set<number>();
  #abandonAboveScore = Number.POSITIVE_INFINITY;
  /** All times and bytes are those of the last run. */
  #isDetailed = false as boolean;

  // Of the base, once it was run alone.
  #baseIsKnown = false as boolean;
  /** Everything fitted, and components alone gave what all together give. */
  #baseIsApart = false as boolean;
  #baseOperatorsDone = 0;
  /** By component: when it ended, operators done, and whether its records show that run. */
  #componentEndNs = new Float64Array(0);
  #componentDone = new Int32Array(0);
  #componentIsStale = new Uint8Array(0);

  /** Components that the overlay touches. */
  #active = new Int32Array(0);
  #activeCount = 0;
  #isActive = new Uint8Array(0);

  constructor(planned: Planned) {
    this.#planned = planned;
    this.run = new Run(planned);
  }

  /** What was planned has changed, but for an overlay. */
  replanned(): void {
    const { run } = this;
    const planned = this.#planned;
    this.#components.build(planned);
    if (planned.manyRanks) run.heaps.configure(planned);
    run.ready.configure(planned.manyRanks ? 1 : RANKS, planned.manyRanks ? run.heaps : null);
    const { count } = this.#components;
    if (this.#active.length < count) {
      this.#active = new Int32Array(count);
      this.#isActive = new Uint8Array(count);
      this.#componentEndNs = new Float64Array(count);
      this.#componentDone = new Int32Array(count);
      this.#componentIsStale = new Uint8Array(count);
    }
    this.#baseIsKnown = false;
  }

  /** Without an overlay. */
  evaluateAll(abandonAboveScore: number, timeline: boolean): void {
    this.#begin(abandonAboveScore, timeline);
    const isTogether = abandonAboveScore < Number.POSITIVE_INFINITY || (this.#baseIsKnown && !this.#baseIsApart);
    if (isTogether || !this.#runAll()) this.#runExactly();
  }

  /** Runs the base of the overlays to come. */
  evaluateBase(): void {
    if (this.#baseIsKnown) return;
    this.#begin(Number.POSITIVE_INFINITY, false);
    this.#runAll();
  }

  /** Each component in turn; if this is the base, overlays need not run it again. */
  #runAll(): boolean {
    this.#baseIsApart = this.#runEach(false);
    this.#baseOperatorsDone = this.operatorsDone;
    this.#baseIsKnown = true;
    return this.#baseIsApart;
  }

  /** With an overlay, after `evaluateBase`. */
  evaluateOverlay(abandonAboveScore: number, timeline: boolean): void {
    this.#begin(abandonAboveScore, timeline);
    if (!this.#baseIsApart || this.#planned.overfull !== -1) {
      this.#runExactly();
      return;
    }
    this.#findActive();
    if (timeline && !this.#runEach(true)) throw new Error("the base went apart before");
    const { run } = this;
    const abandoned = this.#runActive(abandonAboveScore);
    // With a bound, what never ends is abandoned as soon as anything else lasts too long, also where the overlay has no part.
    const isBounded = abandonAboveScore < Number.POSITIVE_INFINITY;
    if (run.failedAccelerator !== -1 || run.turned || (isBounded && !abandoned && run.targetsLeft > 0)) {
      this.#runExactly();
      return;
    }
    let endNs = run.nowNs;
    let operatorsDone = this.#baseOperatorsDone + run.operatorsDone;
    const { count } = this.#components;
    for (let component = 0; component < count; component++) {
      if (this.#isActive[component] === 1) operatorsDone -= this.#componentDone[component] as number;
      else if ((this.#componentEndNs[component] as number) > endNs) endNs = this.#componentEndNs[component] as number;
    }
    this.#conclude(abandoned, endNs, operatorsDone);
    this.#isDetailed = timeline && this.outcome === "finished";
  }

  /** Before times and bytes are read. */
  settle(): void {
    if (this.#isDetailed) return;
    if (this.outcome !== "finished") this.#runExactly();
    else this.#runEach(true);
    this.#isDetailed = true;
  }

  #begin(abandonAboveScore: number, timeline: boolean): void {
    const { run } = this;
    // Clearing an empty set allocates.
    if (this.unfinished.size > 0) this.unfinished.clear();
    this.#abandonAboveScore = abandonAboveScore;
    this.#isDetailed = false;
    run.keepsTimeline = timeline;
    run.samples = 0;
    run.reserve();
  }

  /**
   * Each component alone, in turn; false when one does not fit, or does not at begin, or is not independent of the others' events.
   * @param onlyPassive Those alone that the overlay does not touch and whose records show something else.
   */
  #runEach(onlyPassive: boolean): boolean {
    const { run } = this;
    const planned = this.#planned;
    if (planned.overfull !== -1) return false;
    const { count } = this.#components;
    let endNs = planned.beginNs;
    let operatorsDone = 0;
    let targetsLeft = planned.targets;
    let targetsDoneNs = 0;
    for (let component = 0; component < count; component++) {
      if (onlyPassive && (this.#isActive[component] === 1 || this.#isFresh(component))) continue;
      this.#reset(this.#components.eventsMax[component] as number);
      loadComponent(run, this.#components, component);
      if (planned.intents.size > 0) selectTransfers(run);
      startComponent(run, this.#components, component);
      advance(run, Number.POSITIVE_INFINITY);
      this.#finishAlone(count, false);
      if (run.failedAccelerator !== -1 || run.turned) {
        this.#restore(component);
        planned.intents.clear();
        return false;
      }
      if (run.operatorsDone < (this.#components.operators[component] as number)) this.#restore(component);
      this.#componentIsStale[component] = 0;
      if (onlyPassive) continue;
      this.#componentEndNs[component] = run.nowNs;
      this.#componentDone[component] = run.operatorsDone;
      if (run.nowNs > endNs) endNs = run.nowNs;
      operatorsDone += run.operatorsDone;
      targetsLeft -= planned.targets - run.targetsLeft;
      targetsDoneNs += run.clock[TARGETS_DONE] as number;
    }
    if (onlyPassive) return true;
    run.targetsLeft = targetsLeft;
    run.clock[TARGETS_DONE] = targetsDoneNs;
    this.#conclude(false, endNs, operatorsDone);
    this.#isDetailed = this.outcome === "finished";
    return true;
  }

  /** A timeline has to be sampled again. */
  #isFresh(component: number): boolean {
    return this.#componentIsStale[component] === 0 && !this.run.keepsTimeline;
  }

  #runActive(abandonAboveScore: number): boolean {
    const { run } = this;
    const planned = this.#planned;
    let events = 0;
    for (let at = 0; at < this.#activeCount; at++)
      events += this.#components.eventsMax[this.#active[at] as number] as number;
    this.#reset(events + planned.transfers - planned.baseTransfers);
    for (let at = 0; at < this.#activeCount; at++) loadComponent(run, this.#components, this.#active[at] as number);
    loadOverlay(run);
    if (planned.intents.size > 0) selectTransfers(run);
    for (let at = 0; at < this.#activeCount; at++) startComponent(run, this.#components, this.#active[at] as number);
    const abandoned = run.failedAccelerator === -1 && advance(run, abandonAboveScore);
    for (let at = 0; at < this.#activeCount; at++) this.#componentIsStale[this.#active[at] as number] = 1;
    this.#finishAlone(this.#components.count - this.#activeCount + 1, abandoned);
    const { targetsLeft } = run;
    if (abandoned || run.turned || run.failedAccelerator !== -1 || targetsLeft > 0 || this.#activeStands()) {
      for (let at = 0; at < this.#activeCount; at++) this.#restore(this.#active[at] as number);
      for (let node = planned.baseNodes; node < planned.nodes.count; node++) planned.nodes.restore(node);
      planned.intents.clear();
    }
    return abandoned;
  }

  /** Times are exact. Whether events of others would have made a difference: those alone in the run are the whole of it if `parts` is 1. */
  #finishAlone(parts: number, abandoned: boolean): void {
    const { run } = this;
    if (run.nowNs > Number.MAX_SAFE_INTEGER) failTime(run.nowNs, this.#planned.beginNs);
    if (parts === 1) run.turned = false;
    else if (this.#planned.intents.size > 0 && (!abandoned || run.nowNs >= (run.clock[TURNS] as number)))
      run.turned = true;
  }

  #activeStands(): boolean {
    let operators = this.#planned.targets;
    for (let at = 0; at < this.#activeCount; at++)
      operators += this.#components.operators[this.#active[at] as number] as number;
    return this.run.operatorsDone < operators;
  }

  /** All together, event by event; leaves all times and bytes, also of what did not end. */
  #runExactly(): void {
    const { run } = this;
    const planned = this.#planned;
    const { nodes, intents, accelerators } = planned;
    const { count, eventsMax } = this.#components;
    for (let node = 0; node < nodes.count; node++) nodes.f64[(node << 3) + DONE] = Number.NaN;
    run.samples = 0;
    this.unfinished.clear();
    let events = planned.transfers - planned.baseTransfers;
    for (let component = 0; component < count; component++) events += eventsMax[component] as number;
    this.#reset(events);
    for (let component = 0; component < count; component++) loadComponent(run, this.#components, component);
    if (planned.baseNodes > 0) loadOverlay(run);
    let abandoned = false;
    if (planned.overfull !== -1) run.failedAccelerator = planned.overfull;
    else {
      if (intents.size > 0) selectTransfers(run);
      for (let a = 0; a < accelerators && run.failedAccelerator === -1; a++) startNext(run, a);
      abandoned = run.failedAccelerator === -1 && advance(run, this.#abandonAboveScore);
    }
    if (run.nowNs > Number.MAX_SAFE_INTEGER) failTime(run.nowNs, planned.beginNs);
    this.#sweep();
    if (run.failedAccelerator !== -1) {
      const usedBytes = run.usedBytes[run.failedAccelerator] as number;
      if (usedBytes > Number.MAX_SAFE_INTEGER) failBytes(run.failedAccelerator, usedBytes);
    }
    this.#conclude(abandoned, run.nowNs, run.operatorsDone);
    this.#componentIsStale.fill(1, 0, count);
    this.#isDetailed = true;
  }

  /** What had not ended when the run stopped. */
  #sweep(): void {
    const { run, unfinished } = this;
    const { nodes, accelerators, intents } = this.#planned;
    const { f64, i32 } = nodes;
    while (run.events.size > 0) {
      const node = run.events.pop();
      const place = i32[(node << 4) + PLACE] as number;
      unfinished.add(node);
      const doneNs = f64[(node << 3) + DONE] as number;
      if (doneNs > Number.MAX_SAFE_INTEGER) failTime(doneNs, this.#planned.beginNs);
      if ((place & TRANSFER) === 0)
        (run.busyNs[place & ACCELERATOR] as number) -= f64[(node << 3) + DURATION] as number;
    }
    for (let a = 0; a < accelerators; a++) {
      for (let node = run.ready.pop(a); node !== -1; node = run.ready.pop(a)) f64[(node << 3) + DONE] = Number.NaN;
    }
    if (run.failedNode !== -1) f64[(run.failedNode << 3) + DONE] = Number.NaN;
    for (let node = 0; node < nodes.count; node++) nodes.restore(node);
    intents.clear();
  }

  #conclude(abandoned: boolean, endNs: number, operatorsDone: number): void {
    const { run } = this;
    this.endNs = endNs;
    this.operatorsDone = operatorsDone;
    const finished = operatorsDone === this.#planned.operators;
    const stopped = run.failedAccelerator === -1 ? "standstill" : "outOfMemory";
    this.outcome = abandoned ? "abandoned" : finished && run.failedAccelerator === -1 ? "finished" : stopped;
    this.scoreNs = run.targetsLeft > 0 ? Number.POSITIVE_INFINITY : scoreBound(run);
  }

  #reset(events: number): void {
    const { run } = this;
    const planned = this.#planned;
    run.load = nextStamp(run.load, run.bufferLoad);
    run.turned = false;
    run.raisedAlone = -1;
    run.clock[TURNS] = Number.POSITIVE_INFINITY;
    run.clock[NOW] = planned.beginNs;
    run.operatorsDone = 0;
    run.targets = planned.targets;
    run.targetsLeft = planned.targets;
    run.clock[TARGETS_DONE] = 0;
    run.failedAccelerator = -1;
    run.failedNode = -1;
    run.events.reset(events);
  }

  /** Counters as at begin, after a run that did not go to its end. */
  #restore(component: number): void {
    const { nodes } = this.#components;
    const end = nodes.from[component + 1] as number;
    for (let at = nodes.from[component] as number; at < end; at++)
      this.#planned.nodes.restore(nodes.items[at] as number);
  }

  /** Components of everything that the overlay adds, and of the copies whose holds it changes. */
  #findActive(): void {
    const planned = this.#planned;
    const { nodes } = planned;
    for (let at = 0; at < this.#activeCount; at++) this.#isActive[this.#active[at] as number] = 0;
    this.#activeCount = 0;
    for (let at = 0; at < planned.changedHolds; at++)
      this.#activate(this.#components.of[planned.accelerator(planned.changedNode[at] as number)] as number);
    for (let node = planned.baseNodes; node < nodes.count; node++) {
      const at = planned.accelerator(node);
      this.#activate(this.#components.of[at] as number);
      if (((nodes.i32[(node << 4) + PLACE] as number) & TRANSFER) === 0) continue;
      const source = planned.accelerator(nodes.i32[(node << 4) + INPUTS] as number);
      this.#activate(this.#components.of[source] as number);
      this.#activateLinks(source, at);
    }
  }

  #activateLinks(source: number, destination: number): void {
    const { intents, accelerators } = this.#planned;
    const count = intents.ports.portCount(source, destination);
    for (let at = 2; at < count; at++) {
      const link = intents.ports.portAt(source, destination, at) - 2 * accelerators;
      const component = this.#components.ofLink[link] as number;
      if (component !== -1) this.#activate(component);
    }
  }

  #activate(component: number): void {
    if (this.#isActive[component] === 1) return;
    this.#isActive[component] = 1;
    this.#active[this.#activeCount++] = component;
  }
}

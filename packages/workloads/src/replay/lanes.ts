import type { LaneGroup } from "./policy.ts";

/** Requests waiting and under way in a group of lanes. A pure state: it tells who may start, it starts nobody. */
export class LaneQueues<Request> {
  readonly #group: LaneGroup;
  readonly #waiting: Request[][];
  readonly #underWay: number[];

  constructor(group: LaneGroup) {
    this.#group = group;
    this.#waiting = group.lanes.map(() => []);
    this.#underWay = group.lanes.map(() => 0);
  }

  /** Queues a request of a tenant; returns the index of its lane. */
  offer(request: Request, tenant: number): number {
    const lane = this.#assign(tenant);
    this.#waiting[lane]?.push(request);
    return lane;
  }

  /** Takes the next request of the lane that may start now, if there is one; it counts as under way until `finished`. */
  start(lane: number): Request | undefined {
    const limit = this.#group.lanes[lane]?.concurrentRequestsMax ?? 0;
    const underWay = this.#underWay[lane] ?? 0;
    if (underWay >= limit) return undefined;
    const request = this.#waiting[lane]?.shift();
    if (request !== undefined) this.#underWay[lane] = underWay + 1;
    return request;
  }

  finished(lane: number): void {
    const underWay = this.#underWay[lane] ?? 0;
    if (underWay === 0) throw new TypeError(`lane ${lane} has no request under way`);
    this.#underWay[lane] = underWay - 1;
  }

  /** Takes out everything that waits, lane by lane. */
  drop(): Request[] {
    return this.#waiting.flatMap((waiting) => waiting.splice(0));
  }

  #assign(tenant: number): number {
    const lanes = this.#group.lanes.length;
    if (this.#group.assign === "byTenant") return tenant % lanes;
    let best = 0;
    for (let lane = 1; lane < lanes; lane++) if (this.#load(lane) < this.#load(best)) best = lane;
    return best;
  }

  #load(lane: number): number {
    return (this.#underWay[lane] ?? 0) + (this.#waiting[lane]?.length ?? 0);
  }
}

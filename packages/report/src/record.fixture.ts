/** Records made by hand: small ones for a case, and large ones that look like a run. */
import { OPERATOR_OUTCOMES, REQUEST_OUTCOMES, type RecordedNotice, type RunRecord } from "@slicescheduler/timeline";
import { seededRandom } from "@slicescheduler/workloads";

export interface MadeOperator {
  readonly accelerator: number;
  readonly startNs: number;
  /** Left out for one still running. */
  readonly endNs?: number;
  readonly name?: string;
  readonly rank?: number;
  readonly tenant?: string;
  readonly request?: number;
  readonly instance?: number;
  readonly outcome?: (typeof OPERATOR_OUTCOMES)[number];
}

interface MadeRequest {
  readonly id: number;
  readonly label?: string;
  readonly rank?: number;
  readonly tenant?: string;
  readonly submittedNs: number;
  readonly firstTokenNs?: number;
  readonly endNs?: number;
  readonly tokens?: number;
  readonly outcome?: (typeof REQUEST_OUTCOMES)[number];
}

export interface MadeRecord {
  readonly accelerators?: readonly string[];
  readonly capacityBytes?: number;
  readonly startNs?: number;
  readonly endNs: number;
  readonly operators?: readonly MadeOperator[];
  readonly requests?: readonly MadeRequest[];
  /** Per accelerator: time and bytes. */
  readonly hbm?: readonly (readonly (readonly [number, number])[])[];
  readonly decisions?: RunRecord["decisions"]["kept"];
  readonly notices?: readonly RecordedNotice[];
  readonly label?: string;
}

export function madeRecord(made: MadeRecord): RunRecord {
  const {
    accelerators = ["a0", "a1"],
    capacityBytes = 64e9,
    startNs = 0,
    hbm = [],
    decisions = [],
    notices = [],
  } = made;
  const tenants = new Index();
  const names = new Index();
  const operators = [...(made.operators ?? [])].sort((a, b) => a.startNs - b.startNs);
  return {
    label: made.label ?? "",
    startNs,
    endNs: made.endNs,
    priorities: ["online", "offline"],
    accelerators: accelerators.map((name) => ({ name, kind: "demo", capacityBytes, baselineBytes: 0 })),
    operators: operatorColumns(operators, names, tenants),
    requests: requestColumns(made.requests ?? [], tenants),
    tenants: tenants.names,
    operatorNames: names.names,
    transfers: noTransfers(),
    hbm: accelerators.map((_, i) => hbmSteps(hbm[i] ?? [])),
    decisions: {
      seen: decisions.length,
      stride: 1,
      rejectingSeen: decisions.filter((it) => it.candidates.some(({ shortage }) => shortage !== null)).length,
      rejectingStride: 1,
      kept: decisions,
    },
    notices,
    dropped: { operators: 0, transfers: 0, hbmSteps: 0, requests: 0, notices: 0 },
  };
}

function operatorColumns(operators: readonly MadeOperator[], names: Index, tenants: Index): RunRecord["operators"] {
  const numbers = (of: (it: MadeOperator) => number) => Float64Array.from(operators, of);
  return {
    count: operators.length,
    issueNumber: Float64Array.from(operators, (_, i) => i),
    accelerator: Uint16Array.from(operators, (it) => it.accelerator),
    issuedNs: numbers((it) => it.startNs),
    startNs: numbers((it) => it.startNs),
    endNs: numbers((it) => it.endNs ?? Number.NaN),
    name: Uint32Array.from(operators, (it) => names.of(it.name ?? "pass/layers0")),
    rank: Int16Array.from(operators, (it) => it.rank ?? 0),
    tenant: Int32Array.from(operators, (it) => tenants.of(it.tenant ?? "")),
    request: numbers((it) => it.request ?? 0),
    instance: numbers((it) => it.instance ?? 0),
    round: numbers(() => -1),
    outcome: Uint8Array.from(operators, (it) =>
      OPERATOR_OUTCOMES.indexOf(it.outcome ?? (it.endNs === undefined ? "running" : "done")),
    ),
  };
}

function requestColumns(requests: readonly MadeRequest[], tenants: Index): RunRecord["requests"] {
  const numbers = (of: (it: MadeRequest) => number) => Float64Array.from(requests, of);
  return {
    count: requests.length,
    id: numbers((it) => it.id),
    labels: requests.map((it) => it.label ?? ""),
    rank: Int16Array.from(requests, (it) => it.rank ?? 0),
    tenant: Int32Array.from(requests, (it) => tenants.of(it.tenant ?? "")),
    submittedNs: numbers((it) => it.submittedNs),
    startedNs: numbers((it) => it.submittedNs),
    firstDoneNs: numbers((it) => it.firstTokenNs ?? Number.NaN),
    firstTokenNs: numbers((it) => it.firstTokenNs ?? Number.NaN),
    lastTokenNs: numbers((it) => it.endNs ?? Number.NaN),
    tokens: numbers((it) => it.tokens ?? 0),
    endNs: numbers((it) => it.endNs ?? Number.NaN),
    instancesDone: Uint32Array.from(requests, (it) => it.tokens ?? 0),
    outcome: Uint8Array.from(requests, (it) =>
      REQUEST_OUTCOMES.indexOf(it.outcome ?? (it.endNs === undefined ? "open" : "done")),
    ),
  };
}

function hbmSteps(steps: readonly (readonly [number, number])[]): RunRecord["hbm"][number] {
  return {
    count: steps.length,
    atNs: Float64Array.from(steps, ([atNs]) => atNs),
    usedBytes: Float64Array.from(steps, ([, bytes]) => bytes),
    peakBytes: Math.max(0, ...steps.map(([, bytes]) => bytes)),
  };
}

function noTransfers(): RunRecord["transfers"] {
  const none = new Float64Array(0);
  return {
    count: 0,
    transfer: none,
    source: new Uint16Array(0),
    destination: new Uint16Array(0),
    bytes: none,
    startNs: none,
    endNs: none,
    tensor: none,
    outcome: new Uint8Array(0),
  };
}

class Index {
  readonly names: string[] = [];

  of(name: string): number {
    const known = this.names.indexOf(name);
    return known >= 0 ? known : this.names.push(name) - 1;
  }
}

export interface RunLike {
  readonly accelerators: number;
  readonly operators: number;
  readonly tenants?: number;
  readonly seed?: number;
  /** Mean share of the time that accelerators run something. Default 0.6. */
  readonly busy?: number;
}

/** Requests of a prefill and some decodes of four operators, on one accelerator each, with noise on every duration. */
export function runLike({ accelerators, operators, tenants = 4, seed = 1, busy = 0.6 }: RunLike): RunRecord {
  const random = seededRandom(seed, 7);
  const free = new Float64Array(accelerators);
  const made: MadeOperator[] = [];
  const requests: MadeRequest[] = [];
  let instance = 0;
  while (made.length < operators) {
    const id = requests.length;
    const accelerator = id % accelerators;
    const tenant = `tenant ${Math.floor(random() * tenants)}`;
    const rank = random() < 0.5 ? 0 : 1;
    const arrivedNs = free[accelerator] ?? 0;
    let atNs = arrivedNs + Math.round(random() * 2 * 60e6 * (1 / busy - 1));
    const tokens = 2 + Math.floor(random() * 10);
    let firstTokenNs = atNs;
    for (let token = 0; token < tokens; token++, instance++) {
      for (let group = 0; group < 4; group++) {
        const name = `${token === 0 ? "prefill" : "decode"}/layers${group}`;
        const endNs = atNs + Math.round((token === 0 ? 40e6 : 10.575e6) * (0.97 + 0.06 * random()));
        made.push({ accelerator, startNs: atNs, endNs, name, rank, tenant, request: id, instance });
        atNs = endNs;
      }
      if (token === 0) firstTokenNs = atNs;
    }
    free[accelerator] = atNs;
    requests.push({
      id,
      label: `${tenant} #${id}`,
      rank,
      tenant,
      submittedNs: arrivedNs,
      firstTokenNs,
      endNs: atNs,
      tokens,
    });
  }
  const names = Array.from({ length: accelerators }, (_, i) => `a${i}`);
  const endNs = Math.max(...free);
  const hbm = names.map((_, i) =>
    Array.from({ length: 500 }, (_, k): [number, number] => [
      Math.round((k * endNs) / 500),
      Math.round(20e9 + 20e9 * random()) + i,
    ]),
  );
  return madeRecord({ accelerators: names, endNs, operators: made, requests, hbm });
}

/**
 * What scheduling costs (paper §5.3, Table 1): 1,000 prefills of context length 1 on one accelerator, in a direct loop in C++, through the whole of SliceScheduler, and
 * operator by operator from JavaScript. The three take turns, block by block, so that all meet the same noise.
 */
import type { LlamaShape } from "@slicescheduler/executor-libtorch/llama";
import type { Measure } from "../measurement.ts";
import { cpuCluster, machine, requireBackend } from "./live/backend.ts";
import { median, percent, spread } from "./live/statistics.ts";
import { direct, eager, sliced, type Way } from "./overhead/ways.ts";

const LAYERS = 8;
const OPERATOR_US = [100, 1000];
const GOALS = [0.05, 0.01];
/** Widths to choose from: the first whose operators take so long in the direct loop. */
const WIDTHS = [64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024];
/** A block is to take about so long: long beside its first and last operator, short beside what disturbs the machine. */
const BLOCK_MS = 150;
const WARM_UP_MS = 5000;

interface Point {
  /** Of the fastest prefill of a direct loop: what operators take when nothing disturbs them. */
  readonly operatorUs: number;
  /** Of all prefills. */
  readonly directMs: number;
  readonly slicedMs: number;
  readonly eagerMs: number;
  /** Medians over the blocks, share over the direct loop of the same block. */
  readonly overhead: number;
  readonly eagerOverhead: number;
  /** Fastest block over the fastest block of the direct loop: what is left where nothing else disturbs. */
  readonly overheadOfFastest: number;
  readonly eagerOverheadOfFastest: number;
  /** Of all threads of the process, per operator: less open to what else runs on the machine. */
  readonly cpuUs: { readonly direct: number; readonly sliced: number; readonly eager: number };
  /** Middle half of the direct blocks, as a share of their median. */
  readonly directSpread: number;
  readonly hidden: number;
}

export const measure: Measure = async (args) => {
  requireBackend();
  const at = args.indexOf("--prefills");
  const prefills = at < 0 ? 1000 : Number(args[at + 1]);
  const points: Point[] = [];
  for (const operatorUs of OPERATOR_US) points.push(await measurePoint(await shapeOf(operatorUs), prefills));
  const last = points[points.length - 1];
  const text = [
    `${prefills} prefills of context 1, ${LAYERS} operators each; ${machine(1)}, beside it the thread that schedules`,
    "operator   direct ms   SliceScheduler ms   eager ms   SliceScheduler over direct, fastest (goal)   eager over direct, fastest   spread of direct   CPU µs an operator: direct / SliceScheduler / eager",
    ...points.map((point, i) => rowOf(point, GOALS[i] ?? 0)),
    "paper: SliceScheduler about as fast as direct execution, 8 % faster than eager",
  ].join("\n");
  return {
    text,
    json: {
      directMs: last?.directMs,
      slicedMs: last?.slicedMs,
      eagerMs: last?.eagerMs,
      points,
      prefills,
      layers: LAYERS,
    },
  };
};

function rowOf(point: Point, goal: number): string {
  const { cpuUs } = point;
  const cells = [
    `${point.operatorUs.toFixed(0)} µs`.padEnd(10),
    point.directMs.toFixed(0).padStart(10),
    point.slicedMs.toFixed(0).padStart(20),
    point.eagerMs.toFixed(0).padStart(11),
    `${percent(point.overhead, 1)}, ${percent(point.overheadOfFastest, 1)} (${percent(goal, 0)})`.padStart(45),
    `${percent(point.eagerOverhead, 1)}, ${percent(point.eagerOverheadOfFastest, 1)}`.padStart(29),
    percent(point.directSpread).padStart(19),
    [cpuUs.direct, cpuUs.sliced, cpuUs.eager]
      .map((us) => us.toFixed(0))
      .join(" / ")
      .padStart(30),
  ];
  return cells.join("");
}

function llama(hidden: number): LlamaShape {
  const sizes = { heads: hidden / 32, kvHeads: hidden / 32, headDim: 32, intermediate: Math.round(hidden / 12) * 32 };
  return { name: `h${hidden}`, layers: LAYERS, hidden, vocabulary: 256, ...sizes };
}

/** The narrowest model whose operators take at least so long. */
async function shapeOf(operatorUs: number): Promise<{ readonly shape: LlamaShape; readonly operatorUs: number }> {
  for (const hidden of WIDTHS) {
    const shape = llama(hidden);
    const fastestUs = (await direct(prefillsOf(shape)).fastestNs(40)) / 1e3 / LAYERS;
    if (fastestUs >= operatorUs) return { shape, operatorUs: fastestUs };
  }
  throw new Error(`no width of ${WIDTHS} has operators of ${operatorUs} µs`);
}

function prefillsOf(shape: LlamaShape) {
  return { shape, cluster: cpuCluster(1, 2e9) };
}

async function measurePoint(
  { shape, operatorUs }: { readonly shape: LlamaShape; readonly operatorUs: number },
  prefills: number,
): Promise<Point> {
  const it = prefillsOf(shape);
  const ways = [direct(it), sliced(it), eager(it)];
  try {
    const size = Math.min(prefills, Math.ceil((BLOCK_MS * 1e3) / (operatorUs * LAYERS)));
    const count = Math.ceil(prefills / size);
    for (const way of ways) await warmUp(way, size);
    const blocks: Block[] = [];
    for (let block = 0; block < count; block++) blocks.push(await inTurn(ways, size, block));
    const column = (way: number) => blocks.map(({ ns }) => ns[way] ?? Number.NaN);
    const totalMs = (way: number) => (column(way).reduce((sum, ns) => sum + ns, 0) * prefills) / (count * size) / 1e6;
    const over = (way: number) => median(blocks.map(({ ns }) => (ns[way] ?? Number.NaN) / (ns[0] ?? Number.NaN) - 1));
    const fastest = (way: number) => Math.min(...column(way)) / Math.min(...column(0)) - 1;
    const cpuUs = (way: number) => median(blocks.map(({ cpuUs: us }) => (us[way] ?? Number.NaN) / (size * LAYERS)));
    return {
      operatorUs,
      directMs: totalMs(0),
      slicedMs: totalMs(1),
      eagerMs: totalMs(2),
      overhead: over(1),
      eagerOverhead: over(2),
      overheadOfFastest: fastest(1),
      eagerOverheadOfFastest: fastest(2),
      cpuUs: { direct: cpuUs(0), sliced: cpuUs(1), eager: cpuUs(2) },
      directSpread: spread(column(0)),
      hidden: shape.hidden,
    };
  } finally {
    for (const way of ways) way.close();
  }
}

/** Until the engine has compiled what it will: the same code runs for as long as the service does. */
async function warmUp(way: Way, size: number): Promise<void> {
  const endMs = performance.now() + WARM_UP_MS;
  do await way.run(size);
  while (performance.now() < endMs);
}

/** Of one block of each way: wall time, and time on CPUs of all threads. */
interface Block {
  readonly ns: number[];
  readonly cpuUs: number[];
}

/** One block of each, another one first each time. */
async function inTurn(ways: readonly Way[], size: number, block: number): Promise<Block> {
  const found: Block = { ns: [], cpuUs: [] };
  for (let i = 0; i < ways.length; i++) {
    const index = (i + block) % ways.length;
    const before = process.cpuUsage();
    found.ns[index] = await (ways[index] as Way).run(size);
    const { user, system } = process.cpuUsage(before);
    found.cpuUs[index] = user + system;
  }
  return found;
}

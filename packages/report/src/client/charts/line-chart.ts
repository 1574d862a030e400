/** A chart of lines, one per policy, with a legend of its own that tells the values under the pointer. */
import uPlot from "uplot";
import { create, nameElement, whileSeen } from "../dom.ts";
import type { Colours } from "../theme.ts";
import { font } from "../timeline/surface.ts";

export interface ChartOptions {
  readonly container: HTMLElement;
  /** Names of the lines. */
  readonly names: readonly string[];
  /** Index of the line that is drawn through, and heavier. */
  readonly first: number;
  readonly formatX: (x: number) => string;
  readonly formatY: (y: number) => string;
  /** Marks of the x axis. */
  readonly ticksX: (
    from: number,
    to: number,
    width: number,
  ) => { readonly at: readonly number[]; readonly texts: readonly string[] };
  readonly rangeX: () => readonly [number, number];
  /** Beside the x axis, where its marks have no unit of their own; empty for none. */
  readonly unitX?: () => string;
  /** Above the y axis, likewise. */
  readonly unitY?: () => string;
  /** Smallest top of the y axis. */
  readonly topY: () => number;
  readonly isStepped: boolean;
  /** Upright or level lines, as SLOs and a capacity are. */
  readonly marks?: () => readonly LineMark[];
  /** A stretch was chosen by dragging. */
  readonly onSelect?: (from: number, to: number) => void;
}

/** Of `x` and `y`, one. */
interface LineMark {
  readonly x?: number;
  readonly y?: number;
  readonly text: string;
}

export type ChartData = readonly [ArrayLike<number>, ...ArrayLike<number>[]];

const height = 240;
/** Of the line that tells the unit of the y axis. */
const unitHeight = 24;
/** From an axis to its texts: what uPlot keeps, and what a text centred on the first mark takes. */
const textGap = 9;
const firstMarkPixels = 18;
/** Lines tell each other apart without colours. */
const dashes: readonly (readonly number[])[] = [
  [8, 3],
  [2, 3],
  [10, 3, 2, 3],
  [5, 5],
  [14, 4],
  [2, 6],
  [6, 2, 2, 2],
];

export class LineChart {
  readonly #options: ChartOptions;
  readonly #plotPlace = create("div", { className: "plot" });
  readonly #values: HTMLElement[];
  readonly #samples: HTMLElement[];
  /** After the range of x changed. */
  readonly follow: () => void;
  #data: ChartData = [[]];
  #plot: uPlot | null = null;
  #colours: Colours | null = null;

  constructor(options: ChartOptions) {
    this.#options = options;
    this.#plotPlace.setAttribute("role", "img");
    this.#plotPlace.setAttribute("aria-label", options.container.dataset["label"] ?? "Chart");
    this.#values = options.names.map(() => create("span", { className: "value" }));
    this.#samples = options.names.map(() => create("span", { className: "sample" }));
    const items = options.names.map((name, i) =>
      create("li", {}, this.#samples[i] ?? "", nameElement(name), this.#values[i] ?? ""),
    );
    const legend = create("ul", { className: "legend" }, ...items);
    options.container.replaceChildren(this.#plotPlace, legend);
    this.follow = whileSeen(options.container, () => {
      const [min, max] = options.rangeX();
      this.#plot?.setScale("x", { min, max });
    });
    new ResizeObserver(() => this.#resize()).observe(options.container);
  }

  set data(data: ChartData) {
    this.#data = data;
    this.#build();
  }

  set colours(colours: Colours) {
    this.#colours = colours;
    this.#samples.forEach((sample, i) => {
      sample.replaceChildren(sampleLine(colourOf(colours, i), this.#dash(i)));
    });
    this.#build();
  }

  #dash(line: number): readonly number[] {
    const { first } = this.#options;
    return line === first ? [] : (dashes[(line < first ? line : line - 1) % dashes.length] ?? []);
  }

  #resize(): void {
    const width = this.#options.container.clientWidth;
    if (this.#plot !== null && width > 0 && width !== this.#plot.width) this.#plot.setSize({ width, height });
  }

  /** uPlot keeps its colours: another theme is another plot. */
  #build(): void {
    if (this.#colours === null || this.#data[0].length === 0) return;
    this.#plot?.destroy();
    const plot = new uPlot(this.#plotOptions(this.#colours), this.#data as uPlot.AlignedData, this.#plotPlace);
    this.#plot = plot;
  }

  #plotOptions(colours: Colours): uPlot.Options {
    const { names, rangeX, topY, isStepped, onSelect } = this.#options;
    const stepped = uPlot.paths.stepped?.({ align: 1 });
    const range = (_: uPlot, __: number, max: number): [number, number] => [0, Math.max(topY(), max * 1.05)];
    return {
      width: Math.max(200, this.#options.container.clientWidth),
      height,
      legend: { show: false },
      // As wide as the timelines: what stands below each other happened together.
      padding: [this.#unitY() === "" ? 10 : unitHeight, isStepped ? 0 : 12, 0, 0],
      scales: { x: { time: false, auto: false, range: () => [...rangeX()] }, y: { range } },
      axes: this.#axes(colours),
      series: [
        {},
        ...names.map(
          (_, i): uPlot.Series => ({
            stroke: colourOf(colours, i),
            width: i === this.#options.first ? 2.5 : 1.5,
            dash: [...this.#dash(i)],
            points: { show: false },
            ...(isStepped && stepped !== undefined ? { paths: stepped } : {}),
          }),
        ),
      ],
      cursor: {
        drag: { x: onSelect !== undefined, y: false, setScale: false },
        points: { size: 6 },
        y: false,
      },
      hooks: {
        setCursor: [(plot) => this.#tell(plot)],
        setSelect: [(plot) => this.#select(plot)],
        draw: [(plot) => this.#drawUnits(plot, colours), (plot) => this.#drawMarks(plot, colours)],
      },
    };
  }

  #axes(colours: Colours): uPlot.Axis[] {
    const { ticksX, formatY } = this.#options;
    const common = { stroke: colours.muted, font, ticks: { stroke: colours.grid, width: 1, size: 4 } };
    return [
      {
        ...common,
        grid: { stroke: colours.grid, width: 1 },
        size: 28,
        splits: (plot, _axis, from, to) => [...ticksX(from, to, plot.bbox.width / (devicePixelRatio || 1)).at],
        values: (plot, splits) => {
          const { min = 0, max = 0 } = plot.scales["x"] ?? {};
          const marks = ticksX(min ?? 0, max ?? 0, plot.bbox.width / (devicePixelRatio || 1));
          return splits.map((split) => marks.texts[marks.at.indexOf(split)] ?? "");
        },
      },
      {
        ...common,
        grid: { stroke: colours.grid, width: 1 },
        size: 64,
        values: (_, splits) => splits.map(formatY),
      },
    ];
  }

  #tell(plot: uPlot): void {
    const { idx } = plot.cursor;
    const { formatX, formatY } = this.#options;
    this.#values.forEach((value, i) => {
      const y = idx == null ? undefined : this.#data[i + 1]?.[idx];
      const x = idx == null ? undefined : this.#data[0][idx];
      value.textContent = y === undefined || x === undefined ? "" : ` ${formatY(y)} at ${formatX(x)}`;
    });
  }

  #select(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 3) return;
    this.#options.onSelect?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  #unitY(): string {
    return this.#options.unitY?.() ?? "";
  }

  #drawUnits({ ctx, bbox }: uPlot, colours: Colours): void {
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.fillStyle = colours.muted;
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    ctx.textAlign = "right";
    const unitX = this.#options.unitX?.() ?? "";
    ctx.fillText(unitX, bbox.left - firstMarkPixels * ratio, bbox.top + bbox.height + textGap * ratio);
    ctx.textAlign = "left";
    ctx.fillText(this.#unitY(), 4 * ratio, 0);
    ctx.restore();
  }

  #drawMarks(plot: uPlot, colours: Colours): void {
    this.#options.marks?.().forEach((mark, i) => {
      drawMark(plot, mark, i, colours);
    });
  }
}

/** @param index Its text stands above those of the marks before it. */
function drawMark(plot: uPlot, mark: LineMark, index: number, colours: Colours): void {
  const { ctx, bbox } = plot;
  const at = mark.x === undefined ? plot.valToPos(mark.y ?? 0, "y", true) : plot.valToPos(mark.x, "x", true);
  const isUpright = mark.x !== undefined;
  const from = isUpright ? bbox.left : bbox.top;
  const to = from + (isUpright ? bbox.width : bbox.height);
  if (at < from || at > to) return;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.strokeStyle = colours.alert;
  ctx.fillStyle = colours.alert;
  ctx.lineWidth = ratio;
  ctx.setLineDash([6 * ratio, 4 * ratio]);
  ctx.beginPath();
  ctx.moveTo(isUpright ? at : bbox.left, isUpright ? bbox.top : at);
  ctx.lineTo(isUpright ? at : bbox.left + bbox.width, isUpright ? bbox.top + bbox.height : at);
  ctx.stroke();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  const isPastMiddle = isUpright && at > bbox.left + bbox.width * 0.75;
  ctx.textAlign = isPastMiddle ? "right" : "left";
  const x = isUpright ? at + (isPastMiddle ? -5 : 5) * ratio : bbox.left + 5 * ratio;
  ctx.fillText(mark.text, x, isUpright ? bbox.top + bbox.height - (8 + 14 * index) * ratio : at - 6 * ratio);
  ctx.restore();
}

function colourOf({ series, text }: Colours, line: number): string {
  return series[line % series.length] ?? text;
}

function sampleLine(colour: string, dash: readonly number[]): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const line = document.createElementNS(space, "line");
  const place = { x1: "0", y1: "5", x2: "28", y2: "5", stroke: colour, "stroke-width": "2.5" };
  for (const [name, value] of Object.entries({ ...place, "stroke-dasharray": dash.join(" ") }))
    line.setAttribute(name, value);
  for (const [name, value] of Object.entries({ width: "28", height: "10", "aria-hidden": "true" }))
    svg.setAttribute(name, value);
  svg.append(line);
  return svg;
}

/** A canvas whose pixels are those of the screen. */
export class Surface {
  readonly canvas: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  /** Pixels of the canvas per CSS pixel. */
  ratio = 1;

  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas;
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("this browser draws no canvas");
    this.context = context;
  }

  /** Sizes it in CSS pixels; what was drawn is gone. */
  resize(width: number, height: number): void {
    this.ratio = Math.min(3, devicePixelRatio || 1);
    this.canvas.width = Math.max(1, Math.round(width * this.ratio));
    this.canvas.height = Math.max(1, Math.round(height * this.ratio));
    this.canvas.style.height = `${height}px`;
  }

  get width(): number {
    return this.canvas.width / this.ratio;
  }

  get height(): number {
    return this.canvas.height / this.ratio;
  }

  /** Draws in CSS pixels. */
  begin(): CanvasRenderingContext2D {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    this.context.font = font;
    this.context.textBaseline = "middle";
    return this.context;
  }
}

export const font = "11px system-ui, sans-serif";

/** The text, cut so that it is no wider. */
export function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let low = 0;
  let high = Math.min(text.length, 200);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : `${text.slice(0, low)}…`;
}

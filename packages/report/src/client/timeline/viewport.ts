/** The stretch of time that is shown, in ns from the start. Plain values: every step answers a new one within the span. */
export interface Viewport {
  readonly fromNs: number;
  readonly toNs: number;
  /** Of the longest run. */
  readonly spanNs: number;
}

/** Shorter stretches than this show nothing more. */
const shortestNs = 1000;

export function wholeRun(spanNs: number): Viewport {
  return { fromNs: 0, toNs: spanNs, spanNs };
}

/** @param atNs stays where it is on the screen. @param factor below 1 shows less time. */
export function zoomed(view: Viewport, atNs: number, factor: number): Viewport {
  const lengthNs = boundedLength(view, (view.toNs - view.fromNs) * factor);
  const share = (atNs - view.fromNs) / (view.toNs - view.fromNs);
  return within(view, atNs - share * lengthNs, lengthNs);
}

/** @param share of the stretch, positive for later. */
export function panned(view: Viewport, share: number): Viewport {
  const lengthNs = view.toNs - view.fromNs;
  return within(view, view.fromNs + share * lengthNs, lengthNs);
}

export function movedTo(view: Viewport, fromNs: number): Viewport {
  return within(view, fromNs, view.toNs - view.fromNs);
}

/** The stretch from one time to another, in either order. */
export function between(view: Viewport, aNs: number, bNs: number): Viewport {
  const lengthNs = boundedLength(view, Math.abs(bNs - aNs));
  return within(view, (aNs + bNs - lengthNs) / 2, lengthNs);
}

/** Moves as little as it must for the stretch to be in view; a stretch that does not fit begins at the left. */
export function revealing(view: Viewport, startNs: number, endNs: number): Viewport {
  if (startNs >= view.fromNs && endNs <= view.toNs) return view;
  const lengthNs = view.toNs - view.fromNs;
  const isLater = endNs > view.toNs && endNs - startNs <= lengthNs * 0.8;
  return within(view, isLater ? endNs - lengthNs * 0.9 : startNs - lengthNs * 0.1, lengthNs);
}

function boundedLength({ spanNs }: Viewport, lengthNs: number): number {
  return Math.min(spanNs, Math.max(Math.min(shortestNs, spanNs), lengthNs));
}

function within({ spanNs }: Viewport, fromNs: number, lengthNs: number): Viewport {
  const from = Math.max(0, Math.min(spanNs - lengthNs, fromNs));
  return { fromNs: from, toNs: from + lengthNs, spanNs };
}

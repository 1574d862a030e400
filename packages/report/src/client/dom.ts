/** Elements of the page, and new ones; text is only ever set as text. */

/** The element that matches; an Error when the page lacks it. */
export function find<Element extends HTMLElement>(
  selector: string,
  kind: new () => Element,
  within: ParentNode = document,
): Element {
  const found = within.querySelector(selector);
  if (found instanceof kind) return found;
  throw new Error(`the page has no ${selector}`);
}

export function create<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<Pick<HTMLElement, "className" | "textContent" | "hidden" | "id" | "title">> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A name from a run, set apart from the direction of the text around it. */
export function nameElement(text: string): HTMLElement {
  return create("bdi", { textContent: text });
}

/** Calls back at most once per frame, however often it is asked to. */
export function oncePerFrame(draw: () => void): () => void {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      draw();
    });
  };
}

/** Calls back when nobody has asked again for so long. */
export function onceAtRest(restMs: number, tell: () => void): () => void {
  let isWaiting = false;
  let sinceMs: number | null = null;
  const look = (nowMs: number): void => {
    sinceMs ??= nowMs;
    isWaiting = nowMs - sinceMs < restMs;
    if (isWaiting) requestAnimationFrame(look);
    else tell();
  };
  return () => {
    sinceMs = null;
    if (!isWaiting) requestAnimationFrame(look);
    isWaiting = true;
  };
}

/** Draws at once while the element is in view or nearly so, else when it comes into view; paper shows all. */
export function whileSeen(element: HTMLElement, draw: () => void): () => void {
  let isSeen = true;
  let isStale = false;
  const observer = new IntersectionObserver(
    (entries) => {
      isSeen = entries.at(-1)?.isIntersecting ?? true;
      if (!isSeen || !isStale) return;
      isStale = false;
      draw();
    },
    { rootMargin: "400px" },
  );
  observer.observe(element);
  return () => {
    if (isSeen || document.documentElement.classList.contains("printing")) draw();
    else isStale = true;
  };
}

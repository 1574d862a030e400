/** Blocks of the page: base64 of deflated columns, inflated by the browser itself. */
import { type Packed, unpack } from "../shared/columns.ts";
import { visible } from "../shared/visible.ts";

/** @param id of the element. Rejects when the block is not there or broken. */
export async function readBlock<Meta>(id: string): Promise<Packed<Meta>> {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no block ${id}`);
  const bytes = bytesOf(element.textContent);
  // The text is as large as all else together and is needed no more.
  element.remove();
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const { meta, columns } = unpack<Meta>(new Uint8Array(await new Response(inflated).arrayBuffer()));
  return { meta: withVisibleTexts(meta), columns };
}

/** Here, once, so that no legend, label or canvas can forget it. */
function withVisibleTexts<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), (_, part: unknown) => (typeof part === "string" ? visible(part) : part));
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

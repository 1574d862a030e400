/** Paths into a document: as segments, as a map key, and as people read them. */

export type PathSegment = string | number;

/** A JSON pointer (RFC 6901). */
export function pointer(path: readonly PathSegment[]): string {
  return path.map((segment) => `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The segments of a JSON pointer; whole numbers become indices. */
export function segments(jsonPointer: string): PathSegment[] {
  if (jsonPointer === "") return [];
  return jsonPointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part) => (/^(0|[1-9]\d{0,8})$/.test(part) ? Number(part) : part));
}

/** `accelerators[2].hbm`. */
export function faultPath(path: readonly PathSegment[]): string {
  return path.reduce<string>((text, segment) => {
    if (typeof segment === "number") return `${text}[${segment}]`;
    if (!/^[A-Za-z_$][\w$]*$/.test(segment)) return `${text}[${shortened(segment)}]`;
    return text === "" ? segment : `${text}.${segment}`;
  }, "");
}

/** The segments of a path as `faultPath` and the packages below write it; what cannot be read ends it. */
export function pathSegments(path: string): PathSegment[] {
  const found: PathSegment[] = [];
  const pattern = /\.?([A-Za-z_$][\w$]*)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\]/y;
  while (pattern.lastIndex < path.length) {
    const match = pattern.exec(path);
    if (match === null) break;
    const [, name, index, quoted] = match;
    if (index !== undefined) found.push(Number(index));
    else found.push(name ?? unquoted(quoted ?? ""));
  }
  return found;
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

function shortened(key: string): string {
  return JSON.stringify(key.length > 60 ? `${key.slice(0, 60)}…` : key);
}

/** What a loader may be handed by a broken disk, another program or an attacker, made out of what it should be handed. */
import fc from "fast-check";

/**
 * What may stand where something else stood. Some have names that objects inherit, some cannot be put into words: a message that
 * wants to quote them throws instead, or is as long as they are.
 */
const strange: fc.Arbitrary<unknown> = fc.oneof(
  fc.integer({ min: -2, max: 9 }),
  fc.constantFrom(0.5, -0, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 1e308, 5e-324, Number.NaN, Number.POSITIVE_INFINITY),
  fc.constantFrom<unknown>(null, undefined, true, 10n, "", "a0", "__proto__", "constructor", "\u0000", "1e999"),
  fc
    .constantFrom(
      () => [],
      () => [0],
      () => [[0]],
      () => new Array(3),
      () => new Array(2000).fill(null),
    )
    .map((make) => make()),
  fc
    .constantFrom(
      '{"__proto__": {"polluted": 1}}',
      '{"constructor": {"prototype": {"polluted": 1}}}',
      '{"toString": 1, "valueOf": 1}',
      '{"toJSON": null, "length": 4294967295}',
    )
    .map((text) => JSON.parse(text)),
  fc
    .constantFrom(
      () => "x".repeat(100_000),
      () => nested(20_000),
      () => Object.create(null),
      () => new Date(Number.NaN),
    )
    .map((make) => make()),
);

/** Lists in lists: what a recursion without an end to it falls over. */
function nested(depth: number): unknown {
  let value: unknown = [];
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

const change = fc.record({
  /** Which way to go at each level, modulo what is there. */
  way: fc.array(fc.nat(1000), { minLength: 6, maxLength: 6 }),
  depth: fc.integer({ min: 1, max: 6 }),
  kind: fc.constantFrom("replace", "nudge", "delete", "rename", "swap", "repeat", "truncate"),
  value: strange,
  by: fc.constantFrom(-1, 1, 2, 2 ** 40),
  name: fc.constantFrom("__proto__", "constructor", "prototype", "length", "x"),
});

type Change = typeof change extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** Copies of a plain value with one to three changes somewhere inside, seldom something else altogether. */
export function damaged(value: object): fc.Arbitrary<unknown> {
  const copy = fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    const root: object = structuredClone(value);
    for (const each of changes) apply(root, each);
    return root;
  });
  return fc.oneof({ weight: 30, arbitrary: copy }, { weight: 1, arbitrary: strange });
}

function apply(root: object, { way, depth, kind, value, by, name }: Change): void {
  const { parent, key } = placeIn(root, way.slice(0, depth));
  if (key === undefined) return;
  const old: unknown = Reflect.get(parent, key);
  const other = Object.keys(parent).find((each) => each !== key) ?? key;
  switch (kind) {
    case "replace":
      define(parent, key, value);
      break;
    case "nudge":
      define(parent, key, typeof old === "number" ? old + by : `${typeof old === "string" ? old : "u"}u`);
      break;
    case "delete":
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else Reflect.deleteProperty(parent, key);
      break;
    case "rename":
      if (!Array.isArray(parent)) Reflect.deleteProperty(parent, key);
      define(parent, Array.isArray(parent) ? key : name, old);
      break;
    case "swap":
      define(parent, key, Reflect.get(parent, other));
      define(parent, other, old);
      break;
    case "repeat":
      if (Array.isArray(parent)) parent.push(old);
      break;
    case "truncate":
      if (Array.isArray(parent)) parent.length = Number(key);
      else if (typeof old === "string") define(parent, key, old.slice(0, -1));
      break;
  }
}

function placeIn(root: object, way: readonly number[]): { parent: object; key: string | undefined } {
  let parent = root;
  let key: string | undefined;
  for (const pick of way) {
    const inner: unknown = key === undefined ? parent : Reflect.get(parent, key);
    if (typeof inner !== "object" || inner === null) break;
    const keys = Object.keys(inner);
    const next = keys[pick % keys.length];
    if (next === undefined) break;
    parent = inner;
    key = next;
  }
  return { parent, key };
}

/** An own property even if it is called `__proto__`, as JSON.parse makes it. */
function define(target: object, key: string, value: unknown): void {
  Reflect.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

/** The text with a few pieces cut out, doubled or put in. @param pieces what is put in, beside any characters. */
export function damagedText(text: string, pieces: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.nat(),
    removed: fc.oneof(fc.constant(0), fc.nat(12)),
    inserted: fc.oneof(fc.constantFrom("", ...pieces), fc.string({ maxLength: 3, unit: "binary" })),
  });
  return fc.array(edit, { minLength: 1, maxLength: 4 }).map((edits) =>
    edits.reduce((whole, { at, removed, inserted }) => {
      const begin = at % (whole.length + 1);
      return whole.slice(0, begin) + inserted + whole.slice(begin + removed);
    }, text),
  );
}

/**
 * What loading gives, or undefined when it is refused as it should be: by an error of the package's own that can be told apart
 * and read. Throws when it is anything else, and when loading has changed what all objects inherit.
 */
export function loaded<Value>(load: () => Value, isOwn: (error: unknown) => boolean): Value | undefined {
  let value: Value | undefined;
  try {
    value = load();
  } catch (error) {
    if (!isOwn(error)) throw error;
    requireReadable(error as Error & { code?: unknown });
  }
  const polluted = [...Object.keys(Object.prototype), ...Object.keys(Array.prototype)];
  if (polluted.length > 0 || Reflect.has({}, "polluted")) throw new Error(`prototypes have ${polluted.join()}`);
  return value;
}

function requireReadable(error: Error & { code?: unknown }): void {
  const { code, message } = error;
  const begin = message.slice(0, 200);
  if (typeof code !== "string" || code === "") throw new Error(`no code: ${begin}`, { cause: error });
  if (message === "" || message.length > MESSAGE_LENGTH_MAX) {
    throw new Error(`a message of ${message.length} characters: ${begin}`, { cause: error });
  }
}

/** Of an error: twenty faults with a path and a few names each. */
const MESSAGE_LENGTH_MAX = 50_000;

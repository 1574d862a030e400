/**
 * A number of elements or bytes that depends on a template's symbols: a polynomial with whole coefficients, such as
 * `2 * tokens * past + 64`. Immutable.
 */
export class Size {
  /** Factors in order of their names, joined by `*`; the empty text is the constant. No coefficient is 0. */
  readonly #terms: ReadonlyMap<string, number>;

  private constructor(terms: ReadonlyMap<string, number>) {
    this.#terms = terms;
  }

  static of(value: number | string | Size): Size {
    if (value instanceof Size) return value;
    if (typeof value === "string") return new Size(new Map([[value, 1]]));
    return new Size(value === 0 ? new Map() : new Map([["", value]]));
  }

  static product(sizes: readonly (number | string | Size)[]): Size {
    return sizes.reduce<Size>((product, size) => product.times(size), Size.of(1));
  }

  plus(other: number | string | Size): Size {
    return this.#combine(Size.of(other), 1);
  }

  minus(other: number | string | Size): Size {
    return this.#combine(Size.of(other), -1);
  }

  times(other: number | string | Size): Size {
    const terms = new Map<string, number>();
    for (const [a, x] of this.#terms) {
      for (const [b, y] of Size.of(other).#terms) {
        const key = [...factorsOf(a), ...factorsOf(b)].sort().join("*");
        terms.set(key, (terms.get(key) ?? 0) + x * y);
      }
    }
    return new Size(withoutZeros(terms));
  }

  /** The value, if it depends on no symbol. */
  get constant(): number | undefined {
    if (this.#terms.size === 0) return 0;
    return this.#terms.size === 1 ? this.#terms.get("") : undefined;
  }

  /** Whether it is at least the other one whatever the symbols are, from 0: no coefficient is smaller. */
  covers(other: Size): boolean {
    const keys = new Set([...this.#terms.keys(), ...other.#terms.keys()]);
    return [...keys].every((key) => (this.#terms.get(key) ?? 0) >= (other.#terms.get(key) ?? 0));
  }

  evaluate(symbols: Readonly<Record<string, number>>): number {
    let sum = 0;
    for (const [key, coefficient] of this.#terms) {
      sum += factorsOf(key).reduce((product, name) => product * (symbols[name] ?? Number.NaN), coefficient);
    }
    return sum;
  }

  /** In the grammar of a template's expressions. Subtractions come last, so that no partial sum of a positive size is negative. */
  toString(): string {
    const positive: string[] = [];
    const negative: string[] = [];
    for (const [key, coefficient] of this.#terms) {
      const factors = [
        ...(Math.abs(coefficient) === 1 && key !== "" ? [] : [Math.abs(coefficient)]),
        ...factorsOf(key),
      ];
      (coefficient > 0 ? positive : negative).push(factors.join(" * "));
    }
    return [positive.join(" + ") || "0", ...negative].join(" - ");
  }

  #combine(other: Size, sign: 1 | -1): Size {
    const terms = new Map(this.#terms);
    for (const [key, coefficient] of other.#terms) terms.set(key, (terms.get(key) ?? 0) + sign * coefficient);
    return new Size(withoutZeros(terms));
  }
}

/** The largest of several sizes, as an expression; those that another one covers are left out. 0 for none. */
export function largest(sizes: readonly Size[]): string {
  const kept: Size[] = [];
  for (const size of sizes) {
    if (kept.some((other) => other.covers(size))) continue;
    for (let i = kept.length - 1; i >= 0; i--) if (size.covers(kept[i] as Size)) kept.splice(i, 1);
    kept.push(size);
  }
  const texts = kept.map(String);
  return texts.length > 1 ? `max(${texts.join(", ")})` : (texts[0] ?? "0");
}

function factorsOf(key: string): string[] {
  return key === "" ? [] : key.split("*");
}

function withoutZeros(terms: ReadonlyMap<string, number>): Map<string, number> {
  return new Map([...terms].filter(([, coefficient]) => coefficient !== 0));
}

/** What keeps an example from starting and its reader can mend is told in one line; everything else stays an error. */

/** The port that the environment names, else `usual`. */
export function portOf(name: string, usual: number): number {
  const text = process.env[name] ?? String(usual);
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  return end(2, `${name} is ${JSON.stringify(text)}: a port is a whole number from 0, for any that is free, to 65535`);
}

/** The token of the live view that the environment names, if any. */
export function tokenOf(name: string): { readonly token?: string } {
  const token = process.env[name];
  if (token === undefined || token.length >= TOKEN_CHARACTERS_MIN) return token === undefined ? {} : { token };
  return end(2, `${name} has ${token.length} characters: a token has at least ${TOKEN_CHARACTERS_MIN}, random ones`);
}

/** @param ports by the names that the environment has for them. */
export async function listening<T>(ports: Readonly<Record<string, number>>, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    const { code, port } = systemError(error);
    const why = REASONS[code];
    if (why === undefined) throw error;
    const names = Object.keys(ports);
    const name = names.find((it) => ports[it] === port) ?? names.join(" or ");
    return end(1, `port ${port} ${why}: set ${name} to another one, or to 0 for any that is free`);
  }
}

const TOKEN_CHARACTERS_MIN = 16;
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "is taken",
  EACCES: "may not be listened on",
};

function systemError(error: unknown): { readonly code: string; readonly port: unknown } {
  const of = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return of instanceof Error && "code" in of ? { code: String(of.code), port: Reflect.get(of, "port") } : NONE;
}

const NONE = { code: "", port: null };

function end(code: number, line: string): never {
  console.error(line);
  process.exit(code);
}

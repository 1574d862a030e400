import fc from "fast-check";
import { expect, test } from "vitest";
import { sparseOf } from "./byte-vectors.ts";
import { GrantBook, type GrantHolder, type Shortage } from "./grants.ts";

const ACCELERATORS = 5;
const ROOM_BYTES = 20;

interface Holder extends GrantHolder {
  readonly id: number;
}

function holderOf(id: number, growing: boolean): Holder {
  const none = () => new Float64Array(ACCELERATORS);
  return { id, growing, accelerators: [], reservedBytes: none(), usedBytes: none(), workspaceBytes: none() };
}

interface DenseGrant {
  readonly claim: Float64Array;
  readonly take: Float64Array;
  readonly workspaceBytes: Float64Array;
}

/** Counts everything again from the holders, and lets anyone end who can until nobody can. */
class Twin {
  readonly holders = new Set<Holder>();

  readonly #workspace = (a: number, more: Float64Array) =>
    Math.max(more[a] as number, ...[...this.holders].map((each) => each.workspaceBytes[a] as number));

  /** @param inOrder Growing holders as the book would try them. */
  lackFor(holder: Holder, { claim, take, workspaceBytes }: DenseGrant, inOrder: readonly Holder[]): Shortage | null {
    const all = [...new Set([...this.holders, holder])].map((each) => ({
      each,
      reserved: each.reservedBytes.map((bytes, a) => bytes + (each === holder ? (claim[a] as number) : 0)),
      used: each.usedBytes.map((bytes, a) => bytes + (each === holder ? (take[a] as number) : 0)),
    }));
    const places = [...claim.keys()];
    const sum = (bytes: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + bytes(one), 0);
    const room = places.map((a) => ROOM_BYTES - this.#workspace(a, workspaceBytes));
    const free = places.map(
      (a) => (room[a] as number) - sum(({ each, reserved, used }) => (each.growing ? used[a] : reserved[a]) as number),
    );
    const isConcerned = places.map((a) => [claim, take, workspaceBytes].some((bytes) => (bytes[a] as number) > 0));
    const worst = most(
      places.filter((a) => isConcerned[a]),
      (a) => -(free[a] as number),
    );
    if (worst !== null) {
      const addedBytes = (holder.growing ? take : claim)[worst] as number;
      const neededBytes = addedBytes + this.#workspace(worst, workspaceBytes);
      const availableBytes = Math.max(0, neededBytes + (free[worst] as number));
      return { accelerator: worst, neededBytes, availableBytes, cause: "room" };
    }
    const contended = places.filter((a) => sum(({ reserved }) => reserved[a] as number) > (room[a] as number));
    if (!contended.some((a) => isConcerned[a])) return null;
    const waiting = new Set(all.filter(({ each }) => each.growing));
    const missing = ({ reserved, used }: (typeof all)[number], a: number) =>
      (reserved[a] as number) - (used[a] as number);
    for (let moved = true; moved; ) {
      moved = false;
      for (const one of waiting) {
        if (contended.some((a) => missing(one, a) > (free[a] as number))) continue;
        waiting.delete(one);
        for (const a of places) free[a] = (free[a] as number) + (one.used[a] as number);
        moved = true;
      }
    }
    if (waiting.size === 0) return null;
    // One whose claim is set aside waits for nobody: then the first of those that would.
    const shown = [holder, ...inOrder]
      .map((first) => [...waiting].find(({ each }) => each === first))
      .find((one) => one !== undefined);
    if (shown === undefined) throw new Error("somebody is stuck");
    const accelerator = most(contended, (a) => missing(shown, a) - Math.max(0, free[a] as number)) as number;
    const availableBytes = Math.max(0, free[accelerator] as number);
    return { accelerator, neededBytes: missing(shown, accelerator), availableBytes, cause: "order" };
  }
}

/** The first of those with the most, which is above 0. */
function most(places: readonly number[], of: (place: number) => number): number | null {
  let best: number | null = null;
  for (const place of places) if (of(place) > (best === null ? 0 : of(best))) best = place;
  return best;
}

const few = fc
  .array(fc.tuple(fc.nat(ACCELERATORS - 1), fc.integer({ min: 1, max: 14 })), { minLength: 1, maxLength: 3 })
  .map((entries) => {
    const bytes = new Float64Array(ACCELERATORS);
    for (const [a, amount] of entries) bytes[a] = amount;
    return bytes;
  });

const commands = fc.array(
  fc.record({
    what: fc.constantFrom(
      "place",
      "place",
      "place",
      "take",
      "take",
      "take",
      "giveBack",
      "unreserve",
      "keepOnlyUsed",
      "remove",
    ),
    who: fc.nat(),
    growing: fc.constantFrom(true, true, true, false),
    claim: few,
    share: fc.nat(3),
    workspaceBytes: few.map((bytes) => bytes.map((each) => Math.ceil(each / 4))),
  }),
  { minLength: 20, maxLength: 60 },
);

test("grants and refuses, for the same reason, what a recount over all holders and accelerators does", () => {
  const causes = { none: 0, room: 0, order: 0, claim: 0 };
  fc.assert(
    fc.property(commands, (all) => {
      const book = new GrantBook<Holder>(ACCELERATORS, () => ROOM_BYTES, true);
      const twin = new Twin();
      const ask = (holder: Holder, grant: DenseGrant) => {
        const { claim, take, workspaceBytes } = grant;
        const asked = { claim: sparseOf(claim), take: sparseOf(take), workspaceBytes: sparseOf(workspaceBytes) };
        const before = structuredClone({ ...holder });
        const inOrder = [...book.holders()];
        const lack = book.lackFor(holder, asked);
        expect(holder).toEqual(before);
        expect(lack).toEqual(twin.lackFor(holder, grant, inOrder));
        causes[lack?.cause ?? "none"] += 1;
        if (lack !== null) return;
        book.grant(holder, asked);
        twin.holders.add(holder);
      };
      for (const [id, { what, who, growing, claim, share, workspaceBytes }] of all.entries()) {
        const nothing = new Float64Array(ACCELERATORS);
        if (what === "place") {
          const holder = holderOf(id, growing);
          ask(holder, {
            claim,
            take: growing ? claim.map((bytes) => Math.floor((bytes * share) / 3)) : nothing,
            workspaceBytes,
          });
        } else {
          const holder = [...twin.holders][who % Math.max(1, twin.holders.size)];
          if (holder === undefined) continue;
          const { reservedBytes, usedBytes } = holder;
          const part = (bytes: number) => Math.ceil((bytes * share) / 3);
          if (what === "take" && holder.growing) {
            const take = reservedBytes.map((bytes, a) => part(bytes - (usedBytes[a] as number)));
            ask(holder, { claim: nothing, take, workspaceBytes: nothing });
          } else if (what === "giveBack" && holder.growing) {
            for (const a of usedBytes.keys()) book.giveBack(holder, a, part(usedBytes[a] as number));
          } else if (what === "unreserve") {
            book.unreserve(holder, sparseOf(reservedBytes.map((bytes, a) => part(bytes - (usedBytes[a] as number)))));
          } else if (what === "keepOnlyUsed") book.keepOnlyUsed(holder);
          else if (what === "remove") {
            expect(book.remove(holder)).toBe(true);
            twin.holders.delete(holder);
          }
        }
        expectSame(book, twin);
      }
    }),
    { numRuns: 400 },
  );
  for (const cause of ["none", "room", "order"] as const) expect(causes[cause]).toBeGreaterThan(100);
});

function expectSame(book: GrantBook<Holder>, { holders }: Twin): void {
  expect(new Set(book.holders())).toEqual(holders);
  for (let a = 0; a < ACCELERATORS; a++) {
    const all = [...holders];
    const sum = (bytes: (holder: Holder) => number) => all.reduce((total, holder) => total + bytes(holder), 0);
    const counted = [book.reservedBytes(a), book.takenBytes(a), book.workspaceBytes(a)];
    expect(counted).toEqual([
      sum(({ reservedBytes }) => reservedBytes[a] as number),
      sum(({ growing, usedBytes, reservedBytes }) => (growing ? usedBytes : reservedBytes)[a] as number),
      Math.max(0, ...all.map(({ workspaceBytes }) => workspaceBytes[a] as number)),
    ]);
  }
  for (const { accelerators, reservedBytes } of holders)
    expect(accelerators).toEqual([...reservedBytes.keys()].filter((a) => (reservedBytes[a] as number) > 0));
}

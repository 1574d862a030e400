/** Which colour an operator has: a slot of the palette, alike in all policies. */
import { type ColourNames, namedColours } from "../../shared/blocks.ts";
import type { Timeline } from "./timeline.ts";

export type ColourMode = "tenant" | "class" | "operator";

/** Of all names without a colour of their own. */
export const otherColour = namedColours;
/** Slots: each colour plain and, for less urgent operators, hatched; then what failed. */
export const hatchedFrom = 8;
export const failedSlot = 16;
export const slotCount = 17;

/** Slot of each operator. Linear. */
export function slotsOf(timeline: Timeline, mode: ColourMode, names: ColourNames): Uint8Array {
  const { meta, name, outcome, instance, instanceRank, instanceTenant } = timeline;
  const failed = meta.outcomes.map((word) => word === "failed" || word === "lost");
  const colourOfTenant = meta.tenants.map((tenant) => colourOf(names.tenants, tenant));
  const colourOfName = meta.operatorNames.map((operator) => colourOf(names.operators, operator));
  const slots = new Uint8Array(name.length);
  for (let i = 0; i < slots.length; i++) {
    const of = instance[i] ?? 0;
    const rank = instanceRank[of] ?? -1;
    let colour = otherColour;
    if (mode === "tenant") colour = colourOfTenant[instanceTenant[of] ?? 0] ?? otherColour;
    else if (mode === "operator") colour = colourOfName[name[i] ?? 0] ?? otherColour;
    else if (rank >= 0) colour = Math.min(rank, otherColour);
    slots[i] = failed[outcome[i] ?? 0] === true ? failedSlot : rank > 0 ? colour + hatchedFrom : colour;
  }
  return slots;
}

function colourOf(names: readonly string[], name: string): number {
  const at = names.indexOf(name);
  return at >= 0 && at < namedColours ? at : otherColour;
}

export interface LegendEntry {
  readonly slot: number;
  readonly text: string;
}

/** What the colours mean, of slots that occur. */
export function legendOf(
  mode: ColourMode,
  names: ColourNames,
  priorities: readonly string[],
  used: ReadonlySet<number>,
): LegendEntry[] {
  const lists = { tenant: names.tenants, class: priorities, operator: names.operators };
  const entries: LegendEntry[] = [];
  for (let colour = 0; colour <= otherColour; colour++) {
    const isUsed = used.has(colour) || used.has(colour + hatchedFrom);
    if (!isUsed) continue;
    const isOther = colour === otherColour;
    const text = isOther ? "others" : (lists[mode][colour] ?? "others");
    const slot = used.has(colour) ? colour : colour + hatchedFrom;
    entries.push({ slot, text: text === "" ? "no tenant named" : text });
  }
  const isHatched = [...used].some((slot) => slot >= hatchedFrom && slot < failedSlot);
  if (isHatched) entries.push({ slot: otherColour + hatchedFrom, text: "hatched: less urgent" });
  if (used.has(failedSlot)) entries.push({ slot: failedSlot, text: "failed or lost" });
  return entries;
}

/**
 * Characters that nobody sees, some of which turn what stands beside them round: all control and format characters but tab, line feed and the joiners that
 * scripts and emoji need. Text, because the page's script has it as well.
 */
export const UNSEEN = "[^\\P{Cc}\\t\\n]|[^\\P{Cf}\\u200c\\u200d]|[\\p{Zl}\\p{Zp}]";

/** Each of them as JSON writes it. */
export function visible(text: string): string {
  return text.replace(new RegExp(UNSEEN, "gu"), (character) =>
    Array.from(
      { length: character.length },
      (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}

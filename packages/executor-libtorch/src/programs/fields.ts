import { didYouMeanOneOf } from "@slicescheduler/templates/validation";

/**
 * The first field of an object that is none of its kind, in words for a message: a misspelt one would be without effect. Undefined where all are known.
 * @param near Names to suggest. Default: the known ones.
 */
export function unknownField(
  given: object,
  known: readonly string[],
  near: readonly string[] = known,
): string | undefined {
  const field = Object.keys(given).find((name) => !known.includes(name));
  if (field === undefined) return undefined;
  const shown = JSON.stringify(field.length > 60 ? `${field.slice(0, 60)}…` : field);
  return `there is no field ${shown}, only ${known.join(", ")}${didYouMeanOneOf(field, near)}`;
}

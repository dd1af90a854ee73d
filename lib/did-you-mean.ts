import { closest, distance } from "fastest-levenshtein";

function nearestName(word: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined;
  const nearest = closest(word, [...known]);
  return distance(word, nearest) <= Math.max(2, Math.floor(word.length / 3)) ? nearest : undefined;
}

export function didYouMean(word: string, known: readonly string[]): string {
  const nearest = nearestName(word, known);
  return nearest === undefined ? "" : ` did you mean ${nearest}?`;
}

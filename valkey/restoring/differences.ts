/** The differences between a server and the archive, as lines of text. Pure. */
import { counted } from "../../lib/units";
import type { ServerComparison } from "./compare-servers";

/** A line for each difference that the comparison lists, and a line for the number of the others. */
export function differencesOf({ server, comparison: { first, differing, libraries } }: ServerComparison): string[] {
  const rest = differing - first.length;
  return [
    ...first.map(
      ({ database, key, kind }) => `  ${server}: database ${database}, key ${JSON.stringify(key.toString())}: ${kind}`,
    ),
    ...(rest > 0 ? [`  ${server}: and ${counted(rest, "more key")}`] : []),
    ...libraries.map((name) => `  ${server}: library of functions ${JSON.stringify(name)} differs`),
  ];
}

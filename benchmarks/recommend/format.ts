import { counted, formatCount } from "../../lib/units";
import { textTable } from "../../lib/table";
import type { Recommendation } from "./recommendation";

/** If measurements are missing, the lines list the missing measurements instead. */
export function formatRecommendation({ options, arithmetic, assumptions, missing }: Recommendation): string[] {
  const [best] = options;
  const bullets = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
  if (best === undefined) {
    const [first = "no machine type is large enough", ...others] = missing;
    return [`No recommendation: ${first}`, ...others.map((line) => `  ${line}`), ...bullets("Assumed", assumptions)];
  }
  const shape =
    best.mode === "replication"
      ? `replication, 1 primary with ${counted(best.replicas, "replica")}`
      : `cluster, ${best.primaries} primaries with ${counted(best.replicas, "replica")} each`;
  const rows = options.map(({ mode, primaries, replicas, machine, ioThreads, usdPerMonth, utilisation }) => [
    mode,
    String(primaries),
    String(primaries * (1 + replicas)),
    machine.type,
    String(ioThreads),
    `${Math.round(100 * utilisation)} %`,
    `$${formatCount(usdPerMonth)}`,
  ]);
  return [
    `Recommended: ${shape}, on ${best.machine.type} with io-threads ${best.ioThreads}: ` +
      `$${formatCount(best.usdPerMonth)} a month for its machines`,
    "",
    ...textTable([["Mode", "Primaries", "Machines", "Type", "io-threads", "Used", "A month"], ...rows], " rr rrr"),
    ...bullets("Because", arithmetic),
    ...bullets("Assumed", assumptions),
  ];
}

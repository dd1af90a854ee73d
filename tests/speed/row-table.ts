/** Results as a table for the terminal. Pure. */
import { textTable } from "../../lib/table";
import { formatCount } from "../../lib/units";
import type { BenchRow } from "./row";

export function rowTable(results: readonly BenchRow[]): string[] {
  const rows = results.map(({ id, unit, ours, reference, ratio, target, met, what }) => [
    id,
    figure(ours),
    reference === null ? "–" : figure(reference),
    unit,
    ratio === null ? "–" : ratio.toPrecision(3),
    target,
    met ? "✓" : "✗ missed",
    what,
  ]);
  return textTable([["ID", "OURS", "REFERENCE", "UNIT", "RATIO", "TARGET", "MET", "WHAT"], ...rows], " rr r");
}

function figure(value: number): string {
  return Math.abs(value) >= 1000 ? formatCount(value) : value.toPrecision(3);
}

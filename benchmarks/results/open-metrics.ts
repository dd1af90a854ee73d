/**
 * results.om: the figures of a run in the OpenMetrics text format 1.0, dated by the run: for a textfile collector, or for
 * `promtool tsdb create-blocks-from openmetrics`. Pure.
 */
import { formatObjective } from "../capacity/objective";
import type { Row } from "./rows";
import { rowsOf } from "./rows";
import type { CapacityRecord, Results } from "./schema";

type Labels = Readonly<Record<string, string | number>>;

interface Family {
  readonly name: string;
  readonly help: string;
  /** The end of the name, where the format has one. */
  readonly unit?: string;
  readonly samples: readonly (readonly [labels: Labels, value: number])[];
}

const PREFIX = "valkey_measured";

export function formatOpenMetrics(results: Results): string {
  const seconds = Date.parse(isoOf(results.timestamp)) / 1000;
  const lines = familiesOf(results).flatMap(({ name, help, unit, samples }) =>
    samples.length === 0
      ? []
      : [`# TYPE ${name} gauge`, ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]), `# HELP ${name} ${escapeText(help)}`, ...samples.map(([labels, value]) => `${name}${formatLabels(labels)} ${value} ${seconds}`)],
  );
  return [...lines, "# EOF"].map((line) => `${line}\n`).join("");
}

function familiesOf(results: Results): Family[] {
  const rows = rowsOf(results);
  const { environment, study, stack } = results;
  const labelsOf = ({ deployment, mode, title, records }: Row): Labels => ({ stack, deployment, mode, test: title, clients: records[0]?.clients ?? 0, pipeline: records[0]?.pipeline ?? 0, datasize: records[0]?.dataSize ?? 0 });
  const each = (value: (row: Row) => number | null): Family["samples"] => rows.flatMap((row): Family["samples"] => {
    const known = value(row);
    return known === null ? [] : [[labelsOf(row), known]];
  });
  const quantiles = (row: Row): Family["samples"] => ([["0.5", row.p50Ms], ["0.95", row.p95Ms], ["0.99", row.p99Ms]] as const).map(([quantile, ms]) => [{ ...labelsOf(row), quantile }, Number((ms / 1000).toPrecision(9))]);
  const comparisons = (figure: "ratio" | "low" | "high"): Family["samples"] =>
    (study?.comparisons ?? []).flatMap((comparison): Family["samples"] => {
      const value = comparison[figure];
      return value === null ? [] : [[{ stack, test: comparison.title, figure: comparison.figure, base: comparison.base, other: comparison.other, verdict: comparison.verdict }, value]];
    });
  const capacities = (figure: (capacity: CapacityRecord) => number | null): Family["samples"] =>
    results.capacities.flatMap((capacity): Family["samples"] => {
      const value = figure(capacity);
      return value === null ? [] : [[{ stack, deployment: capacity.deployment, mode: capacity.mode, workload: capacity.workload, objective: formatObjective(capacity.objective), open_ended: String(capacity.isOpenEnded) }, value]];
    });
  return [
    { name: `${PREFIX}_run`, help: "The run: 1 when it is complete", samples: [[{ stack, machine: environment.cpuModel, cores: environment.coresAvailable, kernel: environment.kernel, version: environment.programs?.version ?? "unknown" }, results.complete ? 1 : 0]] },
    { name: `${PREFIX}_requests_per_second`, help: "Throughput by the load generator's clock, median over the repeats", samples: each(({ rps }) => rps.median) },
    { name: `${PREFIX}_requests_per_second_low`, help: "Lower end of the median's interval", samples: each(({ rps }) => rps.low) },
    { name: `${PREFIX}_requests_per_second_high`, help: "Upper end of the median's interval", samples: each(({ rps }) => rps.high) },
    { name: `${PREFIX}_server_requests_per_second`, help: "Throughput by the primaries' own counters", samples: each(({ serverRps }) => serverRps) },
    { name: `${PREFIX}_latency_seconds`, unit: "seconds", help: "Latency of a whole pipeline, median over the repeats", samples: rows.flatMap(quantiles) },
    { name: `${PREFIX}_hit_ratio`, help: "Part of the reads that found their key", samples: each(({ hitRatio }) => hitRatio) },
    { name: `${PREFIX}_client_cores`, help: "CPU of the load generators", samples: each(({ clientCpu }) => clientCpu) },
    { name: `${PREFIX}_server_cores`, help: "CPU of all servers of the deployment", samples: each(({ serverCpu }) => serverCpu) },
    { name: `${PREFIX}_doubt`, help: "Reasons not to take a figure at its word", samples: rows.flatMap((row): Family["samples"] => row.doubts.map(({ code }) => [{ ...labelsOf(row), code }, 1])) },
    { name: `${PREFIX}_canary_requests_per_second`, help: "A fixed load before each round and after the last", samples: results.canaries.length === 0 ? [] : results.canaries.slice(-1).map(({ rps }) => [{ stack }, rps]) },
    { name: `${PREFIX}_capacity_requests_per_second`, help: "The highest offered load at which the objective held", samples: capacities(({ capacity }) => capacity) },
    { name: `${PREFIX}_knee_requests_per_second`, help: "The load beyond which latency rises faster than load", samples: capacities(({ knee }) => knee) },
    { name: `${PREFIX}_ratio`, help: "A figure of one cell of a study over that of another", samples: comparisons("ratio") },
    { name: `${PREFIX}_ratio_low`, help: "Lower end of the ratio's 95 % interval", samples: comparisons("low") },
    { name: `${PREFIX}_ratio_high`, help: "Upper end of the ratio's 95 % interval", samples: comparisons("high") },
  ];
}

/** `20261121-090000` → `2026-11-21T09:00:00Z` */
function isoOf(timestamp: string): string {
  return timestamp.replace(/^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/, "$1-$2-$3T$4:$5:$6Z");
}

function formatLabels(labels: Labels): string {
  return `{${Object.entries(labels).map(([name, value]) => `${name}="${escapeText(String(value)).replaceAll('"', '\\"')}"`).join(",")}}`;
}

function escapeText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

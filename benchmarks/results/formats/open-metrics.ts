/**
 * results.om: the figures of a run in the OpenMetrics text format 1.0, dated by the run, for `promtool tsdb
 * create-blocks-from openmetrics`.
 * (The node exporter's textfile collector takes no samples with a date.) Pure.
 */
import { formatObjective } from "../../capacity/objective";
import type { ResultRow } from "../rows";
import { resultRows } from "../rows";
import { REFERENCE_LOAD_LIMIT } from "../../warnings/warnings";
import { median } from "../../../lib/statistics/median";
import type { CapacityRecord, Results } from "../schema";
import { WARNING_CODES } from "../schema";
import type { StudyComparison } from "../study-schema";
import { COMPARISON_VERDICTS } from "../study-schema";

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
      : [
          `# TYPE ${name} gauge`,
          ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
          `# HELP ${name} ${escapeText(help)}`,
          ...samples.map(([labels, value]) => `${name}${formatLabels(labels)} ${value} ${seconds}`),
        ],
  );
  return [...lines, "# EOF"].map((line) => `${line}\n`).join("");
}

function familiesOf(results: Results): Family[] {
  const rows = resultRows(results);
  const { environment, study, stack } = results;
  const labelsOf = ({ deployment, mode, title, records }: ResultRow): Labels => ({
    stack,
    deployment,
    mode,
    test: title,
    clients: records[0]?.clients ?? 0,
    pipeline: records[0]?.pipeline ?? 0,
    datasize: records[0]?.dataSize ?? 0,
  });
  const each = (value: (row: ResultRow) => number | null): Family["samples"] =>
    rows.flatMap((row): Family["samples"] => {
      const known = value(row);
      return known === null ? [] : [[labelsOf(row), known]];
    });
  const quantiles = (row: ResultRow): Family["samples"] =>
    (
      [
        ["0.5", row.p50Ms],
        ["0.95", row.p95Ms],
        ["0.99", row.p99Ms],
      ] as const
    ).map(([quantile, ms]) => [{ ...labelsOf(row), quantile }, Number((ms / 1000).toPrecision(9))]);
  const labelsOfComparison = ({ title, metric, base, other }: StudyComparison): Labels => ({
    stack,
    test: title,
    metric,
    base,
    other,
  });
  const labelsOfCapacity = ({ deployment, mode, workload, objective }: CapacityRecord): Labels => ({
    stack,
    deployment,
    mode,
    workload,
    objective: formatObjective(objective),
  });
  const comparisons = (metric: "ratio" | "low" | "high"): Family["samples"] =>
    (study?.comparisons ?? []).flatMap((comparison): Family["samples"] => {
      const value = comparison[metric];
      return value === null ? [] : [[labelsOfComparison(comparison), value]];
    });
  const capacities = (metric: (capacity: CapacityRecord) => number | null): Family["samples"] =>
    results.capacities.flatMap((capacity): Family["samples"] => {
      const value = metric(capacity);
      return value === null ? [] : [[labelsOfCapacity(capacity), value]];
    });
  const referenceLoads = results.referenceLoads.map(({ rps }) => rps);
  const usual = referenceLoads.length === 0 ? 0 : median(referenceLoads);
  return [
    {
      name: `${PREFIX}_run`,
      help: "The run: 1 when it is complete",
      samples: [
        [
          {
            stack,
            machine: environment.cpuModel,
            cores: environment.coresAvailable,
            kernel: environment.kernel,
            version: environment.programs?.version ?? "unknown",
          },
          results.complete ? 1 : 0,
        ],
      ],
    },
    {
      name: `${PREFIX}_requests_per_second`,
      help: "Throughput by the load generator's clock, median over the repeats",
      samples: each(({ rps }) => rps.median),
    },
    {
      name: `${PREFIX}_requests_per_second_low`,
      help: "Lower end of the median's interval",
      samples: each(({ rps }) => rps.low),
    },
    {
      name: `${PREFIX}_requests_per_second_high`,
      help: "Upper end of the median's interval",
      samples: each(({ rps }) => rps.high),
    },
    {
      name: `${PREFIX}_server_requests_per_second`,
      help: "Throughput by the primaries' own counters",
      samples: each(({ serverRps }) => serverRps),
    },
    {
      name: `${PREFIX}_latency_seconds`,
      unit: "seconds",
      help: "Latency by the counts of all repeats together: of a whole pipeline, and of an open loop from the intended time",
      samples: rows.flatMap(quantiles),
    },
    {
      name: `${PREFIX}_hit_ratio`,
      help: "Part of the reads that found their key",
      samples: each(({ hitRatio }) => hitRatio),
    },
    { name: `${PREFIX}_client_cores`, help: "CPU of the load generators", samples: each(({ clientCpu }) => clientCpu) },
    {
      name: `${PREFIX}_server_cores`,
      help: "CPU of all servers of the deployment",
      samples: each(({ serverCpu }) => serverCpu),
    },
    {
      name: `${PREFIX}_warning`,
      help: "Reasons not to take a metric at its word",
      samples: rows.flatMap((row) =>
        stateOf(
          labelsOf(row),
          "code",
          WARNING_CODES,
          row.warnings.map(({ code }) => code),
        ),
      ),
    },
    {
      name: `${PREFIX}_reference_load_requests_per_second`,
      help: "The least, the median and the most that a fixed load got before, between and after the measurements",
      samples:
        referenceLoads.length === 0
          ? []
          : [
              [{ stack, of: "least" }, Math.min(...referenceLoads)],
              [{ stack, of: "median" }, usual],
              [{ stack, of: "most" }, Math.max(...referenceLoads)],
            ],
    },
    {
      name: `${PREFIX}_reference_load_moved`,
      help: "1 where a fixed load did not run at its usual rate throughout: the machine was not the same",
      samples:
        referenceLoads.length === 0
          ? []
          : [[{ stack }, Number(referenceLoads.some((rps) => Math.abs(rps / usual - 1) > REFERENCE_LOAD_LIMIT))]],
    },
    {
      name: `${PREFIX}_capacity_requests_per_second`,
      help: "The highest offered load at which the objective held",
      samples: capacities(({ capacity }) => capacity),
    },
    {
      name: `${PREFIX}_capacity_open_ended`,
      help: "1 where the highest load that might be offered held: the capacity is that or more",
      samples: capacities(({ isOpenEnded }) => Number(isOpenEnded)),
    },
    {
      name: `${PREFIX}_capacity_warning`,
      help: "Reasons not to take a capacity at its word",
      samples: results.capacities.flatMap((capacity) =>
        stateOf(
          labelsOfCapacity(capacity),
          "code",
          WARNING_CODES,
          capacity.warnings.map(({ code }) => code),
        ),
      ),
    },
    {
      name: `${PREFIX}_knee_requests_per_second`,
      help: "The load beyond which latency rises faster than load",
      samples: capacities(({ knee }) => knee),
    },
    {
      name: `${PREFIX}_ratio`,
      help: "A metric of one treatment of a study over that of another",
      samples: comparisons("ratio"),
    },
    { name: `${PREFIX}_ratio_low`, help: "Lower end of the ratio's 95 % interval", samples: comparisons("low") },
    { name: `${PREFIX}_ratio_high`, help: "Upper end of the ratio's 95 % interval", samples: comparisons("high") },
    {
      name: `${PREFIX}_ratio_verdict`,
      help: "What may be said of the ratio",
      samples: (study?.comparisons ?? []).flatMap((comparison) =>
        stateOf(labelsOfComparison(comparison), "verdict", COMPARISON_VERDICTS, [comparison.verdict]),
      ),
    },
  ];
}

/**
 * 1 for those that hold and 0 for the others: who reads the last value of a series must not find one that held once.
 */
function stateOf<T extends string>(
  labels: Labels,
  name: string,
  all: readonly T[],
  holding: readonly T[],
): Family["samples"] {
  return all.map((each) => [{ ...labels, [name]: each }, Number(holding.includes(each))]);
}

/** `20261121-090000` → `2026-11-21T09:00:00Z` */
function isoOf(timestamp: string): string {
  return timestamp.replace(/^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/, "$1-$2-$3T$4:$5:$6Z");
}

function formatLabels(labels: Labels): string {
  return `{${Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeText(String(value)).replaceAll('"', '\\"')}"`)
    .join(",")}}`;
}

function escapeText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

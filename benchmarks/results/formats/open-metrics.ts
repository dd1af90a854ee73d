/**
 * OpenMetrics 1.0 with the run's date, for `promtool tsdb create-blocks-from openmetrics`. The node exporter's textfile
 * collector rejects samples with a date.
 */
import { compact } from "../../../lib/compact";
import { formatObjective } from "../../capacity/objective";
import { type ResultRow, resultRows } from "../rows";
import { REFERENCE_LOAD_LIMIT } from "../../warnings/warnings";
import { median } from "../../../lib/statistics/median";
import { type CapacityRecord, type Results, WARNING_CODES } from "../schema";
import { type StudyComparison, COMPARISON_VERDICTS } from "../study-schema";

type Labels = Readonly<Record<string, string | number>>;
type Sample = readonly [labels: Labels, value: number];

interface Family {
  readonly name: string;
  readonly help: string;
  readonly samples: readonly Sample[];
  readonly unit?: string;
}

const PREFIX = "valkey_measured";

/** Text of results.om: the results of a run in the OpenMetrics format, with the date of the run. */
export function formatOpenMetrics(results: Results): string {
  const seconds = Date.parse(isoOf(results.timestamp)) / 1000;
  const families = [
    runFamily(results),
    ...throughputFamilies(results),
    ...referenceLoadFamilies(results),
    ...capacityFamilies(results),
    ...studyFamilies(results),
  ];
  const lines = families
    .filter(({ samples }) => samples.length > 0)
    .flatMap(({ name, help, samples, unit }) => {
      const metric = `${PREFIX}_${name}`;
      return compact([
        `# TYPE ${metric} gauge`,
        unit === undefined ? undefined : `# UNIT ${metric} ${unit}`,
        `# HELP ${metric} ${escapeText(help)}`,
        ...samples.map(([labels, value]) => `${metric}${formatLabels(labels)} ${value} ${seconds}`),
      ]);
    });
  return [...lines, "# EOF"].map((line) => `${line}\n`).join("");
}

function runFamily({ stack, environment, complete }: Results): Family {
  const { cpuModel: machine, coresAvailable: cores, kernel, programs } = environment;
  const labels = { stack, machine, cores, kernel, version: programs?.version ?? "unknown" };
  return { name: "run", help: "1 if the run is complete", samples: [[labels, Number(complete)]] };
}

function throughputFamilies(results: Results): Family[] {
  const rows = resultRows(results);
  const labelsOf = ({ deployment, mode, title, records: [record] }: ResultRow): Labels => ({
    ...{ stack: results.stack, deployment, mode, test: title },
    ...{ clients: record?.clients ?? 0, pipeline: record?.pipeline ?? 0, datasize: record?.dataSize ?? 0 },
  });
  const family = (name: string, help: string, value: (row: ResultRow) => number | null): Family => ({
    name,
    help,
    samples: samplesOf(rows, labelsOf, value),
  });
  const quantiles = (row: ResultRow): Sample[] =>
    QUANTILES.map(([quantile, ms]) => [{ ...labelsOf(row), quantile }, Number((ms(row) / 1000).toPrecision(9))]);
  return [
    family(
      "requests_per_second",
      "Throughput by the load generator's clock, median over the repeats",
      (row) => row.rps.median,
    ),
    family("requests_per_second_low", "Lower end of the median's interval", ({ rps }) =>
      rps.confidence === 0 ? null : rps.low,
    ),
    family("requests_per_second_high", "Upper end of the median's interval", ({ rps }) =>
      rps.confidence === 0 ? null : rps.high,
    ),
    family("server_requests_per_second", "Throughput by the primaries' own counters", (row) => row.serverRps),
    {
      name: "latency_seconds",
      unit: "seconds",
      help: "Latency over all repeats: of a whole pipeline in a closed loop, from the intended time of a request in an open loop. With the warning latency-limit, it can be a lower bound",
      samples: rows.flatMap(quantiles),
    },
    family("hit_ratio", "Part of the reads that found their key", (row) => row.hitRatio),
    family("client_cores", "CPU of the load generators", (row) => row.clientCpu),
    family("server_cores", "CPU of all servers of the deployment", (row) => row.serverCpu),
    {
      name: "warning",
      help: "Reasons not to trust a metric",
      samples: rows.flatMap((row) => warningSamples(labelsOf(row), row.warnings)),
    },
  ];
}

const QUANTILES = [
  ["0.5", ({ p50Ms }: ResultRow) => p50Ms],
  ["0.95", ({ p95Ms }: ResultRow) => p95Ms],
  ["0.99", ({ p99Ms }: ResultRow) => p99Ms],
] as const;

function referenceLoadFamilies({ stack, referenceLoads }: Results): Family[] {
  if (referenceLoads.length === 0) return [];
  const loads = referenceLoads.map(({ rps }) => rps);
  const usual = median(loads);
  const moved = loads.some((rps) => Math.abs(rps / usual - 1) > REFERENCE_LOAD_LIMIT);
  return [
    {
      name: "reference_load_requests_per_second",
      help: "Lowest, median and highest rate of the reference load, which runs before, between and after the measurements",
      samples: [
        [{ stack, of: "least" }, Math.min(...loads)],
        [{ stack, of: "median" }, usual],
        [{ stack, of: "most" }, Math.max(...loads)],
      ],
    },
    {
      name: "reference_load_moved",
      help: "1 if the rate of the reference load changed, so the machine became faster or slower during the run",
      samples: [[{ stack }, Number(moved)]],
    },
  ];
}

function capacityFamilies({ stack, capacities }: Results): Family[] {
  const labelsOf = ({ deployment, mode, workload, objective }: CapacityRecord): Labels => ({
    ...{ stack, deployment, mode, workload, objective: formatObjective(objective) },
  });
  const family = (name: string, help: string, value: (capacity: CapacityRecord) => number | null): Family => ({
    name,
    help,
    samples: samplesOf(capacities, labelsOf, value),
  });
  return [
    family(
      "capacity_requests_per_second",
      "The highest offered load at which the objective held",
      ({ capacity }) => capacity,
    ),
    family(
      "capacity_open_ended",
      "1 if the objective held at the highest rate that the search may offer, so the capacity may be higher",
      ({ isOpenEnded }) => Number(isOpenEnded),
    ),
    {
      name: "capacity_warning",
      help: "Reasons not to trust a capacity",
      samples: capacities.flatMap((capacity) => warningSamples(labelsOf(capacity), capacity.warnings)),
    },
    family("knee_requests_per_second", "The load above which latency rises faster than the load", ({ knee }) => knee),
  ];
}

function studyFamilies({ stack, study }: Results): Family[] {
  const comparisons = study?.comparisons ?? [];
  const labelsOf = ({ title, metric, base, other }: StudyComparison): Labels => ({
    ...{ stack, test: title, metric, base, other },
  });
  const family = (name: string, help: string, value: (comparison: StudyComparison) => number | null): Family => ({
    name,
    help,
    samples: samplesOf(comparisons, labelsOf, value),
  });
  return [
    family("ratio", "Ratio of a metric between two treatments of a study: other over base", ({ ratio }) => ratio),
    family("ratio_low", "Lower end of the ratio's 95 % interval", ({ low }) => low),
    family("ratio_high", "Upper end of the ratio's 95 % interval", ({ high }) => high),
    {
      name: "ratio_verdict",
      help: "Verdict on the ratio",
      samples: comparisons.flatMap((each) => stateOf(labelsOf(each), "verdict", COMPARISON_VERDICTS, [each.verdict])),
    },
  ];
}

function samplesOf<T>(items: readonly T[], labelsOf: (item: T) => Labels, value: (item: T) => number | null): Sample[] {
  return items.flatMap((item): Sample[] => {
    const known = value(item);
    return known === null ? [] : [[labelsOf(item), known]];
  });
}

function warningSamples(labels: Labels, warnings: ResultRow["warnings"]): Sample[] {
  const found = warnings.map(({ code }) => code);
  return stateOf(labels, "code", WARNING_CODES, found);
}

/** 1 for names in `holding`, else 0. Without zeros, a query for the last value could find a 1 from an earlier run. */
function stateOf<T extends string>(labels: Labels, name: string, all: readonly T[], holding: readonly T[]): Sample[] {
  return all.map((each) => [{ ...labels, [name]: each }, Number(holding.includes(each))]);
}

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

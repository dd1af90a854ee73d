/** `valkey-measured/results`: reads the results of runs in results.json, and makes tables and comparisons of them. */
export { compareRuns } from "../benchmarks/compare/compare";
export type { ComparedRow, Judgement, RunComparison } from "../benchmarks/compare/compare";
export { formatComparison } from "../benchmarks/compare/format";
export { formatCsv } from "../benchmarks/results/formats/csv";
export { formatOpenMetrics } from "../benchmarks/results/formats/open-metrics";
export { formatSummary } from "../benchmarks/results/formats/summary";
export { readResultFiles } from "../benchmarks/results/read";
export { compareDeployments, resultRows } from "../benchmarks/results/rows";
export type { DeploymentComparison, ResultRow, TestComparison } from "../benchmarks/results/rows";
export { resultsSchema, SCHEMA_VERSION } from "../benchmarks/results/schema";
export type {
  CapacityRecord,
  Environment,
  MeasurementRecord,
  Results,
  MeasuredTopology,
  Warning,
} from "../benchmarks/results/schema";
export { BadInput } from "../lib/errors";

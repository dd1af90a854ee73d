import { recordPercentileMs } from "../../results/rows";
import type { Warning, MeasurementRecord } from "../../results/schema";
import type { StudyComparison, StudyFit } from "../../results/study-schema";
import { median } from "../../../lib/statistics/median";
import { fitPowerLaw, type Point } from "../../../lib/statistics/power-law";
import { type PairedValues as RatioPair, type Ratio, CONFIDENCE, pairedRatio } from "../../../lib/statistics/ratio";
import { type Treatment, type Factor, describeLevels } from "../factors";
import type { InterleavedEntry, SliceCounts } from "../checkpoint-log";
import { type TreatmentPair, comparedPairs } from "../pairs";

export type Metric = StudyComparison["metric"];

const METRIC_TITLES: Readonly<Record<Metric, string>> = {
  throughput: "throughput",
  p99: "p99 latency",
  "cpu-per-operation": "servers' CPU per operation",
};

function metricValue(record: MeasurementRecord, metric: Metric): number | undefined {
  switch (metric) {
    case "throughput":
      return record.client.rps;
    case "p99":
      return recordPercentileMs(record, 0.99);
    case "cpu-per-operation": {
      const cores = record.cpu.servers.reduce((sum, each) => sum + each.cores, 0);
      return record.servers === null || record.servers.rps === 0 || record.cpu.servers.length === 0
        ? undefined
        : (1e6 * cores) / record.servers.rps;
    }
  }
}

export class StudyAnalysis {
  constructor(
    readonly treatments: readonly Treatment[],
    readonly records: readonly MeasurementRecord[],
    readonly precision: number,
    /** Measurements of pairs of treatments that received load in alternating time slices. */
    readonly interleaved: readonly InterleavedEntry[] = [],
  ) {}

  get tests(): readonly { readonly test: string; readonly title: string }[] {
    return [...new Map(this.records.map(({ test, title }) => [test, { test, title }])).values()];
  }

  treatment(id: string): Treatment | undefined {
    return this.treatments.find((treatment) => treatment.id === id);
  }

  recordsOf(treatment: Treatment, test: string): MeasurementRecord[] {
    return this.records
      .filter((record) => record.deployment === treatment.id && record.test === test)
      .sort((a, b) => a.round - b.round);
  }

  series(treatment: Treatment, test: string, metric: Metric): ReadonlyMap<number, number> {
    return new Map(
      this.recordsOf(treatment, test).flatMap((record): [number, number][] => {
        const value = metricValue(record, metric);
        return value === undefined ? [] : [[record.round, value]];
      }),
    );
  }

  median(treatment: Treatment, test: string, metric: Metric): number | undefined {
    const values = [...this.series(treatment, test, metric).values()];
    return values.length === 0 ? undefined : median(values);
  }

  /** `other` divided by `base`, from interleaved measurements if there are any, otherwise from common rounds. */
  ratio(base: Treatment, other: Treatment, test: string, metric: Metric): Ratio {
    const interleaved = this.#interleavedRates(base, other, test, metric);
    if (interleaved.length > 0) return pairedRatio(interleaved, this.precision);
    const before = this.series(base, test, metric);
    const pairs = [...this.series(other, test, metric)].flatMap(([round, value]) => {
      const counterpart = before.get(round);
      return counterpart === undefined ? [] : [{ base: counterpart, other: value }];
    });
    return pairedRatio(pairs, this.precision);
  }

  /**
   * In either order. Otherwise both are divided by the rate of a third treatment that was interleaved with both. Only
   * throughput, because a paused server delays its replies, and pausing costs CPU.
   */
  #interleavedRates(base: Treatment, other: Treatment, test: string, metric: Metric): RatioPair[] {
    if (metric !== "throughput") return [];
    const own = this.#sliceRates(base, other, test);
    if (own.size > 0) return [...own.values()];
    const [most = []] = this.treatments
      .map((third) => {
        const others = this.#sliceRates(third, other, test);
        return [...this.#sliceRates(third, base, test)].flatMap(([round, first]): RatioPair[] => {
          const second = others.get(round);
          return second === undefined ? [] : [{ base: first.other / first.base, other: second.other / second.base }];
        });
      })
      .sort((a, b) => b.length - a.length);
    return most;
  }

  #sliceRates(base: Treatment, other: Treatment, test: string): Map<number, RatioPair> {
    const rateOf = ({ requests, seconds }: SliceCounts): number => requests / seconds;
    return new Map(
      this.interleaved.flatMap((entry) => {
        const isReversed = entry.base === other.id && entry.other === base.id;
        if (!isReversed && !(entry.base === base.id && entry.other === other.id)) return [];
        return entry.tests
          .filter((each) => each.test === test)
          .map((counts): [number, RatioPair] => {
            const [first, second] = isReversed ? [counts.other, counts.base] : [counts.base, counts.other];
            return [entry.round, { base: rateOf(first), other: rateOf(second) }];
          });
      }),
    );
  }

  limitedBy(treatment: Treatment, test: string): "client" | "machine" | undefined {
    const records = this.recordsOf(treatment, test);
    const share = (...codes: readonly Warning["code"][]): number =>
      records.filter(({ warnings }) => warnings.some(({ code }) => codes.includes(code))).length /
      Math.max(1, records.length);
    if (share("client-bound", "few-connections") >= 0.5) return "client";
    return share("machine-bound") >= 0.5 ? "machine" : undefined;
  }

  comparisons(): StudyComparison[] {
    return this.tests.flatMap(({ test, title }) =>
      comparedPairs(this.treatments).flatMap(({ base, other }) =>
        metricsOf(base, other).map((metric): StudyComparison => {
          const { ratio, low, high, rounds, verdict } = this.ratio(base, other, test, metric);
          return {
            test,
            title,
            metric,
            base: base.id,
            other: other.id,
            ratio: ratio ?? null,
            low: low ?? null,
            high: high ?? null,
            rounds,
            verdict,
            interleaved: this.#interleavedRates(base, other, test, metric).length > 0,
          };
        }),
      ),
    );
  }

  /** Throughput at full speed, and CPU per operation at an offered rate. @param isOut for given up ones */
  decidingRatios(isOut: (treatment: Treatment) => boolean): Ratio[] {
    const isDecisive = ({ base, other }: TreatmentPair, metric: Metric): boolean =>
      metric ===
      (base.workload.rate === undefined && other.workload.rate === undefined ? "throughput" : "cpu-per-operation");
    return this.tests.flatMap(({ test }) =>
      comparedPairs(this.treatments)
        .filter(({ base, other }) => !isOut(base) && !isOut(other))
        .flatMap((pair) =>
          metricsOf(pair.base, pair.other)
            .filter((metric) => isDecisive(pair, metric))
            .map((metric) => this.ratio(pair.base, pair.other, test, metric)),
        ),
    );
  }

  /** The metric against the number of primaries, for each combination of other factors. @param excluded the reason */
  fits(metric: Metric, excluded: (treatment: Treatment, test: string) => string | undefined): StudyFit[] {
    return this.tests.flatMap(({ test, title }) =>
      groupsVarying(this.treatments, "primaries").flatMap((group): StudyFit[] => {
        const judged = group.map((treatment) => ({ treatment, why: excluded(treatment, test) }));
        const taken = judged.flatMap(({ treatment, why }) => (why === undefined ? [treatment] : []));
        const rounds = new Map<number, Point[]>();
        for (const treatment of taken) {
          for (const [round, y] of this.series(treatment, test, metric))
            rounds.set(round, [...(rounds.get(round) ?? []), { x: treatment.shape.primaries, y }]);
        }
        const law = fitPowerLaw([...rounds.values()], CONFIDENCE);
        const rest = describeLevels(group[0]?.levels ?? {}, "primaries");
        if (group.length < 2) return [];
        const what = [`${METRIC_TITLES[metric]} against shards`, ...rest].join(", ");
        const left = judged.flatMap(({ treatment, why }) =>
          why === undefined ? [] : [{ treatment: treatment.id, why }],
        );
        return [
          {
            test,
            title,
            metric,
            what,
            exponent: law?.exponent ?? null,
            factor: law?.factor ?? null,
            treatments: taken.map(({ id }) => id),
            excluded: left,
          },
        ];
      }),
    );
  }
}

/** The list is empty if the two treatments have different offered rates. */
function metricsOf(base: Treatment, other: Treatment): Metric[] {
  if (base.workload.rate !== other.workload.rate) return [];
  return base.workload.rate === undefined ? ["throughput", "p99", "cpu-per-operation"] : ["p99", "cpu-per-operation"];
}

export function groupsVarying(treatments: readonly Treatment[], factor: Factor): Treatment[][] {
  const groups = new Map<string, Treatment[]>();
  for (const treatment of treatments) {
    const key = JSON.stringify([
      treatment.baseDeployment,
      Object.entries(treatment.levels).filter(([name]) => name !== factor),
    ]);
    groups.set(key, [...(groups.get(key) ?? []), treatment]);
  }
  return [...groups.values()];
}

/** What a study's records say when they are held against each other, round by round. Pure. */
import type { Doubt, MeasurementRecord } from "../results/schema";
import type { StudyComparison, StudyFit } from "../results/study-schema";
import { median } from "../../lib/statistics/median";
import { fitPowerLaw } from "../../lib/statistics/power-law";
import type { Point } from "../../lib/statistics/power-law";
import type { Pair as RatioPair, Ratio } from "../../lib/statistics/ratio";
import { CONFIDENCE, pairedRatio } from "../../lib/statistics/ratio";
import type { Cell, Factor } from "./factors";
import { wordsOf } from "./factors";
import type { SideBySideEntry, SliceCounts } from "./journal";
import type { Pair } from "./pairs";
import { counterparts } from "./pairs";

export type Figure = StudyComparison["figure"];

export const FIGURES: Readonly<Record<Figure, { readonly title: string; readonly unit: string }>> = {
  throughput: { title: "throughput", unit: "/s" },
  p99: { title: "p99 latency", unit: " ms" },
  "cpu-per-operation": { title: "servers' CPU per operation", unit: " µs" },
};

/** @returns undefined where it was not measured */
export function figureOf(record: MeasurementRecord, figure: Figure): number | undefined {
  switch (figure) {
    case "throughput":
      return record.client.rps;
    case "p99":
      return record.client.p99Ms;
    case "cpu-per-operation": {
      const cores = record.cpu.servers.reduce((sum, each) => sum + each.cores, 0);
      return record.servers === null || record.servers.rps === 0 || record.cpu.servers.length === 0 ? undefined : (1e6 * cores) / record.servers.rps;
    }
  }
}

/** A figure of a cell by round; a round counts once. */
export type Series = ReadonlyMap<number, number>;

export class Findings {
  constructor(
    readonly cells: readonly Cell[],
    readonly records: readonly MeasurementRecord[],
    readonly precision: number,
    /** What was measured side by side, of pairs of these cells. */
    readonly besides: readonly SideBySideEntry[] = [],
  ) {}

  /** Tests in the order of the workloads, with their titles. */
  get tests(): readonly { readonly test: string; readonly title: string }[] {
    return [...new Map(this.records.map(({ test, title }) => [test, { test, title }])).values()];
  }

  cell(id: string): Cell | undefined {
    return this.cells.find((cell) => cell.id === id);
  }

  recordsOf(cell: Cell, test: string): MeasurementRecord[] {
    return this.records.filter((record) => record.deployment === cell.id && record.test === test).sort((a, b) => a.round - b.round);
  }

  series(cell: Cell, test: string, figure: Figure): Series {
    return new Map(this.recordsOf(cell, test).flatMap((record): [number, number][] => {
      const value = figureOf(record, figure);
      return value === undefined ? [] : [[record.round, value]];
    }));
  }

  /** Median over the rounds; undefined where there is none. */
  median(cell: Cell, test: string, figure: Figure): number | undefined {
    const values = [...this.series(cell, test, figure).values()];
    return values.length === 0 ? undefined : median(values);
  }

  /** `other` over `base`: of what was measured side by side where there is such, of themselves or of both and a third, else of the rounds that have both. */
  ratio(base: Cell, other: Cell, test: string, figure: Figure): Ratio {
    const beside = this.#sideBySide(base, other, test, figure);
    if (beside.length > 0) return pairedRatio(beside, this.precision);
    const before = this.series(base, test, figure);
    const pairs = [...this.series(other, test, figure)].flatMap(([round, value]) => {
      const counterpart = before.get(round);
      return counterpart === undefined ? [] : [{ base: counterpart, other: value }];
    });
    return pairedRatio(pairs, this.precision);
  }

  /**
   * Of each round that has them: of the two themselves, whichever of them was the base, else of both beside the same third, each in
   * parts of it. Slices have no latency of their own, for who is halted lets its replies wait, and their CPU has the halting in it.
   */
  #sideBySide(base: Cell, other: Cell, test: string, figure: Figure): RatioPair[] {
    if (figure !== "throughput") return [];
    const own = this.#slices(base, other, test);
    if (own.size > 0) return [...own.values()];
    const [most = []] = this.cells
      .map((third) => {
        const others = this.#slices(third, other, test);
        return [...this.#slices(third, base, test)].flatMap(([round, first]): RatioPair[] => {
          const second = others.get(round);
          return second === undefined ? [] : [{ base: first.other / first.base, other: second.other / second.base }];
        });
      })
      .sort((a, b) => b.length - a.length);
    return most;
  }

  /** Requests per second of slices, by round. */
  #slices(base: Cell, other: Cell, test: string): Map<number, RatioPair> {
    const rateOf = ({ requests, seconds }: SliceCounts): number => requests / seconds;
    return new Map(
      this.besides.flatMap((entry) => {
        const isReversed = entry.base === other.id && entry.other === base.id;
        if (!isReversed && !(entry.base === base.id && entry.other === other.id)) return [];
        return entry.tests.filter((each) => each.test === test).map((counts): [number, RatioPair] => {
          const [first, second] = isReversed ? [counts.other, counts.base] : [counts.base, counts.other];
          return [entry.round, { base: rateOf(first), other: rateOf(second) }];
        });
      }),
    );
  }

  /** Whether most of a cell's measurements say that it was not its servers that were the limit. */
  limitedBy(cell: Cell, test: string): "client" | "machine" | undefined {
    const records = this.recordsOf(cell, test);
    const share = (...codes: readonly Doubt["code"][]): number => records.filter(({ doubts }) => doubts.some(({ code }) => codes.includes(code))).length / Math.max(1, records.length);
    if (share("client-bound", "few-connections") >= 0.5) return "client";
    return share("machine-bound") >= 0.5 ? "machine" : undefined;
  }

  /** Every figure of every pair worth comparing. */
  comparisons(): StudyComparison[] {
    return this.tests.flatMap(({ test, title }) =>
      counterparts(this.cells).flatMap(({ base, other }) =>
        figuresOf(base, other).map((figure): StudyComparison => {
          const { ratio, low, high, rounds, verdict } = this.ratio(base, other, test, figure);
          return { test, title, figure, base: base.id, other: other.id, ratio: ratio ?? null, low: low ?? null, high: high ?? null, rounds, verdict, sideBySide: this.#sideBySide(base, other, test, figure).length > 0 };
        }),
      ),
    );
  }

  /**
   * Those that a study goes on for: throughput at full speed, and CPU at an offered rate, where throughput is what was offered.
   * @param isOut whether a cell was given up: what is to be compared with it never will be
   */
  deciding(isOut: (cell: Cell) => boolean): Ratio[] {
    const isDecisive = ({ base, other }: Pair, figure: Figure): boolean => figure === (base.workload.rate === undefined && other.workload.rate === undefined ? "throughput" : "cpu-per-operation");
    return this.tests.flatMap(({ test }) =>
      counterparts(this.cells).filter(({ base, other }) => !isOut(base) && !isOut(other)).flatMap((pair) => figuresOf(pair.base, pair.other).filter((figure) => isDecisive(pair, figure)).map((figure) => this.ratio(pair.base, pair.other, test, figure))),
    );
  }

  /** Figure against primaries, one fit for each combination of what else is varied. @param excluded why a cell must stay out; undefined where it may stay */
  fits(figure: Figure, excluded: (cell: Cell, test: string) => string | undefined): StudyFit[] {
    return this.tests.flatMap(({ test, title }) =>
      groupsBy(this.cells, "primaries").flatMap((group): StudyFit[] => {
        const judged = group.map((cell) => ({ cell, why: excluded(cell, test) }));
        const taken = judged.flatMap(({ cell, why }) => (why === undefined ? [cell] : []));
        const rounds = new Map<number, Point[]>();
        for (const cell of taken) {
          for (const [round, y] of this.series(cell, test, figure)) rounds.set(round, [...(rounds.get(round) ?? []), { x: cell.shape.primaries, y }]);
        }
        const law = fitPowerLaw([...rounds.values()], CONFIDENCE);
        const rest = group[0] === undefined ? "" : describeRest(group[0], "primaries");
        if (group.length < 2) return [];
        const what = `${FIGURES[figure].title} against shards${rest === "" ? "" : `, ${rest}`}`;
        const left = judged.flatMap(({ cell, why }) => (why === undefined ? [] : [{ cell: cell.id, why }]));
        return [{ test, title, what, exponent: law?.exponent ?? null, factor: law?.factor ?? null, cells: taken.map(({ id }) => id), excluded: left }];
      }),
    );
  }
}

/** Two loads that were offered at different rates have neither throughput nor latency to compare. */
function figuresOf(base: Cell, other: Cell): Figure[] {
  if (base.workload.rate !== other.workload.rate) return [];
  return base.workload.rate === undefined ? ["throughput", "p99", "cpu-per-operation"] : ["p99", "cpu-per-operation"];
}

/** Cells that differ in this factor only, together. */
export function groupsBy(cells: readonly Cell[], factor: Factor): Cell[][] {
  const groups = new Map<string, Cell[]>();
  for (const cell of cells) {
    const key = JSON.stringify([cell.base, Object.entries(cell.levels).filter(([name]) => name !== factor)]);
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  return [...groups.values()];
}

function describeRest(cell: Cell, factor: Factor): string {
  return Object.entries(cell.levels as Readonly<Record<string, string | number>>).filter(([name]) => name !== factor).map(([name, level]) => wordsOf(name as Factor, level)).join(", ");
}

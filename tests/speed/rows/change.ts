/**
 * Changes of a running deployment by `pulumi up`, while a client writes to it by TLS. Each deployment is alone, because the nodes of a
 * local Kubernetes share the cores of one machine. Where VALKEY_TEST_CHART names the upstream chart, its servers restart too, for
 * comparison.
 */
import { Failure, messageOf } from "../../../lib/errors";
import { median } from "../../../lib/statistics/median";
import type { ObservedWrites } from "../../support/kubernetes/observer-main";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import type { BenchRow, RowTarget } from "../row";
import { atMost, below, singleRow } from "../row";
import type { ChangedSettings, ObservedChange, Subject } from "./change-stack";
import { ChangingStack, describeChange, UPSTREAM_CHART, whyNoStack } from "./change-stack";

const ROUNDS = 10;
/** Writes per second to each deployment. */
const RATE = 2000;
const SUBJECTS: readonly Subject[] = ["cluster", "replication", "sentinels"];

interface Kind {
  readonly id: string;
  readonly what: string;
  /** Another value in every round. */
  readonly change: (round: number) => Partial<ChangedSettings>;
  /** Whether servers restart. In replication mode clients are refused while a replica takes over. */
  readonly restarts: boolean;
}

/** In the order of a round, which begins with new deployments of the older version. */
const KINDS: readonly Kind[] = [
  { id: "version", what: "Valkey 8.1.1 becomes 9.1.2", change: () => ({ version: "9.1.2" }), restarts: true },
  {
    id: "live",
    what: "a setting that running servers take",
    change: (round) => ({ maxmemory: `${256 + round}mb` }),
    restarts: false,
  },
  {
    id: "restart",
    what: "a setting that needs a restart",
    change: (round) => ({ backlog: 256 + round }),
    restarts: true,
  },
  {
    id: "password",
    what: "another password",
    change: (round) => ({ passwordVersion: round }),
    restarts: false,
  },
];
const METRICS = ["lost", "failed", "pause"] as const;
type Metric = (typeof METRICS)[number];

const idOf = (kind: string, subject: Subject, metric: Metric): string => `change-${kind}-${subject}-${metric}`;
const IDS = KINDS.flatMap(({ id }) =>
  SUBJECTS.flatMap((subject) => METRICS.map((metric) => idOf(id, subject, metric))),
);

export const change: Benchmark = {
  title: "Changes of running deployments, beside a restart of the upstream chart",
  ids: IDS,
  run: async (context) => {
    const { wanted, skip } = context;
    const missing = whyNoStack();
    if (missing === undefined) await measure(context);
    else for (const id of IDS) if (wanted.has(id)) skip(id, missing);
  },
};

async function measure({ wanted, report, emit, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const isWanted = (kind: Kind, subject: Subject): boolean =>
    METRICS.some((metric) => wanted.has(idOf(kind.id, subject, metric)));
  const upstream: ObservedWrites[] = [];
  const series = SUBJECTS.map((subject) => ({
    subject,
    kinds: KINDS.filter((kind) => isWanted(kind, subject)).map((kind) => ({ kind, seen: [] as ObservedChange[] })),
  })).filter(({ kinds }) => kinds.length > 0);
  for (let round = 1; round <= ROUNDS && !signal.aborted; round++)
    for (const { subject, kinds } of series) {
      const stack = await ChangingStack.deploy([subject], RATE, { version: "8.1.1" }, { tls: true });
      try {
        for (const { kind, seen } of kinds) {
          const observed = (await stack.change(kind.change(round))).get(subject);
          if (observed === undefined) continue;
          seen.push(observed);
          report(`round ${round}, ${kind.id}, ${subject}: ${describeChange(observed)}`);
        }
        if (UPSTREAM_CHART !== undefined && subject === "replication" && kinds.some(({ kind }) => kind.restarts)) {
          upstream.push(await stack.restartUpstream(UPSTREAM_CHART, RATE));
          report(`round ${round}, restart of the upstream chart: ${JSON.stringify(upstream.at(-1))}`);
        }
      } catch (error) {
        report(`round ${round}, ${subject}, ended early: ${messageOf(error)}`);
        if (round === 1) throw error;
      } finally {
        await stack.destroy();
      }
    }
  for (const { subject, kinds } of series)
    for (const { kind, seen } of kinds)
      for (const row of rows(kind, subject, seen, upstream)) if (wanted.has(row.id)) emit(row);
}

const NAMES: Readonly<Record<Subject, string>> = {
  cluster: "cluster",
  replication: "replication without Sentinels",
  sentinels: "replication with Sentinels",
};
/** Targets of the pause where servers restart, seconds. */
const PAUSES = { replication: 1.5, sentinels: 1 } as const;

/** The writer repeats nothing. */
const STATED: RowTarget = { text: "stated", holds: () => true };

function rows(
  kind: Kind,
  subject: Subject,
  changes: readonly ObservedChange[],
  upstream: readonly ObservedWrites[],
): BenchRow[] {
  if (changes.length === 0) throw new Failure(`no change of kind ${kind.id} was seen`);
  const sum = (of: "lost" | "failed", writes: readonly ObservedWrites[]): number =>
    writes.reduce((total, each) => total + each[of], 0);
  const writes = changes.map((each) => each.writes);
  const acknowledged = writes.reduce((total, each) => total + each.acknowledged, 0);
  const head = (metric: Metric, what: string, unit: string): { id: string; what: string; unit: string } => ({
    id: idOf(kind.id, subject, metric),
    what: `${what}, ${NAMES[subject]}, TLS: ${kind.what}, ${changes.length} times`,
    unit,
  });
  const pause = median(writes.map(({ pauseMs }) => pauseMs)) / 1000;
  const times = `; ${median(changes.map(({ seconds }) => seconds)).toFixed(0)} s for all of pulumi up`;
  const paused = head("pause", "longest time in which a shard acknowledged nothing, median", "s");
  const paces = { ...paused, what: paused.what + times };
  const lost = singleRow(
    head("lost", `lost of ${acknowledged} acknowledged writes`, "writes"),
    sum("lost", writes),
    atMost(0),
  );
  const failures = head("failed", `failed of ${acknowledged + sum("failed", writes)} writes`, "writes");
  if (!kind.restarts || subject === "cluster") {
    const target: RowTarget = below(1);
    return [lost, singleRow(failures, sum("failed", writes), atMost(0)), singleRow(paces, pause, target)];
  }
  const failed = { ...failures, what: `${failures.what}, mean of a change` };
  const mean = sum("failed", writes) / changes.length;
  const reference = {
    failed: upstream.length === 0 ? null : sum("failed", upstream) / upstream.length,
    pause: upstream.length === 0 ? null : median(upstream.map(({ pauseMs }) => pauseMs)) / 1000,
  };
  return [
    lost,
    { ...singleRow(failed, mean, STATED), reference: reference.failed },
    { ...singleRow(paces, pause, atMost(PAUSES[subject])), reference: reference.pause },
  ];
}

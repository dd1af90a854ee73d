/**
 * Changes of a running deployment by `pulumi up`, while a client with TLS writes to it. Only one deployment exists at a time, because the nodes of a
 * local Kubernetes share the cores of one machine. Where VALKEY_TEST_CHART names the upstream chart, its servers restart too, for
 * comparison.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Stack, LocalWorkspace } from "@pulumi/pulumi/automation";
import { Failure, messageOf } from "../../lib/errors";
import { median } from "../../lib/statistics/median";
import type { ObservedWrites } from "../../tests/support/kubernetes/observer-main";
import { type Benchmark, NO_STACK, secondsOf } from "../workbench";
import { endpointsOf, passwordOf } from "../controlled";
import { sumOf } from "../fault-driver";
import { type BenchRow, type RowTarget, atLeast, atMost, below, singleRow, STATED } from "../row";
import { PulumiStack } from "../../tests/support/pulumi/pulumi-stack";
import { type TlsFiles, issueCertificate, serverHosts } from "../../tests/support/kubernetes/certificates";
import type { FloodedWrites } from "../../tests/support/kubernetes/flood-main";
import { ObserverPod } from "../../tests/support/kubernetes/observer-pod";
import { KUBECONFIG, ThrowAway, isReady } from "../../tests/support/kubernetes/throw-away";

const ROUNDS = 10;
const RATE = 2000;
/** Writers begin so long before a change, and go on for so long after it, milliseconds. */
const BEFORE_MS = 4000;
const AFTER_MS = 3000;
const NODES = 6;
const UPSTREAM = "upstream";
const CERTIFICATE = "certificate";
/** Directory of the upstream chart, to compare with; undefined where the environment names none. */
const UPSTREAM_CHART = process.env["VALKEY_TEST_CHART"];

const NAMES = {
  cluster: "cluster",
  replication: "replication without Sentinels",
  sentinels: "replication with Sentinels",
} as const;
type Subject = keyof typeof NAMES;
const SUBJECTS: readonly Subject[] = ["cluster", "replication", "sentinels"];
/** Targets of the pause where servers restart, seconds. */
const PAUSES = { cluster: 1, replication: 1.5, sentinels: 1 } as const;

const SETTINGS = { version: "9.1.2", maxmemory: "256mb", backlog: 511, passwordVersion: 0, primaries: 3 };
type ChangedSettings = typeof SETTINGS;

interface Kind {
  readonly id: string;
  readonly what: string;
  /** Another value in every round. */
  readonly change: (round: number) => Partial<ChangedSettings>;
  /** Whether servers restart. In replication mode clients are refused while a replica takes over. */
  readonly restarts?: true;
}

/** In the order of a round, which begins with new deployments of the older version. */
const KINDS: readonly Kind[] = [
  { id: "version", what: "Valkey 8.1.1 becomes 9.1.2", change: () => ({ version: "9.1.2" }), restarts: true },
  { id: "live", what: "a setting that running servers take", change: (round) => ({ maxmemory: `${256 + round}mb` }) },
  {
    ...{ id: "restart", what: "a setting that needs a restart", restarts: true },
    change: (round) => ({ backlog: 256 + round }),
  },
  { id: "password", what: "another password", change: (round) => ({ passwordVersion: round }) },
];
const METRICS = ["lost", "failed", "pause"] as const;
const idOf = (kind: Kind, subject: Subject, metric: (typeof METRICS)[number]): string =>
  `change-${kind.id}-${subject}-${metric}`;

interface ObservedChange {
  readonly seconds: number;
  readonly writes: ObservedWrites;
  readonly flooded?: FloodedWrites | undefined;
}

const total = (metric: "lost" | "failed" | "acknowledged", writes: readonly ObservedWrites[]): number =>
  sumOf(writes, (each) => each[metric]);
const pauseOf = (writes: readonly ObservedWrites[]): number => median(writes.map(({ pauseMs }) => pauseMs)) / 1000;
const timesOf = (changes: readonly ObservedChange[]): string =>
  `${median(changes.map(({ seconds }) => seconds)).toFixed(0)} s for all of pulumi up`;

export const change: Benchmark = {
  title: "Changes of running deployments, beside a restart of the upstream chart",
  ids: KINDS.flatMap((kind) => SUBJECTS.flatMap((subject) => METRICS.map((metric) => idOf(kind, subject, metric)))),
  missing: NO_STACK,
  run: async ({ wanted, report, emit, signal }) => {
    const isWanted = (kind: Kind, subject: Subject): boolean =>
      METRICS.some((metric) => wanted.has(idOf(kind, subject, metric)));
    const upstream: ObservedWrites[] = [];
    const series = SUBJECTS.map((subject) => ({
      subject,
      kinds: KINDS.filter((kind) => isWanted(kind, subject)).map((kind) => ({ kind, seen: [] as ObservedChange[] })),
    })).filter(({ kinds }) => kinds.length > 0);
    for (let round = 1; round <= ROUNDS && !signal.aborted; round++)
      for (const { subject, kinds } of series) {
        const stack = await ChangingStack.deploy(subject, RATE, { version: "8.1.1" }, { tls: true });
        try {
          for (const { kind, seen } of kinds) {
            const observed = await stack.change(kind.change(round));
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
      for (const { kind, seen } of kinds) emit(...rows(kind, subject, seen, upstream));
  },
};

function rows(
  kind: Kind,
  subject: Subject,
  changes: readonly ObservedChange[],
  upstream: readonly ObservedWrites[],
): BenchRow[] {
  if (changes.length === 0) throw new Failure(`no change of kind ${kind.id} was seen`);
  const writes = changes.map((each) => each.writes);
  const [lost, failed, acknowledged] = [total("lost", writes), total("failed", writes), total("acknowledged", writes)];
  const about = `, ${NAMES[subject]}, TLS: ${kind.what}, ${changes.length} times`;
  const lostWrites = `lost of ${acknowledged} acknowledged writes${about}`;
  const failedWrites = `failed of ${acknowledged + failed} writes${about}`;
  const pause = `longest time in which a shard acknowledged nothing, median${about}; ${timesOf(changes)}`;
  const heads = {
    lost: { id: idOf(kind, subject, "lost"), what: lostWrites, unit: "writes" },
    failed: { id: idOf(kind, subject, "failed"), what: failedWrites, unit: "writes" },
    pause: { id: idOf(kind, subject, "pause"), what: pause, unit: "s" },
  };
  const lostRow = singleRow(heads.lost, lost, atMost(0));
  if (kind.restarts !== true || subject === "cluster")
    return [lostRow, singleRow(heads.failed, failed, atMost(0)), singleRow(heads.pause, pauseOf(writes), below(1))];
  const mean = { ...heads.failed, what: `${failedWrites}, mean of a change` };
  const beside = upstream.length === 0 ? null : total("failed", upstream) / upstream.length;
  const besidePause = upstream.length === 0 ? null : pauseOf(upstream);
  return [
    lostRow,
    singleRow(mean, failed / changes.length, STATED, beside),
    singleRow(heads.pause, pauseOf(writes), atMost(PAUSES[subject]), besidePause),
  ];
}

/** Primaries after each `up`, over and over. */
const SIZES = [6, 3] as const;
const RESIZES = 20;
/** Writes per second of the client whose writes are accounted for; the others use what the machine has. */
const OBSERVED_RATE = 500;
const IN_FLIGHT = 64;

export const resize: Benchmark = {
  title: "Primaries come and go while clients write at full speed",
  ids: ["ended", "lost", "failed", "pause"].map((metric) => `change-resize-${metric}`),
  missing: NO_STACK,
  run: async ({ report, emit, signal }) => {
    const seen: ObservedChange[] = [];
    let tried = 0;
    const stack = await ChangingStack.deploy("cluster", OBSERVED_RATE, {}, { tls: false });
    try {
      await stack.flood(IN_FLIGHT);
      while (tried < RESIZES && !signal.aborted) {
        const primaries = SIZES[tried++ % SIZES.length] ?? 3;
        try {
          const changed = await stack.change({ primaries });
          seen.push(changed);
          report(`resize ${tried}, to ${primaries} primaries: ${describeChange(changed)}`);
        } catch (error) {
          report(`resize ${tried}, to ${primaries} primaries, did not end: ${messageOf(error)}`);
        }
      }
    } finally {
      await stack.destroy();
    }
    const writes = seen.map((each) => each.writes);
    const [lost, failed, acknowledged] = [
      total("lost", writes),
      total("failed", writes),
      total("acknowledged", writes),
    ];
    const rates = seen.map(({ flooded }) => (flooded === undefined ? 0 : flooded.acknowledged / flooded.seconds));
    const under = `under ${Math.round(median(rates))} writes/s; ${timesOf(seen)}`;
    const row = (metric: string, what: string, unit: string, figure: number, target: RowTarget): BenchRow =>
      singleRow({ id: `change-resize-${metric}`, what, unit }, figure, target);
    const pause = "longest time in which a shard acknowledged nothing, median";
    emit(
      row("ended", `of ${tried} resizes 3 → 6 → 3 ended well, ${under}`, "resizes", seen.length, atLeast(RESIZES)),
      row("lost", `lost of ${acknowledged} acknowledged writes beside them`, "writes", lost, atMost(0)),
      row("failed", `failed of ${acknowledged + failed} writes beside them`, "writes", failed, atMost(0)),
      row("pause", pause, "s", pauseOf(writes), atMost(1)),
    );
  },
};

function describeChange({ seconds, writes, flooded }: ObservedChange): string {
  const { acknowledged, failed, lost, pauseMs, p999Ms, errors } = writes;
  const reasons = Object.entries(errors).map(([error, count]) => `${error} ${count}`);
  const counts = `${failed} of ${acknowledged + failed} writes failed${reasons.length > 0 ? ` (${reasons.join(", ")})` : ""}, ${lost} lost`;
  const beside =
    flooded === undefined
      ? ""
      : `; at full speed ${Math.round(flooded.acknowledged / flooded.seconds)} writes/s, ${flooded.failed} failed ${JSON.stringify(flooded.errors)}`;
  return `${seconds.toFixed(0)} s, ${counts}, pause ${(pauseMs / 1000).toFixed(2)} s, p99.9 ${p999Ms?.toFixed(0) ?? "–"} ms${beside}`;
}

interface Setup {
  readonly zones: readonly string[];
  readonly subject: Subject;
  /** The servers' certificate; undefined for plain TCP. */
  readonly certificate: TlsFiles | undefined;
}

class ChangingStack {
  #observer: ObserverPod<"observer-main.ts"> | undefined;
  #flood: ObserverPod<"flood-main.ts"> | undefined;

  private constructor(
    private readonly here: ThrowAway,
    private readonly stack: PulumiStack,
    private readonly setup: Setup,
    private settings: ChangedSettings,
  ) {}

  /** Deploys a subject, and a writer to it. @param rate of writes per second */
  static async deploy(
    subject: Subject,
    rate: number,
    changes: Partial<ChangedSettings>,
    { tls }: { readonly tls: boolean },
  ): Promise<ChangingStack> {
    const here = await ThrowAway.open();
    const { namespace } = here;
    const certificate = tls ? issueCertificate(serverHosts(namespace, subject)) : undefined;
    const setup = { zones: (await here.zones()).slice(0, 3), subject, certificate };
    const settings = { ...SETTINGS, ...changes };
    const made = new ChangingStack(here, await PulumiStack.open(configOf(here, setup, settings)), setup, settings);
    try {
      const metadata = { name: CERTIFICATE, namespace };
      const secret = { apiVersion: "v1", kind: "Secret", metadata, data: certificate };
      if (certificate !== undefined) await here.apply([secret]);
      await made.stack.up();
      const mode = subject === "cluster" ? "cluster" : "replication";
      const ca = certificate && Buffer.from(certificate["ca.crt"], "base64").toString();
      const order = { mode, endpoints: endpointsOf(namespace, subject, mode, NODES), ca, rate } as const;
      made.#observer = await ObserverPod.start(here, "observer", "observer-main.ts", order, passwordOf(subject));
      return made;
    } catch (error) {
      await made.destroy();
      throw error;
    }
  }

  /** Starts clients that write to the cluster as fast as they are answered, during every change from now on. */
  async flood(inFlight: number): Promise<void> {
    const order = { endpoints: endpointsOf(this.here.namespace, "cluster", "cluster", NODES), inFlight };
    this.#flood = await ObserverPod.start(this.here, "flood", "flood-main.ts", order, passwordOf("cluster"));
  }

  /** One `pulumi up` under writes. */
  async change(settings: Partial<ChangedSettings>): Promise<ObservedChange> {
    this.settings = { ...this.settings, ...settings };
    this.stack.configure(configOf(this.here, this.setup, this.settings));
    const up = sleep(BEFORE_MS).then(() => secondsOf(() => this.stack.up()));
    const flooded = this.#flood?.during(() => up, AFTER_MS);
    flooded?.catch(() => undefined);
    const writes = await this.#observer?.during(() => up, AFTER_MS);
    if (writes === undefined) throw new Error("no client writes");
    return { seconds: await up, writes, flooded: await flooded };
  }

  /**
   * Installs the upstream chart with two replicas and its defaults, and restarts it as `kubectl rollout restart` does.
   * @param chart directory of the chart
   */
  async restartUpstream(chart: string, rate: number): Promise<ObservedWrites> {
    const { namespace } = this.here;
    const stack = await upstreamStack(chart, namespace, join(this.stack.directory, ".state"));
    try {
      await stack.up();
      const labels = { "app.kubernetes.io/instance": UPSTREAM };
      await this.here.untilReady(labels, 3, 180);
      const endpoints = [{ host: `${UPSTREAM}.${namespace}.svc.cluster.local`, port: 6379 }];
      const order = { mode: "replication", endpoints, rate } as const;
      const pod = await ObserverPod.start(this.here, "observer-upstream", "observer-main.ts", order, undefined);
      const before = new Set((await this.here.pods(labels)).map(({ metadata }) => metadata?.uid));
      return await pod.during(async () => {
        const annotations = { "kubectl.kubernetes.io/restartedAt": new Date().toISOString() };
        const object = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: UPSTREAM, namespace } };
        await this.here.apply([{ ...object, spec: { template: { metadata: { annotations } } } }]);
        await this.here.until(300, async () => {
          const old = (await this.here.pods(labels)).filter((each) => before.has(each.metadata?.uid) || !isReady(each));
          return old.length === 0 ? undefined : `${old.length} pods are to restart`;
        });
      }, AFTER_MS);
    } finally {
      await stack.destroy();
    }
  }

  async destroy(): Promise<void> {
    try {
      await this.stack.stack.destroy();
    } finally {
      await this.stack.close();
      await this.here.close();
    }
  }
}

function configOf(
  { namespace }: ThrowAway,
  { zones, subject, certificate }: Setup,
  { version, maxmemory, backlog, passwordVersion, primaries }: ChangedSettings,
): Record<string, unknown> {
  const password = passwordVersion === 0 ? {} : { passwordVersion };
  const settings = { maxmemory, save: "", "tcp-backlog": backlog };
  const deployments = {
    cluster: { mode: "cluster", primaries, ...password, settings: { ...settings, "cluster-node-timeout": 5000 } },
    replication: { mode: "replication", replicas: 2, sentinel: false, ...password, settings },
    sentinels: { mode: "replication", replicas: 2, sentinel: {}, ...password, settings },
  };
  return {
    platform: {
      ...{ type: "kubernetes", kubeconfig: KUBECONFIG, namespace, createNamespace: false, zones },
      ...{ image: `docker.io/valkey/valkey:${version}`, imagePullPolicy: "IfNotPresent" },
      resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "2", memory: "512Mi" } },
      storage: { size: "1Gi" },
      clients: { shareMachines: true },
      ...(certificate === undefined ? {} : { tls: { secretName: CERTIFICATE } }),
    },
    verification: { timeout: 180 },
    deployments: { [subject]: deployments[subject] },
  };
}

async function upstreamStack(chart: string, namespace: string, state: string): Promise<Stack> {
  const k8s = await import("@pulumi/kubernetes");
  if (KUBECONFIG === undefined) throw new Failure("there is no cluster");
  const program = (): Promise<void> => {
    const provider = new k8s.Provider("here", { kubeconfig: KUBECONFIG });
    const values = {
      fullnameOverride: UPSTREAM,
      image: { registry: "docker.io", tag: SETTINGS.version, pullPolicy: "IfNotPresent" },
      replica: { enabled: true, replicas: 2, persistence: { size: "1Gi" } },
    };
    new k8s.helm.v4.Chart(UPSTREAM, { name: UPSTREAM, namespace, chart, values }, { provider });
    return Promise.resolve();
  };
  const envVars = {
    ...{ PULUMI_BACKEND_URL: `file://${state}`, PULUMI_CONFIG_PASSPHRASE: "trial", PULUMI_SKIP_UPDATE_CHECK: "true" },
  };
  return LocalWorkspace.createOrSelectStack({ stackName: UPSTREAM, projectName: UPSTREAM, program }, { envVars });
}

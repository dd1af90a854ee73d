/** A treatment is one combination of levels on one deployment. */
import { compact } from "../../lib/compact";
import { counted } from "../../lib/units";
import type { Mode } from "../../valkey/node";
import type { ServerSettings } from "../../valkey/settings/settings";
import type { Shape } from "../../valkey/topology/placement";
import type { Workload } from "../workloads/workload";

/** Levels of the factor `persistence`. */
export const PERSISTENCE = ["none", "rdb", "aof-everysec", "aof-always"] as const;
type Persistence = (typeof PERSISTENCE)[number];

/** Levels of factors (settings that a study varies). Factors without a level are not varied. */
export interface Levels {
  readonly mode?: Mode;
  /** Number of primaries. 1 means replication mode. A cluster has at least three primaries. */
  readonly primaries?: number;
  /** Number of replicas of each primary. */
  readonly replicas?: number;
  readonly "io-threads"?: number;
  /**
   * Server program by name and version (`valkey`, `valkey-8.1`, `redis`), or the directory that contains the program.
   */
  readonly engine?: string;
  /** Number of CPUs to which each server is pinned. If the machine has too few CPUs, servers share them. */
  readonly cpus?: number;
  /** Size of a value, bytes. */
  readonly dataSize?: number;
  readonly pipeline?: number;
  /** Number of connections of each load generator. */
  readonly clients?: number;
  /** Number of threads of each load generator. */
  readonly threads?: number;
  readonly runners?: number;
  /** Offered requests per second of all runners together. 0 means full speed. */
  readonly rate?: number;
  readonly persistence?: Persistence;
  /** Size of the replication backlog, bytes. */
  readonly backlog?: number;
}

export type Factor = keyof Levels;

/** Levels of each factor that the study varies. The first level of a factor is the baseline. */
export type Variation = { readonly [F in Factor]?: readonly NonNullable<Levels[F]>[] };

export interface BaseDeployment {
  readonly name: string;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly settings: ServerSettings;
}

export interface Treatment {
  readonly id: string;
  readonly label: string;
  readonly baseDeployment: string;
  readonly levels: Levels;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly settings: ServerSettings;
  readonly engine: string | undefined;
  readonly cpus: number | undefined;
  readonly workload: Workload;
  readonly runners: number;
}

/** By deployment, then by level, the last factor first. The first treatment is the baseline. */
export function treatmentsOf(
  bases: readonly BaseDeployment[],
  variation: Variation,
  workload: Workload,
  runners: number,
): Treatment[] {
  const combinations = product(Object.entries(variation) as [Factor, readonly (string | number)[]][]);
  const isOnly = bases.length === 1;
  return bases.flatMap((base) =>
    combinations.map((levels): Treatment => {
      const words = describeLevels(levels);
      const label = compact([isOnly && words.length > 0 ? undefined : base.name, ...words]).join(", ");
      const start: Treatment = {
        id: idOf(label),
        label,
        baseDeployment: base.name,
        levels,
        mode: base.mode,
        shape: base.shape,
        settings: base.settings,
        engine: undefined,
        cpus: undefined,
        workload,
        runners,
      };
      return withLevels(start, levels);
    }),
  );
}

function product(factors: readonly [Factor, readonly (string | number)[]][]): Levels[] {
  return factors.reduce<Levels[]>(
    (all, [factor, levels]) => all.flatMap((each) => levels.map((level) => ({ ...each, [factor]: level }))),
    [{}],
  );
}

const LEVEL_TEXTS: { readonly [F in Factor]?: (level: NonNullable<Levels[F]>) => string } = {
  mode: (mode) => mode,
  engine: (engine) => engine,
  primaries: (primaries) => counted(primaries, "primary", "primaries"),
  replicas: (replicas) => counted(replicas, "replica"),
  runners: (runners) => counted(runners, "runner"),
  cpus: (cpus) => counted(cpus, "CPU"),
  dataSize: (bytes) => `${bytes} B`,
  rate: (rate) => (rate === 0 ? "full speed" : `${rate} per second`),
  persistence: (persistence) => (persistence === "none" ? "no persistence" : persistence),
};

export function describeLevels(levels: Levels, without?: Factor): string[] {
  return Object.entries(levels as Readonly<Record<string, string | number>>)
    .filter(([factor]) => factor !== without)
    .map(([factor, level]) => {
      const text = LEVEL_TEXTS[factor as Factor] as ((level: string | number) => string) | undefined;
      return text?.(level) ?? `${factor} ${level}`;
    });
}

function idOf(label: string): string {
  return label
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "");
}

function withLevels(treatment: Treatment, levels: Levels): Treatment {
  const primaries = levels.primaries ?? (levels.mode === "replication" ? 1 : treatment.shape.primaries);
  const settings: ServerSettings = {
    ...treatment.settings,
    ...(levels["io-threads"] === undefined ? {} : { "io-threads": levels["io-threads"] }),
    ...(levels.backlog === undefined ? {} : { "repl-backlog-size": levels.backlog }),
    ...(levels.persistence === undefined ? {} : PERSISTENCE_SETTINGS[levels.persistence]),
  };
  const { workload } = treatment;
  return {
    ...treatment,
    mode:
      levels.mode ??
      (levels.primaries === undefined ? treatment.mode : levels.primaries === 1 ? "replication" : "cluster"),
    shape: { primaries, replicasPerPrimary: levels.replicas ?? treatment.shape.replicasPerPrimary },
    settings,
    engine: levels.engine,
    cpus: levels.cpus,
    runners: levels.runners ?? treatment.runners,
    workload: {
      ...workload,
      clients: levels.clients ?? workload.clients,
      pipeline: levels.pipeline ?? workload.pipeline,
      dataSize: levels.dataSize ?? workload.dataSize,
      threads: levels.threads ?? workload.threads,
      rate: levels.rate === undefined ? workload.rate : levels.rate === 0 ? undefined : levels.rate,
    },
  };
}

const PERSISTENCE_SETTINGS: Readonly<Record<Persistence, ServerSettings>> = {
  none: { appendonly: false, save: "" },
  rdb: { appendonly: false, save: "3600 1 300 100 60 10000" },
  "aof-everysec": { appendonly: true, appendfsync: "everysec", save: "" },
  "aof-always": { appendonly: true, appendfsync: "always", save: "" },
};

import type { Mode } from "../../valkey/node";
import type { ServerSettings } from "../../valkey/settings";
import type { Shape } from "../../valkey/topology/placement";
import type { Workload } from "../workloads/workload";

export const PERSISTENCE = ["none", "rdb", "aof-everysec", "aof-always"] as const;
export type Persistence = (typeof PERSISTENCE)[number];

/** Factor to its level. */
export interface Levels {
  readonly mode?: Mode;
  /** One is a single primary outside cluster mode: a cluster has at least three. */
  readonly primaries?: number;
  /** Of each primary. */
  readonly replicas?: number;
  readonly "io-threads"?: number;
  /** A server by name and version, as far as one is given: `valkey`, `valkey-8.1`, `redis`; or the directory it is in. */
  readonly engine?: string;
  /** CPUs that each server is pinned to, its alone as far as the machine has so many. */
  readonly cpus?: number;
  /** Bytes per value. */
  readonly dataSize?: number;
  readonly pipeline?: number;
  /** Connections of each load generator. */
  readonly clients?: number;
  /** Threads of each load generator. */
  readonly threads?: number;
  /** Load generators side by side. */
  readonly runners?: number;
  /** Requests offered per second in all; 0 is as many as can be. */
  readonly rate?: number;
  readonly persistence?: Persistence;
  /** Bytes of the replication backlog. */
  readonly backlog?: number;
}

export type Factor = keyof Levels;

/** Factor to the levels it takes, in the order of their comparison: the first is what others are held against. */
export type Variation = { readonly [F in Factor]?: readonly NonNullable<Levels[F]>[] };

/** A deployment before anything is varied. */
export interface BaseDeployment {
  readonly name: string;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly settings: ServerSettings;
}

/** One combination: what is deployed, and what is sent to it. */
export interface Treatment {
  /** Names its directory, its nodes and its records: small letters, digits, dots and hyphens. */
  readonly id: string;
  /** For people: `io-threads 2`. */
  readonly label: string;
  /** The deployment it is a variation of. */
  readonly baseDeployment: string;
  readonly levels: Levels;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly settings: ServerSettings;
  /** Undefined is the Valkey that is found first. */
  readonly engine: string | undefined;
  /** Undefined is wherever the kernel puts them. */
  readonly cpus: number | undefined;
  readonly workload: Workload;
  readonly runners: number;
}

/**
 * Every level of every factor with every other, on every deployment. The order is that of the deployments, then of the
 * levels, the last factor changing first; the first treatment is what the others are compared with.
 */
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
      const words = Object.entries(levels as Readonly<Record<string, string | number>>).map(([factor, level]) =>
        describeLevel(factor as Factor, level),
      );
      const label = [...(isOnly && words.length > 0 ? [] : [base.name]), ...words].join(", ");
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

/** A level in words: `2 CPUs`. */
export function describeLevel(factor: Factor, level: string | number): string {
  switch (factor) {
    case "mode":
    case "engine":
      return String(level);
    case "primaries":
      return level === 1 ? "1 primary" : `${level} primaries`;
    case "replicas":
      return level === 1 ? "1 replica" : `${level} replicas`;
    case "runners":
      return level === 1 ? "1 runner" : `${level} runners`;
    case "cpus":
      return level === 1 ? "1 CPU" : `${level} CPUs`;
    case "dataSize":
      return `${level} B`;
    case "rate":
      return level === 0 ? "full speed" : `${level} per second`;
    case "persistence":
      return level === "none" ? "no persistence" : String(level);
    default:
      return `${factor} ${level}`;
  }
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

/** Predicts for several events which data a deployment loses, and how long clients must wait. */
import type { Mode } from "../node";
import { majority } from "../sentinel-config";
import { REPLICAS_NEEDED, type ServerSettings } from "../settings/settings";
import { MIN_NODE_TIMEOUT_MS } from "./derived-settings";
import type { Shape } from "../topology/placement";

export interface SurvivalSubject {
  /** Whether each container asks the other nodes for newer data before it starts its server. */
  readonly asksBeforeStart: boolean;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly settings: ServerSettings;
  /** Milliseconds without a reply after which Sentinels consider the primary down. Undefined without Sentinels. */
  readonly downAfterMs?: number | undefined;
  readonly zones: number;
  readonly oneMachine: boolean;
  /** Whether the data is deleted together with the pod, because it is on the disk of the machine. */
  readonly ephemeral: boolean;
}

/**
 * An event: a server crashes, a machine or a zone fails, all pods are killed at once, the volume of a primary is deleted,
 * a primary is cut off from the other servers, or all replicas of a primary are away.
 */
type Event = "process" | "machine" | "zone" | "all-pods" | "volume" | "partition" | "replicas";

/** The largest possible loss of acknowledged data. The values are in ascending order. */
export type Loss = "none" | "unreplicated" | "unsynced" | "since-snapshot" | "shard" | "everything";

/** An event and its consequences. */
export interface Survival {
  /** The event. */
  readonly event: Event;
  /** Largest possible loss of acknowledged data. */
  readonly loss: Loss;
  /** `loss` as a phrase. */
  readonly lost: string;
  /** Longest time for which clients cannot write, as a phrase. */
  readonly out: string;
}

type Consequence = Omit<Survival, "event">;

/** Seconds from the agreement on a primary's failure to the election of a replica. */
const ELECTION_SECONDS = 2;

/** `out` where clients can go on writing. */
const UNAFFECTED = "0 s";

const LOST: Readonly<Record<Loss, string>> = {
  none: "nothing",
  unreplicated: "writes that no replica had received",
  unsynced: "writes of the last seconds, which were not on the disk yet",
  "since-snapshot": "writes since the last snapshot",
  shard: "all data of a shard",
  everything: "everything",
};

const loses = (loss: Loss, out: string, lost = LOST[loss]): Consequence => ({ loss, lost, out });

/** If an event affects only one node, this is the node that can lose the most data. */
export function survivals(subject: SurvivalSubject): Survival[] {
  const all = { ...consequencesOf(subject), ...(subject.shape.replicasPerPrimary > 0 ? ofReplicas(subject) : {}) };
  return Object.entries(all).map(([event, consequence]) => ({ event: event as Event, ...consequence }));
}

type OfServers = Readonly<Record<Exclude<Event, "partition" | "replicas">, Consequence>>;

function consequencesOf(subject: SurvivalSubject): OfServers {
  const { asksBeforeStart, mode, shape } = subject;
  if (mode === "cluster") {
    if (shape.replicasPerPrimary === 0) return lonePrimaries(subject);
    return asksBeforeStart ? cluster(subject) : { ...cluster(subject), process: restarted(subject, "crash") };
  }
  if (subject.downAfterMs !== undefined) return watched(subject, subject.downAfterMs);
  return asksBeforeStart && shape.replicasPerPrimary > 0 ? askingPod(subject) : firstPod(subject);
}

/** A container asks the replicas for newer data before it starts its server; a replica with newer data takes over. */
function cluster(subject: SurvivalSubject): OfServers {
  const { settings, shape, zones, oneMachine } = subject;
  const failover = loses("unreplicated", `about ${nodeTimeoutSeconds(settings) + ELECTION_SECONDS} s`);
  const left = shape.primaries - Math.ceil(shape.primaries / zones);
  const untilBack = "until the zone is back, because no majority of primaries is left";
  const all = allAtOnce(subject);
  return {
    process: loses("unreplicated", "at most 3 s"),
    machine: oneMachine ? all : failover,
    zone:
      zones === 1
        ? { ...all, out: "until the zone is back" }
        : left >= majority(shape.primaries)
          ? failover
          : loses("unreplicated", untilBack),
    "all-pods": all,
    volume: failover,
  };
}

/** In such a cluster, only one node has the data of each shard. */
function lonePrimaries(subject: SurvivalSubject): OfServers {
  const gone = loses("shard", "until the pod runs again");
  const elsewhere = subject.ephemeral ? gone : restarted(subject, "power");
  const all = allAtOnce(subject);
  return {
    process: restarted(subject, "crash"),
    machine: subject.oneMachine ? all : elsewhere,
    zone: { ...(subject.zones === 1 ? all : elsewhere), out: "until the zone is back" },
    "all-pods": all,
    volume: gone,
  };
}

/** Without Sentinels, with a primary that asks its replicas for newer data before each start; no replica takes over. */
function askingPod(subject: SurvivalSubject): OfServers {
  const { settings, ephemeral, oneMachine, zones } = subject;
  const copied = loses("unreplicated", "until the primary is back and has copied the data");
  // If every write is on the disk of the primary, the primary does not need to copy the data from a replica.
  const back = lossOnDisk(settings, "power") === "none" && !ephemeral ? restarted(subject, "power") : copied;
  const all = allAtOnce(subject);
  return {
    process: back,
    machine: oneMachine ? all : back,
    zone: { ...(zones === 1 ? all : back), out: "until the zone is back" },
    "all-pods": all,
    volume: copied,
  };
}

/** A primary that does not ask: when pod 0 starts, replicas copy its data, even if theirs is newer. */
function firstPod(subject: SurvivalSubject): OfServers {
  const moved = subject.ephemeral ? loses("everything", "until pod 0 runs again") : restarted(subject, "power");
  return {
    process: restarted(subject, "crash"),
    machine: moved,
    zone: { ...moved, out: "until the zone is back" },
    "all-pods": allAtOnce(subject),
    volume: loses(
      "everything",
      "until pod 0 runs again",
      "everything: pod 0 comes back empty, and replicas copy the empty data set",
    ),
  };
}

/** Sentinels promote a replica when the primary is down too long, or asks them to because a replica has newer data. */
function watched(subject: SurvivalSubject, downAfterMs: number): OfServers {
  const seconds = downAfterMs / 1000;
  const failover = loses("unreplicated", `about ${seconds + ELECTION_SECONDS} s`);
  return {
    process: failover,
    machine: subject.oneMachine ? allAtOnce(subject) : failover,
    zone: failover,
    "all-pods": allAtOnce(subject),
    volume: failover,
  };
}

/** @param cause `power` if the content of the machine's memory is lost as well */
function restarted({ mode, settings }: SurvivalSubject, cause: "crash" | "power"): Consequence {
  const out = "until the server has started and loaded its data";
  const loss = lossOnDisk(settings, cause);
  return mode === "cluster" && loss === "everything" ? loses("shard", out) : loses(loss, out);
}

/** Seconds after which a primary that is cut off refuses writes, beyond the lag that its replicas may have. */
const NOTICE_SECONDS = 2;

/** Consequences for a primary that loses the connection to all of its replicas. */
function ofReplicas(subject: SurvivalSubject): Readonly<Record<"partition" | "replicas", Consequence>> {
  const { downAfterMs, mode, settings } = subject;
  const { [REPLICAS_NEEDED]: needed = 0, "min-replicas-max-lag": lag = 10 } = settings;
  const refuses = needed > 0 && lag > 0;
  const successor =
    mode === "cluster" ? nodeTimeoutSeconds(settings) : downAfterMs === undefined ? undefined : downAfterMs / 1000;
  const until = refuses
    ? lag + NOTICE_SECONDS
    : mode === "cluster"
      ? nodeTimeoutSeconds(settings) + ELECTION_SECONDS
      : undefined;
  const own = "writes that clients on its side make";
  const accepted = until === undefined ? `${own} until the cut ends` : `${own} in about ${until} s`;
  return {
    partition:
      successor === undefined
        ? loses("none", refuses ? "until the cut ends" : UNAFFECTED)
        : loses("unreplicated", `about ${successor + ELECTION_SECONDS} s`, accepted),
    replicas: loses("none", refuses ? "until a replica is back and has copied the data" : UNAFFECTED),
  };
}

const nodeTimeoutSeconds = (settings: ServerSettings): number =>
  (settings["cluster-node-timeout"] ?? MIN_NODE_TIMEOUT_MS) / 1000;

/** No server has time to save its data. */
function allAtOnce(subject: SurvivalSubject): Consequence {
  const out = "until servers have started and loaded their data";
  return loses(subject.ephemeral ? "everything" : lossOnDisk(subject.settings, "crash"), out);
}

/** A server writes to the append-only file before it replies; `appendfsync` decides when it is on the disk. */
function lossOnDisk({ appendonly, appendfsync = "everysec", save }: ServerSettings, cause: "crash" | "power"): Loss {
  if (appendonly === true) return cause === "crash" || appendfsync === "always" ? "none" : "unsynced";
  return save === "" ? "everything" : "since-snapshot";
}

const EVENTS: Readonly<Record<Event, string>> = {
  process: "a server crashes",
  machine: "a machine fails",
  zone: "a zone fails",
  "all-pods": "all pods are killed at once",
  volume: "the volume of a primary is deleted",
  partition: "a primary is cut off from the other servers",
  replicas: "all replicas of a primary are away",
};

/** Such as `if a machine fails: clients lose writes that no replica had received; no writes for about 7 s` */
export function describeSurvival({ event, lost, out }: Survival): string {
  const writes = out.startsWith("until")
    ? `cannot write ${out}`
    : out === UNAFFECTED
      ? "can write"
      : `cannot write for ${out}`;
  return `if ${EVENTS[event]}: clients lose ${lost}; clients ${writes}`;
}

export function survivalWarning(survivals: readonly Survival[]): string | undefined {
  const worst = survivals.filter(({ loss }) => loss === "everything").map(({ event }) => EVENTS[event]);
  return worst.length === 0 ? undefined : `everything is lost if ${worst.join(", or if ")}`;
}

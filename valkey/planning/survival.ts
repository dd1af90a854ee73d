/** Predicts for several events which data a deployment loses, and how long clients must wait. Pure. */
import type { Mode } from "../node";
import { majority } from "../sentinel-config";
import type { ServerSettings } from "../settings/settings";
import { MIN_NODE_TIMEOUT_MS } from "./derived-settings";
import type { Shape } from "../topology/placement";

/** A planned deployment in pods. */
export interface SurvivalSubject {
  /** Whether each container asks the other nodes for newer data before it starts its server. */
  readonly asksBeforeStart: boolean;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly settings: ServerSettings;
  /** Milliseconds without a reply after which Sentinels consider the primary down. Undefined without Sentinels. */
  readonly downAfterMs?: number | undefined;
  /** Number of zones over which the pods are spread. */
  readonly zones: number;
  /** Whether all pods run on one machine. */
  readonly oneMachine: boolean;
  /** Whether the data is deleted together with the pod, because it is on the disk of the machine. */
  readonly ephemeral: boolean;
}

/**
 * An event: a server crashes, a machine or a zone fails, all pods are killed at once, or the volume of a primary is
 * deleted.
 */
type Event = "process" | "machine" | "zone" | "all-pods" | "volume";

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

const LOST: Readonly<Record<Loss, string>> = {
  none: "nothing",
  unreplicated: "writes that no replica had received",
  unsynced: "writes of the last seconds, which were not on the disk yet",
  "since-snapshot": "writes since the last snapshot",
  shard: "all data of a shard",
  everything: "everything",
};

const loses = (loss: Loss, out: string, lost = LOST[loss]): Consequence => ({ loss, lost, out });

/**
 * Predicts the consequences of each event. If an event affects only one node, this is the node that can lose the most
 * data.
 */
export function survivals(subject: SurvivalSubject): Survival[] {
  const of = consequencesOf(subject);
  const events: readonly Event[] = ["process", "machine", "zone", "all-pods", "volume"];
  return events.map((event) => ({ event, ...of[event] }));
}

function consequencesOf(subject: SurvivalSubject): Readonly<Record<Event, Consequence>> {
  const { asksBeforeStart, mode, shape } = subject;
  if (mode === "cluster") {
    if (shape.replicasPerPrimary === 0) return lonePrimaries(subject);
    return asksBeforeStart ? cluster(subject) : { ...cluster(subject), process: restarted(subject, "crash") };
  }
  if (subject.downAfterMs !== undefined) return watched(subject, subject.downAfterMs);
  return asksBeforeStart && shape.replicasPerPrimary > 0 ? askingPod(subject) : firstPod(subject);
}

/**
 * Consequences for a cluster whose shards have replicas. Before a container starts its server, the container asks the
 * replicas for newer data. If a replica has newer data, this replica takes over. If a primary does not come back, a
 * majority of the primaries elects one of its replicas.
 */
function cluster(subject: SurvivalSubject): Record<Event, Consequence> {
  const { settings, shape, zones, oneMachine } = subject;
  const timeout = (settings["cluster-node-timeout"] ?? MIN_NODE_TIMEOUT_MS) / 1000;
  const failover = loses("unreplicated", `about ${timeout + ELECTION_SECONDS} s`);
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

/** Consequences for a cluster without replicas. In such a cluster, only one node has the data of each shard. */
function lonePrimaries(subject: SurvivalSubject): Record<Event, Consequence> {
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

/**
 * Consequences for replication without Sentinels, with a primary that asks its replicas for newer data before each
 * start. When the primary fails, no replica takes over.
 */
function askingPod(subject: SurvivalSubject): Record<Event, Consequence> {
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

/**
 * Consequences for a single server, or for a primary that does not ask its replicas for newer data. When pod 0 starts,
 * the replicas copy the data of pod 0, even if the replicas' own data is newer.
 */
function firstPod(subject: SurvivalSubject): Record<Event, Consequence> {
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

/**
 * Consequences for replication with Sentinels. Sentinels promote a replica when the primary is down for too long. A
 * primary that restarts earlier asks the Sentinels to promote a replica with newer data.
 */
function watched(subject: SurvivalSubject, downAfterMs: number): Record<Event, Consequence> {
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

/**
 * Consequences of a restart of a server with the same disk.
 * @param cause `power` if the content of the machine's memory is lost as well
 */
function restarted({ mode, settings }: SurvivalSubject, cause: "crash" | "power"): Consequence {
  const out = "until the server has started and loaded its data";
  const loss = lossOnDisk(settings, cause);
  return mode === "cluster" && loss === "everything" ? loses("shard", out) : loses(loss, out);
}

/** Consequences if all servers are killed at once. No server has time to save its data. */
function allAtOnce(subject: SurvivalSubject): Consequence {
  const out = "until servers have started and loaded their data";
  return loses(subject.ephemeral ? "everything" : lossOnDisk(subject.settings, "crash"), out);
}

/**
 * The data that a server loses when it crashes or its machine loses power, although the disk is intact. A server writes
 * to the append-only file before it replies. `appendfsync` decides when the file is synced to the disk.
 */
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
};

/**
 * The event and its consequences as text, such as `if a machine fails: clients lose writes that no replica had
 * received; clients cannot write for about 7 s`
 */
export function describeSurvival({ event, lost, out }: Survival): string {
  return `if ${EVENTS[event]}: clients lose ${lost}; clients cannot write ${out.startsWith("until") ? out : `for ${out}`}`;
}

/** A sentence that names the events after which all data is lost. Undefined if there is no such event. */
export function survivalWarning(survivals: readonly Survival[]): string | undefined {
  const worst = survivals.filter(({ loss }) => loss === "everything").map(({ event }) => EVENTS[event]);
  return worst.length === 0 ? undefined : `everything is lost if ${worst.join(", or if ")}`;
}

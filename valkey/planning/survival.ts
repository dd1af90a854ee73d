/** Events that a deployment survives by its configuration: what is lost, and for how long clients wait. Pure. */
import type { Mode } from "../node";
import { majority } from "../sentinel-plan";
import type { ServerSettings } from "../settings/settings";
import { MIN_NODE_TIMEOUT_MS } from "./derived-settings";
import type { Shape } from "../topology/placement";

/** A deployment in pods, before it exists. */
export interface SurvivalSubject {
  /** Whether servers ask the others for newer data before they start. */
  readonly asksBeforeStart: boolean;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly settings: ServerSettings;
  /** Milliseconds after which Sentinels miss the primary; undefined without Sentinels. */
  readonly downAfterMs?: number | undefined;
  /** Number of zones that the pods are spread over. */
  readonly zones: number;
  /** Whether all pods are on one machine. */
  readonly oneMachine: boolean;
  /** Whether data lies on the machine's disk and goes with the pod. */
  readonly ephemeral: boolean;
}

/** An event: a crash of a server, a machine or zone that fails, all pods killed at once, a primary's volume deleted. */
export type Event = "process" | "machine" | "zone" | "all-pods" | "volume";

/** Acknowledged data that is lost at most, from least to most. */
export type Loss = "none" | "unreplicated" | "unsynced" | "since-snapshot" | "shard" | "everything";

/** One event and its consequences. */
export interface Survival {
  /** A crash of a server, a machine or a zone that fails, all pods killed at once, the volume of a primary deleted. */
  readonly event: Event;
  /** Acknowledged data that is lost at most. */
  readonly loss: Loss;
  /** The same as a phrase. */
  readonly lost: string;
  /** Time for which clients cannot write at most, as a phrase. */
  readonly out: string;
}

type Consequence = Omit<Survival, "event">;

/** Seconds that replicas take to elect one of them after the primary is known to have failed. */
const ELECTION_SECONDS = 2;

const LOST: Readonly<Record<Loss, string>> = {
  none: "nothing",
  unreplicated: "writes that no replica had received",
  unsynced: "writes of the last seconds, which the disk had not got",
  "since-snapshot": "writes since the last snapshot",
  shard: "all data of a shard",
  everything: "everything",
};

const loses = (loss: Loss, out: string, lost = LOST[loss]): Consequence => ({ loss, lost, out });

/** The consequences of each event, for the node that has most to lose. */
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

/** Shards with replicas: the start of a container asks them first, and a majority of primaries elects one. */
function cluster(subject: SurvivalSubject): Record<Event, Consequence> {
  const { settings, shape, zones, oneMachine } = subject;
  const timeout = (settings["cluster-node-timeout"] ?? MIN_NODE_TIMEOUT_MS) / 1000;
  const failover = loses("unreplicated", `about ${timeout + ELECTION_SECONDS} s`);
  const left = shape.primaries - Math.ceil(shape.primaries / zones);
  const untilBack = "until the zone is back: no majority of primaries is left";
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

/** A cluster without replicas: each shard has what its own node has. */
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

/** Replication without Sentinels: nobody takes over from the primary, which asks its replicas before it starts. */
function askingPod(subject: SurvivalSubject): Record<Event, Consequence> {
  const { settings, ephemeral, oneMachine, zones } = subject;
  const copied = loses("unreplicated", "until the primary is back and has copied the data");
  // A disk with every write needs no copy.
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

/** The same of a single server, and of servers that ask nobody: replicas copy whatever pod 0 has when it starts. */
function firstPod(subject: SurvivalSubject): Record<Event, Consequence> {
  const moved = subject.ephemeral ? loses("everything", "until pod 0 runs again") : restarted(subject, "power");
  return {
    process: restarted(subject, "crash"),
    machine: moved,
    zone: { ...moved, out: "until the zone is back" },
    "all-pods": allAtOnce(subject),
    volume: loses("everything", "until pod 0 runs again", "everything: pod 0 comes back empty, and replicas copy that"),
  };
}

/**
 * Replication with Sentinels: they promote a replica once they miss the primary. A server that is back sooner has them promote one.
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

/** A server that starts again with the disk that it had. @param cause whether the machine's memory is lost as well */
function restarted({ mode, settings }: SurvivalSubject, cause: "crash" | "power"): Consequence {
  const out = "until it has started and loaded its data";
  const loss = lossOnDisk(settings, cause);
  return mode === "cluster" && loss === "everything" ? loses("shard", out) : loses(loss, out);
}

/** Every server is killed, and none has time to save. */
function allAtOnce(subject: SurvivalSubject): Consequence {
  const out = "until servers have started and loaded their data";
  return loses(subject.ephemeral ? "everything" : lossOnDisk(subject.settings, "crash"), out);
}

/** An append-only file is written before clients are answered, and synced to the disk by `appendfsync`. */
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

/** `if a machine fails: loses writes that no replica had received; no writes for about 7 s` */
export function describeSurvival({ event, lost, out }: Survival): string {
  return `if ${EVENTS[event]}: loses ${lost}; no writes ${out.startsWith("until") ? out : `for ${out}`}`;
}

/** A sentence if any event loses everything, naming each; undefined otherwise. */
export function survivalWarning(survivals: readonly Survival[]): string | undefined {
  const worst = survivals.filter(({ loss }) => loss === "everything").map(({ event }) => EVENTS[event]);
  return worst.length === 0 ? undefined : `everything is lost if ${worst.join(", or if ")}`;
}

/** Why pods do not run, from what the API server has on them: a sentence per cause, with what to do about it. Pure. */
import type {
  CoreV1Event,
  V1ContainerStateTerminated,
  V1ContainerStatus,
  V1PersistentVolumeClaim,
  V1Pod,
} from "@kubernetes/client-node";
import { listNames } from "../../valkey/verification/assertion";

/** Everything that bears on pods that should run. */
export interface PodEvidence {
  readonly namespace: string;
  readonly wanted: number;
  /** What else could be done about pods that no machine is allowed to take. */
  readonly otherwise?: string | undefined;
  readonly pods: readonly V1Pod[];
  /** Of the pods. */
  readonly claims: readonly V1PersistentVolumeClaim[];
  /** Of the pods, of their claims, and of whatever makes the pods. */
  readonly events: readonly CoreV1Event[];
  /** Names; undefined where they may not be read. */
  readonly storageClasses: readonly string[] | undefined;
  /** The last a crashing pod's container said, by pod. */
  readonly lastWords: ReadonlyMap<string, string>;
}

export interface PodDiagnostic {
  /** The pods, or what makes them. */
  readonly names: readonly string[];
  readonly cause: string;
  /** Whether it stays so until somebody does something about it: more machines may come by themselves, an image does not. */
  readonly permanent: boolean;
}

/** Causes with the same words are one, with all their pods. */
export function diagnosePods(seen: PodEvidence): PodDiagnostic[] {
  const causes = [...seen.pods.flatMap((pod) => troublesOfPod(pod, seen)), ...makerTroubles(seen)];
  const merged = new Map<string, PodDiagnostic>();
  for (const cause of causes) {
    const before = merged.get(cause.cause);
    merged.set(cause.cause, before === undefined ? cause : { ...before, names: [...before.names, ...cause.names] });
  }
  return [...merged.values()];
}

/** `valkey-0, valkey-1: image x cannot be pulled …` */
export function formatDiagnostic({ names, cause }: PodDiagnostic): string {
  return `${listNames(names)}: ${cause}`;
}

/** Whether its container of that name runs and it has an address. */
export function isPodRunning(pod: V1Pod, container: string | undefined): boolean {
  const { status, metadata } = pod;
  if (status?.phase !== "Running" || status.podIP === undefined || metadata?.deletionTimestamp !== undefined)
    return false;
  return statusOf(pod, container)?.state?.running !== undefined;
}

/** @param container the first where there is no name */
function statusOf(pod: V1Pod, container: string | undefined): V1ContainerStatus | undefined {
  const name = container ?? pod.spec?.containers[0]?.name;
  return pod.status?.containerStatuses?.find((each) => each.name === name);
}

export function resourceName({ metadata }: { readonly metadata?: { readonly name?: string } }): string {
  return metadata?.name ?? "";
}

function troublesOfPod(pod: V1Pod, seen: PodEvidence): PodDiagnostic[] {
  const name = resourceName(pod);
  const found = (what: string, stays: boolean): PodDiagnostic[] => [{ names: [name], cause: what, permanent: stays }];
  const { status } = pod;
  if (status?.phase === "Failed")
    return found(`it has failed: ${status.message ?? status.reason ?? "no reason given"}`, true);
  const claims = claimTroubles(pod, seen);
  if (claims.length > 0) return claims;
  const unscheduled = status?.conditions?.find(({ type, status: is }) => type === "PodScheduled" && is === "False");
  if (unscheduled !== undefined)
    return found(unschedulable(unscheduled.message ?? unscheduled.reason ?? "no reason given", seen.otherwise), false);
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].flatMap(
    (container) => containerTroubles(container, name, seen),
  );
  if (containers.length > 0) return containers;
  if (isPodRunning(pod, undefined)) return [];
  const warning = lastWarningEvent(seen.events, name);
  if (warning !== undefined) return found(warning, false);
  return found(
    status?.phase === "Running" ? "it runs but has not started its container" : "it is still being started",
    false,
  );
}

/** The scheduler's own words, and what they call for. */
function unschedulable(message: string, otherwise: string | undefined): string {
  // What it would take to evict others follows, and never helps.
  const said = message
    .replace(/[,.]? (no new claims to deallocate, )?preemption: .*$/s, "")
    .trim()
    .replace(/\.$/, "");
  return `it cannot be scheduled (${said}); ${schedulingAdvice(said, otherwise)}`;
}

function schedulingAdvice(said: string, otherwise = "ask for a softer spread"): string {
  if (/topology spread/.test(said)) return `add machines in as many zones as the plan needs, or ${otherwise}`;
  if (/anti-affinity/.test(said)) return `add machines, or ${otherwise}`;
  if (/Insufficient|Too many pods/.test(said)) return "add machines that have room, or ask for less CPU or memory";
  if (/untolerated taint|node affinity|node selector|node\(s\) didn't match Pod's/.test(said))
    return "add machines with the labels and taints that the pods ask for, or ask for others";
  if (/volume|storage/i.test(said)) return "see whether the storage class can make volumes in these zones";
  return "add machines that fit, or change what the pods ask for";
}

function containerTroubles(
  container: V1ContainerStatus,
  pod: string,
  { lastWords, events }: PodEvidence,
): PodDiagnostic[] {
  const waiting = container.state?.waiting;
  const ended = container.state?.terminated ?? container.lastState?.terminated;
  const found = (what: string, stays = true): PodDiagnostic[] => [{ names: [pod], cause: what, permanent: stays }];
  switch (waiting?.reason) {
    case "InvalidImageName":
    case "ErrImageNeverPull":
    case "ErrImagePull":
    case "ImagePullBackOff": {
      const why =
        pullError(waiting.message) ??
        pullError(
          events.findLast(
            (event) =>
              event.involvedObject.name === pod && event.reason === "Failed" && /pull/i.test(event.message ?? ""),
          )?.message,
        );
      return found(
        `image ${container.image} cannot be pulled${why === undefined ? "" : ` (${why})`}; name one that the machines can pull, and its pull secret if it needs one`,
      );
    }
    case "CreateContainerConfigError":
    case "CreateContainerError":
    case "RunContainerError":
      return found(`container ${container.name} cannot be started: ${waiting.message ?? waiting.reason}`);
    case "CrashLoopBackOff":
      return found(crashing(container, ended, lastWords.get(pod)));
    default:
      return ended !== undefined && container.restartCount > 0 && container.state?.running === undefined
        ? found(crashing(container, ended, lastWords.get(pod)), false)
        : [];
  }
}

function crashing(
  { name, restartCount }: V1ContainerStatus,
  ended: V1ContainerStateTerminated | undefined,
  log: string | undefined,
): string {
  const said = ended?.message ?? log;
  const how =
    ended === undefined
      ? ""
      : ended.reason === "OOMKilled"
        ? ", the last time because its memory limit was too small"
        : `, the last time with exit code ${ended.exitCode}`;
  const words =
    said === undefined || said.trim() === ""
      ? ""
      : `; the last it said:\n${said
          .trim()
          .split("\n")
          .map((line) => `    ${line}`)
          .join("\n")}`;
  return `container ${name} keeps ending, ${restartCount} times so far${how}${words}`;
}

/** The registry's answer, without the layers of wrapping before it; nothing where there is only "back-off". */
function pullError(message: string | undefined): string | undefined {
  if (message === undefined || /^Back-off pulling image "[^"]*"$/.test(message)) return undefined;
  const innermost = message
    .replace(/^Back-off pulling image "[^"]*": /, "")
    .replace(/^(ErrImagePull|ImagePullBackOff): /, "");
  const cause = innermost.split(": ").slice(-3).join(": ").trim();
  return cause === "" ? undefined : cause;
}

/** A claim that waits for nothing but its pod is none: it is bound when the pod is scheduled. */
function claimTroubles(pod: V1Pod, { claims, events, storageClasses }: PodEvidence): PodDiagnostic[] {
  const names = (pod.spec?.volumes ?? []).flatMap(
    ({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [],
  );
  return names.flatMap((claimName): PodDiagnostic[] => {
    const claim = claims.find((each) => resourceName(each) === claimName);
    if (claim === undefined || claim.status?.phase === "Bound") return [];
    const wanted = claim.spec?.storageClassName;
    const known =
      storageClasses === undefined || storageClasses.length === 0
        ? ""
        : `; there ${storageClasses.length === 1 ? "is" : "are"} ${storageClasses.join(", ")}`;
    if (wanted === undefined || wanted === "")
      return [
        {
          names: [resourceName(pod)],
          cause: `its volume names no storage class and the cluster has no default one${known}`,
          permanent: true,
        },
      ];
    if (storageClasses !== undefined && !storageClasses.includes(wanted))
      return [
        {
          names: [resourceName(pod)],
          cause: `there is no storage class ${wanted} for its volume${known}`,
          permanent: true,
        },
      ];
    const failed = events.findLast((event) => event.involvedObject.name === claimName && event.type === "Warning");
    if (failed === undefined) return [];
    return [
      {
        names: [resourceName(pod)],
        cause: `storage class ${wanted} makes no volume for it: ${failed.message ?? failed.reason ?? ""}`,
        permanent: /not found/.test(failed.message ?? ""),
      },
    ];
  });
}

/** What a StatefulSet or a Job says of pods it could not even create. */
function makerTroubles({ namespace, events, pods, wanted }: PodEvidence): PodDiagnostic[] {
  const missing = wanted - pods.length;
  if (missing <= 0) return [];
  const failed = events.findLast(({ reason }) => reason === "FailedCreate");
  if (failed === undefined)
    return [
      {
        names: [`${pods.length} of ${wanted} pods exist`],
        cause: "nothing says why there are no more",
        permanent: false,
      },
    ];
  const { kind = "", name = "" } = failed.involvedObject;
  const message = failed.message ?? "";
  const quota = /exceeded quota: ([^,]+), requested: (.+), used: (.+), limited: (.+?)$/.exec(message);
  const maker = [`${kind} ${name}`];
  if (quota !== null) {
    const [, which = "", requested = "", used = "", limited = ""] = quota;
    return [
      {
        names: maker,
        cause: `quota ${which} of namespace ${namespace} allows ${limited}, of which ${used} is used and ${requested} more is asked for; raise it, or deploy less`,
        permanent: true,
      },
    ];
  }
  const why = message.replace(/^create Pod \S+ in StatefulSet \S+ failed error: /, "").replace(/^Error creating: /, "");
  return [{ names: maker, cause: `it may not create its pods: ${why}`, permanent: true }];
}

export function lastWarningEvent(events: readonly CoreV1Event[], name: string): string | undefined {
  const event = events.findLast((each) => each.involvedObject.name === name && each.type === "Warning");
  return event === undefined ? undefined : `${event.reason ?? "warning"}: ${event.message ?? ""}`;
}

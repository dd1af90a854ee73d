import type {
  CoreV1Event,
  V1ContainerStateTerminated,
  V1ContainerStatus,
  V1PersistentVolumeClaim,
  V1Pod,
} from "@kubernetes/client-node";
import { listNames } from "../../../valkey/verification/violations";

export interface PodEvidence {
  readonly namespace: string;
  readonly wanted: number;
  /** Advice for the user if pods cannot be scheduled, other than to add machines. */
  readonly otherwise?: string | undefined;
  readonly pods: readonly V1Pod[];
  readonly claims: readonly V1PersistentVolumeClaim[];
  readonly events: readonly CoreV1Event[];
  /** Names of storage classes; undefined if this program has no permission to read them. */
  readonly storageClasses: readonly string[] | undefined;
  readonly lastWords: ReadonlyMap<string, string>;
}

interface PodDiagnostic {
  readonly names: readonly string[];
  readonly cause: string;
  /** Not, for example, if an autoscaler may add machines; but if an image is missing. */
  readonly permanent: boolean;
}

/** Pods with the same reason share one diagnostic. */
export function diagnosePods(seen: PodEvidence): PodDiagnostic[] {
  const causes = [...seen.pods.flatMap((pod) => diagnosePod(pod, seen)), ...makerDiagnostics(seen)];
  const merged = new Map<string, PodDiagnostic>();
  for (const cause of causes) {
    const before = merged.get(cause.cause);
    merged.set(cause.cause, before === undefined ? cause : { ...before, names: [...before.names, ...cause.names] });
  }
  return [...merged.values()];
}

/** A diagnostic as text, such as `valkey-0, valkey-1: image x cannot be pulled …`. */
export function formatDiagnostic({ names, cause }: PodDiagnostic): string {
  return `${listNames(names)}: ${cause}`;
}

/** The pod must also have an address. @param container @default the pod's first container */
export function isPodRunning(pod: V1Pod, container: string | undefined): boolean {
  const { status, metadata } = pod;
  if (status?.phase !== "Running" || status.podIP === undefined || metadata?.deletionTimestamp !== undefined)
    return false;
  return statusOf(pod, container)?.state?.running !== undefined;
}

function statusOf(pod: V1Pod, container: string | undefined): V1ContainerStatus | undefined {
  const name = container ?? pod.spec?.containers[0]?.name;
  return pod.status?.containerStatuses?.find((each) => each.name === name);
}

export function resourceName({ metadata }: { readonly metadata?: { readonly name?: string } }): string {
  return metadata?.name ?? "";
}

function diagnosePod(pod: V1Pod, seen: PodEvidence): PodDiagnostic[] {
  const name = resourceName(pod);
  const found = (what: string, stays: boolean): PodDiagnostic[] => [{ names: [name], cause: what, permanent: stays }];
  const { status } = pod;
  if (status?.phase === "Failed")
    return found(`it has failed: ${status.message ?? status.reason ?? "no reason given"}`, true);
  const claims = claimDiagnostics(pod, seen);
  if (claims.length > 0) return claims;
  const unscheduled = status?.conditions?.find(({ type, status: is }) => type === "PodScheduled" && is === "False");
  if (unscheduled !== undefined)
    return found(unschedulable(unscheduled.message ?? unscheduled.reason ?? "no reason given", seen.otherwise), false);
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].flatMap(
    (container) => containerDiagnostics(container, name, seen),
  );
  if (containers.length > 0) return containers;
  if (isPodRunning(pod, undefined)) return [];
  const warning = lastWarningEvent(seen.events, name);
  if (warning !== undefined) return found(warning, false);
  return found(
    status?.phase === "Running" ? "it runs, but its container has not started" : "it is still starting",
    false,
  );
}

/** @param otherwise advice other than to add machines */
function unschedulable(message: string, otherwise: string | undefined): string {
  // The end of the message is about preemption, which never helps here. So it is removed.
  const said = message
    .replace(/[,.]? (no new claims to deallocate, )?preemption: .*$/s, "")
    .trim()
    .replace(/\.$/, "");
  return `it cannot be scheduled (${said}); ${schedulingAdvice(said, otherwise)}`;
}

function schedulingAdvice(said: string, otherwise = "use a softer spread constraint"): string {
  if (/topology spread/.test(said)) return `add machines in as many zones as the plan needs, or ${otherwise}`;
  if (/anti-affinity/.test(said)) return `add machines, or ${otherwise}`;
  if (/Insufficient|Too many pods/.test(said)) return "add machines with enough room, or request less CPU or memory";
  if (/untolerated taint|node affinity|node selector|node\(s\) didn't match Pod's/.test(said))
    return "add machines with the labels and taints that the pods require, or change what the pods require";
  if (/volume|storage/i.test(said)) return "check whether the storage class can provision volumes in these zones";
  return "add machines that meet the requirements of the pods, or change these requirements";
}

function containerDiagnostics(
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
      const reason = why === undefined ? "" : ` (${why})`;
      return found(
        `image ${container.image} cannot be pulled${reason}; name an image that the machines can pull, and its pull ` +
          "secret if it needs one",
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
  return `container ${name} has exited ${restartCount} times${lastExit(ended)}${quote(said)}`;
}

function lastExit(ended: V1ContainerStateTerminated | undefined): string {
  if (ended === undefined) return "";
  if (ended.reason === "OOMKilled") return ", the last time because its memory limit was too small";
  return `, the last time with exit code ${ended.exitCode}`;
}

function quote(log: string | undefined): string {
  const lines = (log ?? "").trim().split("\n");
  if (lines.join("") === "") return "";
  return `; the last lines of its log:\n${lines.map((line) => `    ${line}`).join("\n")}`;
}

/** The registry's error, without the errors that wrap it; undefined if the message only says "back-off". */
function pullError(message: string | undefined): string | undefined {
  if (message === undefined || /^Back-off pulling image "[^"]*"$/.test(message)) return undefined;
  const innermost = message
    .replace(/^Back-off pulling image "[^"]*": /, "")
    .replace(/^(ErrImagePull|ImagePullBackOff): /, "");
  const cause = innermost.split(": ").slice(-3).join(": ").trim();
  return cause === "" ? undefined : cause;
}

/** A claim that waits for its pod is not a problem: it is bound when the pod is scheduled. */
function claimDiagnostics(pod: V1Pod, { claims, events, storageClasses }: PodEvidence): PodDiagnostic[] {
  const names = (pod.spec?.volumes ?? []).flatMap(
    ({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [],
  );
  return names.flatMap((claimName): PodDiagnostic[] => {
    const claim = claims.find((each) => resourceName(each) === claimName);
    if (claim === undefined || claim.status?.phase === "Bound") return [];
    const wanted = claim.spec?.storageClassName;
    const known =
      storageClasses === undefined || storageClasses.length === 0 ? "" : `; available: ${storageClasses.join(", ")}`;
    const found = (cause: string, permanent: boolean): PodDiagnostic[] => [
      { names: [resourceName(pod)], cause, permanent },
    ];
    if (wanted === undefined || wanted === "")
      return found(`its volume names no storage class, and the cluster has no default storage class${known}`, true);
    if (storageClasses !== undefined && !storageClasses.includes(wanted))
      return found(`the cluster has no storage class ${wanted} for its volume${known}`, true);
    const failed = events.findLast((event) => event.involvedObject.name === claimName && event.type === "Warning");
    if (failed === undefined) return [];
    const reason = failed.message ?? failed.reason ?? "";
    return found(`storage class ${wanted} provisions no volume for the pod: ${reason}`, /not found/.test(reason));
  });
}

function makerDiagnostics({ namespace, events, pods, wanted }: PodEvidence): PodDiagnostic[] {
  const missing = wanted - pods.length;
  if (missing <= 0) return [];
  const failed = events.findLast(({ reason }) => reason === "FailedCreate");
  if (failed === undefined)
    return [{ names: [`${pods.length} of ${wanted} pods exist`], cause: "no event gives a reason", permanent: false }];
  const { kind = "", name = "" } = failed.involvedObject;
  const message = failed.message ?? "";
  const quota = /exceeded quota: ([^,]+), requested: (.+), used: (.+), limited: (.+?)$/.exec(message);
  const maker = [`${kind} ${name}`];
  if (quota !== null) {
    const [, which = "", requested = "", used = "", limited = ""] = quota;
    const cause =
      `quota ${which} of namespace ${namespace} allows ${limited}; ${used} is used and ${requested} more is requested. ` +
      "Raise the quota, or deploy less";
    return [{ names: maker, cause, permanent: true }];
  }
  const why = message.replace(/^create Pod \S+ in StatefulSet \S+ failed error: /, "").replace(/^Error creating: /, "");
  // Only what rules refuse stays. Other problems end by themselves: a claim that is still being deleted, or a claim that
  // the maker has not seen yet.
  const refused = /forbidden|denied|invalid|unauthorized/i.test(why);
  return [{ names: maker, cause: `it cannot create its pods: ${why}`, permanent: refused }];
}

/** Reason and message; undefined if it has none. @param name of the object */
export function lastWarningEvent(events: readonly CoreV1Event[], name: string): string | undefined {
  const event = events.findLast((each) => each.involvedObject.name === name && each.type === "Warning");
  return event === undefined ? undefined : `${event.reason ?? "warning"}: ${event.message ?? ""}`;
}

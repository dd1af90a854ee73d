import type { V1Pod } from "@kubernetes/client-node";
import { compact } from "../../../lib/compact";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { LoadGeneratorFailure } from "../load-driver";

type Pod = Plain<V1Pod>;

export function runnerIndex(pod: Pod): number | undefined {
  const index = pod.metadata?.annotations?.["batch.kubernetes.io/job-completion-index"];
  return index === undefined ? undefined : Number(index);
}

/**
 * @param pods all pods, including pods that are being deleted
 * @param runners each missing pod counts as an interruption.
 * @default 0: missing pods are accepted
 * @throws LoadGeneratorFailure if a runner failed; with `interrupted` if a pod was evicted, deleted, or lost with its
 * machine
 */
export function assertRunnersWork(pods: readonly Pod[], runners = 0): void {
  const failed = pods.flatMap((pod) => {
    const reason = isTakenAway(pod) ? undefined : failureReason(pod);
    return reason === undefined ? [] : [{ runner: runnerName(pod), reason }];
  });
  const [first] = failed;
  if (first !== undefined) {
    const others = failed.length === 1 ? "" : `, and ${failed.length - 1} more runners failed`;
    throw new LoadGeneratorFailure(
      `${first.runner} failed: ${first.reason}${others}`,
      failed.map(({ runner, reason }) => `${runner}: ${reason}`).join("\n"),
    );
  }
  const lines = interruptions(pods, runners);
  if (lines[0] !== undefined) throw new LoadGeneratorFailure(lines[0], lines.join("\n"), { interrupted: true });
}

/** Those with a reason come first: others may be deleted only because the Job ended. The first line is the error. */
function interruptions(pods: readonly Pod[], runners: number): string[] {
  const taken = pods.filter(isTakenAway);
  const present = new Set(pods.map(runnerIndex));
  const missing = Array.from({ length: runners }, (_, index) => index).filter((index) => !present.has(index));
  const told = taken.filter((pod) => disruption(pod) !== undefined);
  return [
    ...told.map((pod) => {
      const { reason, message } = disruption(pod) ?? {};
      return `${runnerName(pod)} was interrupted: ${compact([reason, message]).join(", ") || "no reason given"}`;
    }),
    ...missing.map((index) => `runner ${index} was interrupted: its pod is gone`),
    ...taken
      .filter((pod) => !told.includes(pod))
      .map((pod) => `${runnerName(pod)} was interrupted: its pod is being deleted`),
  ];
}

export function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

function runnerName(pod: Pod): string {
  return `runner ${runnerIndex(pod) ?? "?"} on ${pod.spec?.nodeName ?? "no machine"} (${pod.metadata?.name ?? "?"})`;
}

/** The exit status of such a pod is the status of a signal, which is not a failure of the runner. */
function isTakenAway(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp !== undefined || disruption(pod) !== undefined;
}

/** For example an eviction, a taint, the loss of its machine, or a pod with a higher priority. */
function disruption({ status }: Pod): { readonly reason?: string; readonly message?: string } | undefined {
  return status?.conditions?.find(({ type, status: state }) => type === "DisruptionTarget" && state === "True");
}

function failureReason({ status }: Pod): string | undefined {
  const ends = (status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated ?? []);
  const end = ends.find(({ exitCode }) => exitCode !== 0);
  if (end !== undefined) {
    const cause = end.reason === "OOMKilled" ? "its memory limit is too small" : `exit status ${end.exitCode}`;
    return compact([cause, end.message?.trim()]).join(", ");
  }
  return status?.phase === "Failed" ? (status.message ?? status.reason ?? "no reason given") : undefined;
}

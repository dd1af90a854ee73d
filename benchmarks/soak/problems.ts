import { compact } from "../../lib/compact";
import { formatCount } from "../../lib/units";
import type { SoakWindow } from "./checkpoint-log";
import type { NodeSample } from "./node-sample";

/** @param windows windows of one deployment */
export function soakProblems(nodes: readonly string[], windows: readonly SoakWindow[]): string[] {
  return [...nodes.flatMap((node) => nodeProblems(samplesOf(node, windows))), ...requestProblems(windows)];
}

export function samplesOf(node: string, windows: readonly SoakWindow[]): NodeSample[] {
  return windows.flatMap(({ samples }) => samples.filter((sample) => sample.node === node));
}

function nodeProblems(samples: readonly NodeSample[]): string[] {
  const problem = (what: string, holds: (sample: NodeSample, previous?: NodeSample) => boolean): string | undefined => {
    const count = samples.filter((sample, index) => holds(sample, samples[index - 1])).length;
    if (count === 0) return undefined;
    return `${samples[0]?.node ?? ""} ${what} (${count} of ${samples.length} windows)`;
  };
  return compact([
    problem("did not reply", ({ role }) => role === null),
    problem("was restarted", isRestarted),
    problem("changed its role", hasChangedRole),
    problem("had no link to its primary", ({ role, linkUp }) => role !== null && !linkUp),
    problem("could not write its append-only file", ({ aofHealthy }) => !aofHealthy),
  ]);
}

function isRestarted({ uptimeSeconds }: NodeSample, previous?: NodeSample): boolean {
  return uptimeSeconds !== null && uptimeSeconds < (previous?.uptimeSeconds ?? 0);
}

function hasChangedRole({ role }: NodeSample, previous?: NodeSample): boolean {
  const before = previous?.role ?? null;
  return role !== null && before !== null && role !== before;
}

function requestProblems(windows: readonly SoakWindow[]): string[] {
  const failed = windows.reduce((sum, window) => sum + window.failed, 0);
  const unknown = windows.reduce((sum, window) => sum + window.unknown, 0);
  return compact([
    failed === 0 ? undefined : `${formatCount(failed)} requests failed`,
    unknown === 0 ? undefined : `${formatCount(unknown)} requests got no reply`,
  ]);
}

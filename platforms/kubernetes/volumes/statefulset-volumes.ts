import type { V1PersistentVolumeClaim, V1StatefulSet } from "@kubernetes/client-node";
import { Failure } from "../../../lib/errors";
import { holdsInTime } from "../../../lib/polling";
import type { WaitOptions } from "../../../lib/progress";
import { listNames } from "../../../valkey/verification/violations";
import type { KubernetesClient } from "../api/client";
import { lastWarningEvent, resourceName } from "../api/pod-diagnostics";
import { parseQuantity } from "../api/quantity";

export interface StatefulSetName {
  readonly namespace: string;
  readonly statefulSet: string;
}

export interface StatefulSetVolumes extends StatefulSetName {
  /** The names of its claims are `TEMPLATE-STATEFULSET-0` and so on. */
  readonly template: string;
}

export interface DesiredVolume {
  readonly size: string;
  /** Name of a storage class. @default the cluster's default class */
  readonly className?: string | undefined;
}

export const POLL_MS = 500;

/** Finds claims even if the StatefulSet no longer exists. @throws Failure without the permission to read claims */
export async function claimsOfSet(
  kubernetes: KubernetesClient,
  set: StatefulSetVolumes,
): Promise<V1PersistentVolumeClaim[]> {
  const { namespace, statefulSet, template } = set;
  const { items } = await kubernetes.call(
    `reading the volume claims of namespace ${namespace}`,
    kubernetes.core.listNamespacedPersistentVolumeClaim({ namespace }),
  );
  return items.filter((claim) => isOrdinalOf(resourceName(claim), `${template}-${statefulSet}`));
}

export function findStatefulSet(
  kubernetes: KubernetesClient,
  { namespace, statefulSet: name }: StatefulSetName,
): Promise<V1StatefulSet | undefined> {
  return kubernetes.find(
    `reading StatefulSet ${name} of namespace ${namespace}`,
    kubernetes.apps.readNamespacedStatefulSet({ namespace, name }),
  );
}

export const isBound = ({ status }: V1PersistentVolumeClaim): boolean => status?.phase === "Bound";

export const requestedBytes = ({ spec }: V1PersistentVolumeClaim): number =>
  parseQuantity(spec?.resources?.requests?.["storage"] ?? "");

export async function zonesOfVolumes(
  kubernetes: KubernetesClient,
  claims: readonly V1PersistentVolumeClaim[],
): Promise<Map<string, string>> {
  const { items } = await kubernetes.call("reading volumes", kubernetes.core.listPersistentVolume());
  const zones = new Map(
    items.flatMap(({ metadata, spec }) => {
      const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
      // Some drivers use their own label instead of the standard label, such as topology.ebs.csi.aws.com/zone.
      const keys = terms
        .flatMap(({ matchExpressions = [] }) => matchExpressions)
        .filter(({ key }) => key.endsWith("/zone"));
      const [zone] = keys.flatMap(({ values = [] }) => values);
      return zone === undefined ? [] : [[metadata?.name ?? "", zone] as const];
    }),
  );
  return new Map(
    claims.flatMap((claim) => {
      const zone = zones.get(claim.spec?.volumeName ?? "");
      return zone === undefined ? [] : [[resourceName(claim), zone] as const];
    }),
  );
}

/** Larger volumes are not changed. @throws Failure with the reason why volumes do not grow */
export async function growVolumes(
  kubernetes: KubernetesClient,
  set: StatefulSetVolumes,
  size: string,
  { timeoutMs, signal, report }: WaitOptions,
): Promise<void> {
  const bytes = parseQuantity(size);
  const { namespace } = set;
  for (const claim of (await claimsOfSet(kubernetes, set)).filter(isBound)) {
    if (requestedBytes(claim) >= bytes) continue;
    const name = resourceName(claim);
    const body = [{ op: "replace", path: "/spec/resources/requests/storage", value: size }];
    await kubernetes.call(
      `growing volume claim ${name} of namespace ${namespace}`,
      kubernetes.core.patchNamespacedPersistentVolumeClaim({ namespace, name, body }),
    );
  }
  let small: V1PersistentVolumeClaim[] = [];
  const haveGrown = async (): Promise<boolean> => {
    small = (await claimsOfSet(kubernetes, set)).filter(
      (claim) => isBound(claim) && parseQuantity(claim.status?.capacity?.["storage"] ?? "") < bytes,
    );
    if (small.length > 0) report(describeGrowing(small), true);
    return small.length === 0;
  };
  if (await holdsInTime(haveGrown, { timeoutMs, intervalMs: POLL_MS, signal })) return;
  const { items } = await kubernetes.call(
    `reading the events of namespace ${namespace}`,
    kubernetes.core.listNamespacedEvent({ namespace }),
  );
  const warning = small.flatMap((claim) => lastWarningEvent(items, resourceName(claim)) ?? [])[0];
  throw new Failure(
    `${describeGrowing(small)}${warning === undefined ? "" : ` (${warning})`}; the next update continues`,
  );
}

/** Some drivers grow a mounted file system only when the pod starts again. */
function describeGrowing(claims: readonly V1PersistentVolumeClaim[]): string {
  const pending = claims.filter(({ status }) =>
    status?.conditions?.some(({ type, status: is }) => type === "FileSystemResizePending" && is === "True"),
  );
  return pending.length > 0
    ? `volume claims ${listNames(pending.map(resourceName))} grow when their pods restart ` +
        "(FileSystemResizePending); if the claims have not grown after a minute, delete these pods one after the other"
    : `volume claims ${listNames(claims.map(resourceName))} have not grown yet`;
}

export function isOrdinalOf(name: string, prefix: string): boolean {
  return name.startsWith(`${prefix}-`) && /^\d+$/.test(name.slice(prefix.length + 1));
}

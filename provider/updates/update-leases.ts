/** Leases of deployments with a controller: an update holds them, so that no controller changes the deployment too. */
import { hostname } from "node:os";
import { checksum } from "../../lib/checksum";
import type { DeploymentReference, KubernetesReference } from "../../platforms/deployment-reference";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import { Lease, LEASE_SECONDS, serviceAccountUid } from "../../platforms/kubernetes/api/lease";
import type { HandlerContext } from "../protocol/resource-handler";

/** First word of the holder's name. One update takes over from another, because Pulumi runs one update at a time. */
const UPDATE = "pulumi";
const RENEW_MS = (LEASE_SECONDS * 1000) / 4;
/** Time limit for a controller to finish a repair, milliseconds. */
const PATIENCE_MS = 360_000;
/** Annotation of the Lease: checksum of the nodes that the last update wanted. */
export const WANTED_NOTE = "valkey/wanted";

/**
 * Checksum of everything in a reference by which formation places nodes. An update that fails may have changed the
 * deployment, but not the settings of its controller. The controller compares the checksums, and does not repair towards
 * the former nodes.
 */
export function wantedNodes({ mode, shape, zones, sentinel }: KubernetesReference): string {
  const settings = Object.entries(sentinel?.settings ?? {}).sort(([a], [b]) => a.localeCompare(b));
  return checksum(JSON.stringify([mode, shape.primaries, shape.replicasPerPrimary, zones, settings]));
}

/**
 * The Leases that this process holds. It renews them until it ends, because the update may still change objects after
 * the last handler. Then the controller goes on after LEASE_SECONDS.
 */
export class UpdateLeases {
  readonly #held = new Map<string, Promise<Lease | undefined>>();

  /**
   * Takes the Lease of the deployment, if it has one, and waits while a controller repairs the deployment.
   * @param inputs inputs of a resource
   * @param isWanted whether the update wants these inputs; false for the inputs of the former update
   * @throws Failure when the API server refuses, or the controller does not finish in time
   */
  async hold(inputs: Readonly<Record<string, unknown>>, isWanted: boolean, context: HandlerContext): Promise<void> {
    const target = inputs["target"] as DeploymentReference | undefined;
    if (target?.platform !== "kubernetes" || target.lease === undefined) return;
    const key = `${target.namespace}/${target.lease}`;
    const taken = this.#held.get(key) ?? take(target, target.lease, context);
    this.#held.set(key, taken);
    // A failed attempt is not kept, so that the next handler tries again.
    taken.catch(() => this.#held.delete(key));
    const lease = await taken;
    const wanted = wantedNodes(target);
    if (isWanted && lease !== undefined && lease.notes[WANTED_NOTE] !== wanted)
      await lease.await({ [WANTED_NOTE]: wanted }, PATIENCE_MS, context.signal, context.report);
  }
}

/** @returns undefined if the deployment has no controller yet, or none any more */
async function take(
  target: KubernetesReference,
  lease: string,
  { signal, report }: HandlerContext,
): Promise<Lease | undefined> {
  const kubernetes = await openKubernetesClient(target);
  const name = { namespace: target.namespace, lease };
  if ((await serviceAccountUid(kubernetes, name)) === undefined) return undefined;
  const holder = `${UPDATE} on ${hostname()}, process ${process.pid}`;
  const own = new Lease(kubernetes, name, holder, (other) => other.startsWith(`${UPDATE} `));
  await own.await({}, PATIENCE_MS, signal, report);
  // A renewal that fails is tried again. Without any, the controller takes over.
  setInterval(() => void own.acquire().catch(() => undefined), RENEW_MS).unref();
  return own;
}

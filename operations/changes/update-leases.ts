/** Leases of deployments with a controller: an update holds them, so that no controller changes the deployment too. */
import { hostname } from "node:os";
import { checksum } from "../../lib/checksum";
import { Failure } from "../../lib/errors";
import type { DeploymentReference, KubernetesReference } from "../../platforms/deployment-reference";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import { Lease, serviceAccountUid } from "../../platforms/kubernetes/api/lease";
import type { HandlerContext } from "../protocol/resource-handler";

/** An update takes the Lease of an earlier one, which has ended: Pulumi runs one update at a time. */
const UPDATE = "pulumi";
/** Time limit for a controller to finish a repair, milliseconds. */
const PATIENCE_MS = 360_000;
/** Annotation of the Lease: checksum of the nodes in the inputs of the last update. */
export const WANTED_NOTE = "valkey/wanted";

/**
 * Where formation places nodes. A failed update may have changed it, while the controller has the former reference: if
 * the checksums differ, the controller does not restore the former nodes.
 */
export function wantedNodes({ mode, shape, zones, sentinel }: KubernetesReference): string {
  const settings = Object.entries(sentinel?.settings ?? {}).sort(([a], [b]) => a.localeCompare(b));
  return checksum(JSON.stringify([mode, shape.primaries, shape.replicasPerPrimary, zones, settings]));
}

/** Annotation of the Lease: checksum of the settings in the inputs of the last update. */
export const SETTINGS_NOTE = "valkey/settings";

/** A failed update may have changed them: if the controller's checksum differs, it restores nothing. */
export function wantedSettings({ directives }: KubernetesReference): string {
  return checksum(JSON.stringify(Object.entries(directives).sort(([a], [b]) => a.localeCompare(b))));
}

type Inputs = Readonly<Record<string, unknown>>;

/** Renewed until the process ends: an update may change objects after the last handler. */
export class UpdateLeases {
  readonly #held = new Map<string, Promise<Lease | undefined>>();

  /** @param onLost called if this process loses a Lease, for example while its machine sleeps: the update must stop */
  constructor(private readonly onLost: (why: Failure) => void) {}

  /** Waits while a controller repairs. @param wanted undefined if this update deletes the resource @throws Failure */
  async hold(inputs: Inputs, wanted: Inputs | undefined, context: HandlerContext): Promise<void> {
    const target = inputs["target"] as DeploymentReference | undefined;
    if (target?.platform !== "kubernetes" || target.lease === undefined) return;
    const key = `${target.namespace}/${target.lease}`;
    const taken = this.#held.get(key) ?? take(target, target.lease, context, this.onLost);
    this.#held.set(key, taken);
    // A failed attempt is not kept, so that the next handler tries again.
    taken.catch(() => this.#held.delete(key));
    const lease = await taken;
    const future = wanted?.["target"] as DeploymentReference | undefined;
    // An update that removes the controller also writes its checksums. If the update fails, the controller still runs
    // and compares them.
    if (lease === undefined || future?.platform !== "kubernetes") return;
    const notes = { [WANTED_NOTE]: wantedNodes(future), [SETTINGS_NOTE]: wantedSettings(future) };
    if (Object.entries(notes).some(([name, value]) => lease.notes[name] !== value))
      await lease.await(notes, PATIENCE_MS, context.signal, context.report);
  }
}

/** @returns undefined if the deployment has no controller */
async function take(
  target: KubernetesReference,
  lease: string,
  { signal, report }: HandlerContext,
  onLost: (why: Failure) => void,
): Promise<Lease | undefined> {
  const kubernetes = await openKubernetesClient(target);
  const name = { namespace: target.namespace, lease };
  if ((await serviceAccountUid(kubernetes, name)) === undefined) return undefined;
  const holder = `${UPDATE} on ${hostname()}, process ${process.pid}`;
  const own = new Lease(kubernetes, name, holder, (other) => other.startsWith(`${UPDATE} `));
  await own.await({}, PATIENCE_MS, signal, report);
  own.keep((why) => {
    // Kubernetes deletes the Lease together with the controller, which this update may have removed.
    if (why !== "gone") onLost(new Failure(`${why}, so the update stops; run pulumi up again`));
  });
  return own;
}

/** Drift that `pulumi refresh` finds: differences from the deployment that was formed and verified. */
import { compact } from "../../lib/compact";
import { messageOf } from "../../lib/errors";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { openToLook } from "../protocol/opening";
import type { SeenData } from "../../valkey/verification/facts";
import { type Verification, compareData, verifyUntilPass } from "../../valkey/verification/verify";
import { describeLeftoverSettings } from "../../valkey/membership/temporary-settings";
import type { Deployment } from "../../valkey/deployment";
import { type OpenSlots, readOpenSlots } from "../../valkey/resize/open-slots";
import { failbacks } from "../../valkey/resize/resize-roles";
import { groupByZone, type Shape } from "../../valkey/topology/placement";

const SETTLING_MS = 5_000;

export interface Inspection {
  /** Verification of the present state; undefined if the nodes could not be reached. */
  readonly verification: Verification | undefined;
  /** Data with which the next inspection compares; undefined if no verification has passed yet. */
  readonly data?: SeenData | undefined;
  /** Differences from the verified deployment, one sentence for each; empty if there are no differences. */
  readonly drift: readonly string[];
  /**
   * Slots whose migration was begun but not finished; undefined if there are no such slots, or if `forRepair` is false.
   */
  readonly openSlots?: OpenSlots | undefined;
}

interface InspectionOptions {
  /** Data that an earlier verification or inspection saw. @default data is not compared */
  readonly former?: SeenData | undefined;
  /** Time limit for pods and servers to answer, milliseconds. @default 15000 */
  readonly timeoutMs?: number | undefined;
  /** Whether to read the slots whose migration is not finished. A repair needs them. @default false */
  readonly forRepair?: boolean | undefined;
  /** Client of the API server of a deployment on Kubernetes. @default a new client */
  readonly kubernetes?: KubernetesClient | undefined;
  readonly signal: AbortSignal;
}

/** Never throws, because a refresh must be able to show a deployment that is broken or gone. */
export async function inspectDeployment(
  target: DeploymentReference,
  password: string,
  { former, timeoutMs, forRepair = false, kubernetes, signal }: InspectionOptions,
): Promise<Inspection> {
  try {
    const deployment = await openToLook({ target, password }, { signal, timeoutMs, kubernetes });
    const settled = await verifyUntilPass(deployment, { settlingMs: SETTLING_MS, signal });
    const { verification, data } = compareData(settled, former);
    const failed = verification.verdict.assertions.filter(({ pass }) => !pass);
    const drift = [
      ...failed.map(({ id, found }) => `${id}: ${found}`),
      ...(await describeLeftoverSettings(deployment)),
    ];
    return {
      verification,
      data,
      drift: drift.length > 0 ? drift : unevenPrimaries(verification, target.shape),
      openSlots: forRepair ? await findOpenSlots(deployment, verification) : undefined,
    };
  } catch (error) {
    return { verification: undefined, data: former, drift: [messageOf(error)] };
  }
}

/** Undefined if the verification found none, or if they cannot be read. */
export async function findOpenSlots(deployment: Deployment, { verdict }: Verification): Promise<OpenSlots | undefined> {
  const areOpen = verdict.assertions.some(({ id, pass }) => id === "no-moves" && !pass);
  return areOpen ? readOpenSlots(deployment).catch(() => undefined) : undefined;
}

/**
 * It passes verification, but if a zone with too many primaries failed, too few might be left to elect new ones. The
 * next formation moves primaries back.
 */
function unevenPrimaries({ facts, verdict }: Verification, shape: Shape): string[] {
  if (facts.mode !== "cluster") return [];
  const zones = new Map(facts.nodes.map(({ node }) => [node.name, node.zone ?? ""]));
  const nodes = verdict.shards.flatMap(({ primary, replicas, slots }) =>
    compact([
      primary === undefined ? undefined : { name: primary, primary: undefined, slots },
      ...replicas.map((name) => ({ name, primary, slots: [] })),
    ]),
  );
  const placed = nodes.map((node) => ({ ...node, zone: zones.get(node.name) ?? "", leaving: false }));
  const primaries = groupByZone(placed.filter(({ primary }) => primary === undefined));
  return failbacks(placed, shape).map(({ from, to }) => {
    const zone = zones.get(from) ?? "";
    const count = primaries.get(zone)?.length ?? 0;
    return `${count} of ${shape.primaries} primaries are in zone ${zone}, so ${to} must take over from ${from}`;
  });
}

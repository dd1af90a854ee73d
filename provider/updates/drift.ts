/** Drift that `pulumi refresh` finds: whether a deployment still is as it was formed and verified. */
import { compact } from "../../lib/compact";
import { messageOf } from "../../lib/errors";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment } from "../../platforms/deployment-reference";
import type { SeenData } from "../../valkey/verification/kept-data";
import { withKeptData } from "../../valkey/verification/kept-data";
import type { Verification } from "../../valkey/verification/verify";
import { verifyUntilPass } from "../../valkey/verification/verify";
import { describeLeftoverSettings } from "../../valkey/membership/temporary-settings";
import { failbacks } from "../../valkey/resize/resize-roles";
import { groupByZone } from "../../valkey/topology/placement";
import type { Shape } from "../../valkey/topology/placement";

/** Milliseconds that pods may take to answer, and that a deployment in the middle of a failover may take to settle. */
const ANSWER_MS = 15_000;
const SETTLING_MS = 5_000;

/** The deployment as its nodes tell it now. */
export interface Inspection {
  /** Undefined where the nodes could not be asked. */
  readonly verification: Verification | undefined;
  /** A sentence for each reason why it no longer is what was verified; empty when it is. */
  readonly drift: readonly string[];
}

/** Comparison and end of an inspection. */
export interface InspectionOptions {
  /** Data that an earlier verification saw. @default data is not compared */
  readonly former?: SeenData | undefined;
  readonly signal: AbortSignal;
}

/** Never throws: a refresh has to show a deployment that is broken or gone. */
export async function inspectDeployment(
  target: DeploymentReference,
  password: string,
  { former, signal }: InspectionOptions,
): Promise<Inspection> {
  try {
    const deployment = await openDeployment(target, password, { timeoutMs: ANSWER_MS, signal });
    const settled = await verifyUntilPass(deployment, { settlingMs: SETTLING_MS, signal });
    const verification = former === undefined ? settled : withKeptData(settled, former);
    const failed = verification.verdict.assertions.filter(({ pass }) => !pass);
    const drift = [
      ...failed.map(({ id, found }) => `${id}: ${found}`),
      ...(await describeLeftoverSettings(deployment)),
    ];
    return { verification, drift: drift.length > 0 ? drift : unevenPrimaries(verification, target.shape) };
  } catch (error) {
    return { verification: undefined, drift: [messageOf(error)] };
  }
}

/**
 * A cluster of which failovers have left one zone with more primaries than an even spread gives it. It passes
 * verification, but the loss of that zone may leave too few primaries to elect others; the next formation hands back.
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
    return `${count} of ${shape.primaries} primaries are in zone ${zone}: ${to} is to take over from ${from}`;
  });
}

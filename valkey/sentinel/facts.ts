import { withEveryNode } from "../connections";
import type { DeploymentNode } from "../node";
import type { Deployment } from "../deployment";
import { messageOf } from "../../lib/errors";
import type { Observation } from "../observation";
import { observed, unobserved } from "../observation";
import { sentinelsAsDeployment } from "./form-sentinels";
import type { Sentinels } from "./plan";
import type { SentinelView } from "./sentinel-view";
import { readSentinelView } from "./sentinel-view";

export interface SentinelFacts {
  readonly node: Pick<DeploymentNode, "name" | "zone" | "endpoint">;
  readonly view: Observation<SentinelView>;
}

/** Never throws for a Sentinel: what cannot be read is not known. */
export function gatherSentinelFacts(deployment: Deployment, sentinels: Sentinels): Promise<SentinelFacts[]> {
  return withEveryNode(sentinelsAsDeployment(deployment, sentinels), (reached) =>
    Promise.all(
      reached.map(async (each): Promise<SentinelFacts> => {
        if (each.connection === undefined) return { node: each.node, view: unobserved(each.why) };
        try {
          const watch = await readSentinelView(each.connection, deployment.name);
          return { node: each.node, view: watch === undefined ? unobserved("watches nobody") : observed(watch) };
        } catch (error) {
          return { node: each.node, view: unobserved(messageOf(error)) };
        }
      }),
    ),
  );
}

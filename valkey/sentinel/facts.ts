import { withEveryNode } from "../connections";
import type { DeploymentNode } from "../node";
import type { Deployment } from "../deployment";
import { messageOf } from "../../lib/errors";
import type { Learnt } from "../observation";
import { known, unknown } from "../observation";
import { asDeployment } from "./form-sentinels";
import type { Sentinels } from "./plan";
import type { Watch } from "./watch";
import { askWatch } from "./watch";

export interface SentinelFacts {
  readonly node: Pick<DeploymentNode, "name" | "zone" | "endpoint">;
  readonly watch: Learnt<Watch>;
}

/** Never throws for a Sentinel: what cannot be read is not known. */
export function gatherSentinels(deployment: Deployment, sentinels: Sentinels): Promise<SentinelFacts[]> {
  return withEveryNode(asDeployment(deployment, sentinels), (reached) =>
    Promise.all(
      reached.map(async (each): Promise<SentinelFacts> => {
        if (each.connection === undefined) return { node: each.node, watch: unknown(each.why) };
        try {
          const watch = await askWatch(each.connection, deployment.name);
          return { node: each.node, watch: watch === undefined ? unknown("watches nobody") : known(watch) };
        } catch (error) {
          return { node: each.node, watch: unknown(messageOf(error)) };
        }
      }),
    ),
  );
}

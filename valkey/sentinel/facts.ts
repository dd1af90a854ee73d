import { messageOf } from "../../lib/errors";
import { type ConnectionAttempt, withEveryNode } from "../connections";
import type { Deployment } from "../deployment";
import type { DeploymentNode } from "../node";
import { type Observation, observed, unobserved } from "../observation";
import { sentinelsAsDeployment } from "./form-sentinels";
import type { Sentinels } from "../sentinel-config";
import { type SentinelView, readSentinelView } from "./sentinel-view";

/** One Sentinel and its view of the deployment. */
export interface SentinelFacts {
  readonly node: Pick<DeploymentNode, "name" | "zone" | "endpoint">;
  readonly view: Observation<SentinelView>;
}

/** If a Sentinel does not reply, its facts contain the reason. */
export function gatherSentinelFacts(deployment: Deployment, sentinels: Sentinels): Promise<SentinelFacts[]> {
  return withEveryNode(sentinelsAsDeployment(deployment, sentinels), (attempts) =>
    Promise.all(
      attempts.map(async (attempt) => ({ node: attempt.node, view: await observeView(attempt, deployment.name) })),
    ),
  );
}

async function observeView(attempt: ConnectionAttempt, monitored: string): Promise<Observation<SentinelView>> {
  if (attempt.connection === undefined) return unobserved(attempt.why);
  try {
    const view = await readSentinelView(attempt.connection, monitored);
    return view === undefined ? unobserved("monitors no primary") : observed(view);
  } catch (error) {
    return unobserved(messageOf(error));
  }
}

import { messageOf } from "../../lib/errors";
import { type ConnectionAttempt, withEveryNode } from "../connections";
import type { Deployment } from "../deployment";
import type { Connection } from "../connection";
import type { DeploymentNode, Endpoint } from "../node";
import { type Observation, observed, unobserved } from "../observation";
import { sentinelsAsDeployment } from "./form-sentinels";
import type { Sentinels } from "../sentinel-config";
import { parseInfo } from "../topology/replies";
import { type SentinelView, readSentinelView } from "./sentinel-view";

/** One Sentinel and its view of the deployment. */
export interface SentinelFacts {
  readonly node: Pick<DeploymentNode, "name" | "zone" | "endpoint">;
  readonly view: Observation<SentinelView>;
  /** The ID by which other Sentinels know it. Undefined if it did not tell. */
  readonly id?: string | undefined;
  /** Undefined if it did not tell. */
  readonly runId?: string | undefined;
  /** The address to which the connection to it leads. */
  readonly address?: Endpoint | undefined;
}

/** Undefined for a forwarded connection. */
export function addressOf(connection: Connection | undefined): Endpoint | undefined {
  const { remoteAddress: host, remotePort: port } = connection?.stream ?? {};
  return host === undefined || port === undefined ? undefined : { host, port };
}

/** If a Sentinel does not reply, its facts contain the reason. */
export function gatherSentinelFacts(deployment: Deployment, sentinels: Sentinels): Promise<SentinelFacts[]> {
  return withEveryNode(sentinelsAsDeployment(deployment, sentinels), (attempts) =>
    Promise.all(
      attempts.map(async (attempt) => ({
        node: attempt.node,
        view: await observeView(attempt, deployment.name),
        ...(await identify(attempt)),
      })),
    ),
  );
}

async function identify({ connection }: ConnectionAttempt): Promise<Partial<SentinelFacts>> {
  const address = addressOf(connection);
  const [info, id] = await Promise.allSettled([connection?.info("server"), connection?.call("SENTINEL", "MYID")]);
  const runId = info.status === "fulfilled" ? parseInfo(info.value ?? "").get("run_id") : undefined;
  return { address, runId, id: id.status === "fulfilled" && typeof id.value === "string" ? id.value : undefined };
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

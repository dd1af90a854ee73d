/** Makes servers lose known acknowledged writes, which accounting must then name. */
import { readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { WriteAccounting } from "../../../faults/writes/accounting";
import type { FaultSubject } from "../../../faults/scenarios/scenario-run";
import type { Host } from "../../../platforms/host/host";
import { verify } from "../../../valkey/verification/verify";
import { withNode } from "../valkey/real";
import { accountAfterLoss, withCurrentNodes } from "./fault-subject";

export interface InducedLoss {
  readonly accounting: WriteAccounting;
  readonly lost: readonly string[];
}

/** `KEY NUMBER` of each write that accounting calls lost. */
export function lostWriteNames({ lost }: WriteAccounting): string[] {
  return lost.map(({ key, number }) => `${key} ${number}`);
}

/**
 * Cuts the last `count` writes off the append-only file of a replication deployment's primary while all nodes are down.
 */
export async function truncateAppendOnlyFile(host: Host, subject: FaultSubject, count: number): Promise<InducedLoss> {
  const { injector } = subject;
  const deployment = injector.deployment.name;
  const name = injector.nodes()[0]?.name ?? "";
  const lost: string[] = [];
  const { accounting } = await accountAfterLoss(subject, async () => {
    // The replicas end as well, so that they load the primary's data.
    await injector.kill(injector.nodes().map((node) => node.name));
    const directory = host.servers(deployment).find(({ plan }) => plan.name === name)?.dataDirectory ?? "";
    const files = readdirSync(join(directory, "appendonlydir"))
      .filter((file) => file.endsWith(".incr.aof"))
      .map((file) => join(directory, "appendonlydir", file));
    const file = files.sort().at(-1) ?? "";
    const text = readFileSync(file, "latin1");
    const commands = [...text.matchAll(/\*3\r\n\$3\r\n(?:SET|set)\r\n\$\d+\r\n(lost:[^\r]+)\r\n\$\d+\r\n(\d+):/g)];
    truncateSync(file, commands.at(-count)?.index ?? 0);
    lost.push(...commands.slice(-count).map(([, key = "", number = ""]) => `${key} ${number}`));
    await injector.start(
      injector.nodes().map((node) => node.name),
      { newAddresses: false, follows: name },
    );
  });
  return { accounting, lost };
}

/** Promotes a replica that lacks every write of the client, because it could not follow its primary. */
export async function promoteStaleReplica(subject: FaultSubject): Promise<InducedLoss> {
  const { injector } = subject;
  const [shard] = (await verify(withCurrentNodes(subject))).verdict.shards;
  const index = (name: string | undefined): number => injector.nodes().findIndex((node) => node.name === name);
  const [primary, replica] = [index(shard?.primary), index(shard?.replicas[0])];
  // The replica cannot authenticate, so it gets no later write.
  await withNode(withCurrentNodes(subject), replica, (connection) => connection.config("SET", "primaryauth", "wrong"));
  await withNode(withCurrentNodes(subject), primary, (connection) =>
    connection.call("CLIENT", "KILL", "TYPE", "replica"),
  );
  const { accounting, writer } = await accountAfterLoss(subject, async () => {
    await injector.kill([shard?.primary ?? ""]);
    await withNode(withCurrentNodes(subject), replica, (connection) => connection.cluster("FAILOVER", "TAKEOVER"));
  });
  const acknowledged = writer.history.writes.filter(
    (write) => write.shard === 0 && write.outcome.kind === "acknowledged",
  );
  return { accounting, lost: [...new Set(acknowledged.map(({ key, number }) => `${key} ${number}`))] };
}

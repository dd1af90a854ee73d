/** Script that runs in the pod of a cluster node before its server stops: real servers. */
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { PodScripts } from "../../support/valkey/pod-scripts";
import { eventually, never, realPrograms, Sandbox, withNode, ZONES } from "../../support/valkey/real";

const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
let sandbox: Sandbox;
let pods: PodScripts;
let cluster: Deployment;

beforeAll(async () => {
  sandbox = await Sandbox.open();
  pods = new PodScripts(await realPrograms());
  cluster = await sandbox.host.start(
    {
      name: "stop",
      mode: "cluster",
      shape: SHAPE,
      settings: { save: "", "repl-diskless-sync-delay": 0 },
      zones: ZONES,
      // The script knows replicas by their addresses.
      zoneAddresses: true,
    },
    never,
  );
  await form(cluster, SHAPE);
});
afterAll(async () => {
  pods.close();
  await sandbox.close();
});

const role = (index: number): Promise<unknown[]> =>
  withNode(cluster, index, async (connection) => (await connection.call("ROLE")) as unknown[]);
const savesAtEnd = (index: number): Promise<boolean> =>
  withNode(cluster, index, async (connection) =>
    String(await connection.config("GET", "shutdown-on-sigterm")).endsWith("save"),
  );

it("hands a primary over, and saves a node that becomes a primary while its pod stops already", async () => {
  const roles = await Promise.all(cluster.nodes.map((_node, index) => role(index)));
  const replica = roles.findIndex(([kind]) => kind === "slave");
  const primary = cluster.nodes.findIndex(({ endpoint: { port } }) => port === roles[replica]?.[2]);
  pods.find({ ...cluster, nodes: [primary, replica].flatMap((index) => cluster.nodes[index] ?? []) });
  const name = (index: number): string => cluster.nodes[index]?.name ?? "";
  // All pods stop. The replica's is about to end when its primary hands over to it, and ends itself.
  const awake = pods.holdSleep(3);
  const replicaStops = pods.run("hand-over.sh", name(replica), "30");
  const primaryStops = pods.run("hand-over.sh", name(primary), "30");
  await eventually("the primary hands over", async () => (await role(replica))[0] === "master");
  await sandbox.host.signal("stop", [name(primary)], "SIGKILL");
  writeFileSync(awake, "");
  await Promise.all([replicaStops, primaryStops]);
  expect(await savesAtEnd(replica)).toBe(true);
});

/** Sentinels that have lost their memory: the start script of the lost primary, with real servers and Sentinels. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { PodScripts } from "../../support/valkey/pod-scripts";
import { hastenSentinels } from "../../support/valkey/sentinels";
import { callNode, never, realPrograms, replicationOf, Sandbox, ZONES } from "../../support/valkey/real";

const NAME = "forgotten";
const SHAPE = { primaries: 1, replicasPerPrimary: 2 };
const SENTINEL = { count: 3, quorum: 2, downAfterMs: 2000, failoverTimeoutMs: 10_000 };

let sandbox: Sandbox;
let pods: PodScripts;
let deployment: Deployment;
beforeAll(async () => {
  pods = new PodScripts(await realPrograms());
  sandbox = await Sandbox.open();
  deployment = await sandbox.host.start(
    {
      ...{ name: NAME, mode: "replication", shape: SHAPE, settings: { save: "", "repl-diskless-sync-delay": 0 } },
      ...{ zones: ZONES, zoneAddresses: true, sentinel: SENTINEL },
    },
    never,
  );
  await hastenSentinels(deployment);
  pods.find(deployment);
  await sandbox.host.form(deployment, SHAPE, {});
});
afterAll(async () => {
  await sandbox.close();
  pods.close();
});

async function tellSentinels(...command: [string, ...string[]]): Promise<void> {
  for (const node of deployment.sentinels?.nodes ?? []) {
    const connection = await deployment.connect(node);
    await connection.call(...command).finally(() => {
      connection.disconnect();
    });
  }
}

const roles = (): Promise<unknown[]> =>
  Promise.all([1, 2].map(async (index) => (await replicationOf(deployment, index)).get("role")));

it("lets a replica take over that Sentinels name, although it follows the primary that starts", async () => {
  const [primary, named] = deployment.nodes;
  const password = deployment.access.password ?? "";
  await callNode(deployment, 0, "SET", "key", "value");
  expect(await callNode(deployment, 0, "WAIT", 2, 10_000)).toBe(2);
  await tellSentinels("ACL", "SETUSER", "admin", "on", `>${password}`, "~*", "&*", "+@all");
  await tellSentinels("SENTINEL", "REMOVE", NAME);
  await tellSentinels("SENTINEL", "MONITOR", NAME, named?.endpoint.host ?? "", String(named?.endpoint.port), "2");
  await tellSentinels("SENTINEL", "SET", NAME, "auth-pass", password, "down-after-milliseconds", "2000");
  await sandbox.host.signal(NAME, [primary?.name ?? ""], "SIGKILL");
  const directory = sandbox.host.run.nodeDirectory(NAME, primary?.name ?? "");
  writeFileSync(join(directory, "servers"), "3\n");
  const [program, started] = ["program", "started"].map((name) => join(directory, name));
  writeFileSync(program ?? "", `#!/bin/sh\necho "$@" >${started ?? ""}\n`, { mode: 0o755 });
  const sentinels = { SENTINELS: ".pods", COUNT: "3", QUORUM: "2", DOWN_AFTER: "2000", FAILOVER_TIMEOUT: "10000" };
  await pods.runWith(
    { ...sentinels, DATA: directory, CONFIG_DIRECTORY: directory, POD_IP: primary?.endpoint.host ?? "" },
    "start-replication.sh",
    primary?.name ?? "",
    ...["60", program ?? "", join(directory, "valkey.conf")],
  );
  const leading = (await roles()).indexOf("master") + 1;
  expect(leading).not.toBe(0);
  expect(readFileSync(started ?? "", "utf8")).toContain(
    `--replicaof ${deployment.nodes[leading]?.name ?? ""}.pods 6379`,
  );
  expect(await callNode(deployment, leading, "GET", "key")).toBe("value");
}, 90_000);

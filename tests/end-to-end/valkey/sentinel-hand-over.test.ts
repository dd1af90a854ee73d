/** Script that runs in a pod before its server stops, with Sentinels: real Sentinels and servers, and clients that write. */
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { afterEach, describe, expect, it } from "vitest";
import { awaitCondition } from "../../../lib/polling";
import type { Programs } from "../../../platforms/host/programs/programs";
import type { Deployment } from "../../../valkey/deployment";
import type { DeploymentNode } from "../../../valkey/node";
import { verify } from "../../../valkey/verification/verify";
import { SHORT_SLEEP } from "../../support/valkey/pod-scripts";
import { hastenSentinels } from "../../support/valkey/sentinels";
import { never, olderPrograms, realPrograms, Sandbox, ZONES } from "../../support/valkey/real";

const run = promisify(execFile);
const NAME = "watched";
const SCRIPT = join(__dirname, "../../../components/kubernetes/scripts/hand-over-replication.sh");
const SHAPE = { primaries: 1, replicasPerPrimary: 2 };
const WRITERS = 8;
const ADMIN_PASSWORD = "password-of-the-user-admin";
let sandbox: Sandbox | undefined;
afterEach(() => sandbox?.close());

async function start(programs: Programs): Promise<Deployment> {
  sandbox = await Sandbox.open(programs);
  const deployment = await sandbox.host.start(
    {
      name: NAME,
      mode: "replication",
      shape: SHAPE,
      settings: { save: "", "repl-diskless-sync-delay": 0 },
      zones: ZONES,
      zoneAddresses: true,
      // Far longer than a hand-over may take.
      sentinel: { count: 3, quorum: 2, downAfterMs: 60_000, failoverTimeoutMs: 60_000 },
    },
    never,
  );
  await hastenSentinels(deployment);
  await sandbox.host.form(deployment, SHAPE, {});
  // As in pods.
  for (const { name } of deployment.sentinels?.nodes ?? [])
    await tell(deployment, name, "ACL", "SETUSER", "admin", "on", `>${ADMIN_PASSWORD}`, "~*", "&*", "+@all");
  return deployment;
}

const nodesOf = ({ nodes, sentinels }: Deployment): readonly DeploymentNode[] => [
  ...nodes,
  ...(sentinels?.nodes ?? []),
];

function nodeOf(deployment: Deployment, name: string): DeploymentNode {
  const node = nodesOf(deployment).find((each) => each.name === name);
  if (node === undefined) throw new Error(`there is no ${name}`);
  return node;
}

async function tell(deployment: Deployment, name: string, ...command: [string, ...string[]]): Promise<unknown> {
  const connection = await deployment.connect(nodeOf(deployment, name));
  try {
    return await connection.call(...command);
  } finally {
    connection.disconnect();
  }
}

const roleOf = async (deployment: Deployment, name: string): Promise<unknown> =>
  ((await tell(deployment, name, "ROLE")) as unknown[])[0];

/**
 * Runs the script as in the pod of that node: `localhost` is the node's, and names are those of pods.
 * @param hidden name of a replica that Sentinels report as down, as if they had reached it again just after they were asked
 */
async function stopPod(deployment: Deployment, name: string, hidden?: string): Promise<void> {
  const { host, port } = nodeOf(deployment, name).endpoint;
  await tell(deployment, name, "CONFIG", "SET", "bind", `${host} 127.0.0.1`);
  const bin = join(sandbox?.host.run.path ?? "", "bin");
  mkdirSync(bin, { recursive: true });
  const client = join(bin, "valkey-cli");
  const names = nodesOf(deployment).map(
    (each) => `${each.name}.pods) host=${each.endpoint.host} port=${each.endpoint.port} ;;`,
  );
  writeFileSync(
    client,
    `#!/bin/sh\nhost=$2 port=$4; shift 4\ncase $host in\nlocalhost) host=127.0.0.1 port=${port} ;;\n${names.join("\n")}\nesac\n` +
      (hidden === undefined ? "exec " : "") +
      `'${sandbox?.host.programs.cli ?? ""}' -h $host -p $port "$@"` +
      (hidden === undefined ? "\n" : ` | awk '${reportDown(nodeOf(deployment, hidden))}'\n`),
  );
  chmodSync(client, 0o755);
  writeFileSync(join(bin, "sleep"), `#!/bin/sh\n${SHORT_SLEEP}\n`, { mode: 0o755 });
  writeFileSync(join(bin, "password"), deployment.access.password ?? "");
  writeFileSync(join(bin, "sentinel-password"), ADMIN_PASSWORD);
  const began = performance.now();
  await run("sh", [SCRIPT, "30"], {
    env: {
      PATH: `${bin}:${process.env["PATH"] ?? ""}`,
      VALKEY_PASSWORD_FILE: join(bin, "password"),
      DATA: bin,
      HOSTNAME: host,
      SERVERS: "",
      DEPLOYMENT: NAME,
      SENTINELS: ".pods",
      COUNT: "3",
    },
  });
  expect(performance.now() - began).toBeLessThan(20_000);
}

/** Program of awk that marks a replica as down in the answer to SENTINEL REPLICAS, line by line. */
const reportDown = ({ endpoint: { host, port } }: DeploymentNode): string =>
  `key == "ip" { ip = $0 } key == "port" { port = $0 } ` +
  `key == "flags" && $0 == "slave" && ip == "${host}" && port == "${port}" { $0 = "s_down,slave" } { key = $0; print }`;

interface Writer {
  readonly failures: string[];
  readonly acknowledged: string[];
  longestMs: number;
}

/** Clients that find the primary by Sentinels, and write one key after the other, each another one: a later write hides no lost one. */
function startWriters(deployment: Deployment): { readonly writers: readonly Writer[]; stop: () => Promise<void> } {
  let isOver = false;
  const password = deployment.access.password ?? "";
  const writers = Array.from({ length: WRITERS }, (): Writer => ({ failures: [], acknowledged: [], longestMs: 0 }));
  const running = writers.map(async (writer, index) => {
    const client = new Redis({
      sentinels: (deployment.sentinels?.nodes ?? []).map(({ endpoint }) => endpoint),
      name: NAME,
      password,
      sentinelPassword: password,
    });
    client.on("error", () => undefined);
    for (let number = 1; !isOver; number++) {
      const began = performance.now();
      const key = `${index}:${number}`;
      try {
        await client.set(key, number);
        writer.acknowledged.push(key);
      } catch (error) {
        writer.failures.push(String(error));
      }
      writer.longestMs = Math.max(writer.longestMs, performance.now() - began);
      await sleep(2);
    }
    client.disconnect();
  });
  return {
    writers,
    stop: async () => {
      isOver = true;
      await Promise.all(running);
    },
  };
}

describe("a pod that stops, with Sentinels", () => {
  it.for<[string, () => Promise<Programs | undefined>]>([
    ["Valkey as installed", realPrograms],
    ["Valkey 8.1", olderPrograms],
  ])(
    "hands over as the primary without a lost or failed write, leaves the primary alone as a replica, and saves without Sentinels (%s)",
    { timeout: 120_000 },
    async ([title, find], { skip }) => {
      const programs = (await find()) ?? skip(`${title} cannot be had here`);
      const deployment = await start(programs);
      await awaitCondition("Sentinels know all nodes", async () => (await verify(deployment)).verdict.pass, {
        timeoutMs: 60_000,
        intervalMs: 100,
      });
      const { writers, stop } = startWriters(deployment);
      await sleep(1000);

      await stopPod(deployment, "watched-1");
      expect(await roleOf(deployment, "watched-0")).toBe("master");

      await stopPod(deployment, "watched-0");
      await stop();

      const roles = await Promise.all(["watched-1", "watched-2"].map((name) => roleOf(deployment, name)));
      expect([...roles].sort()).toEqual(["master", "slave"]);
      const successor = `watched-${roles.indexOf("master") + 1}`;
      const acknowledged = writers.flatMap((writer) => writer.acknowledged);
      const kept = (await tell(deployment, successor, "MGET", ...acknowledged)) as (string | null)[];
      expect(acknowledged.filter((_key, index) => kept[index] === null)).toEqual([]);
      expect(writers.flatMap(({ failures }) => failures)).toEqual([]);
      expect(Math.max(...writers.map(({ longestMs }) => longestMs))).toBeLessThan(5_000);

      // As when all pods stop at once.
      const watchers = (deployment.sentinels?.nodes ?? []).map(({ name }) => name);
      await sandbox?.host.signal(NAME, watchers, "SIGKILL");
      await stopPod(deployment, successor);
      expect(await roleOf(deployment, successor)).toBe("master");
      // The data set stays, though `save` is off, and nobody waits for a replica.
      expect(await tell(deployment, successor, "CONFIG", "GET", "shutdown-on-sigterm")).toContain("save");
      expect(await tell(deployment, successor, "SET", "another", "write")).toBe("OK");
    },
  );

  it(
    "sees that a Sentinel promotes a replica that it did not reach a moment before",
    { timeout: 120_000 },
    async () => {
      const deployment = await start(await realPrograms());
      // Sentinels prefer this replica, once they know.
      await tell(deployment, "watched-2", "CONFIG", "SET", "replica-priority", "1");
      const sentinels = deployment.sentinels?.nodes ?? [];
      await awaitCondition(
        "Sentinels know the priority",
        async () => {
          const views = sentinels.map(async ({ name }) =>
            JSON.stringify(await tell(deployment, name, "SENTINEL", "REPLICAS", NAME)),
          );
          return (await Promise.all(views)).every((view) => view.includes('"slave-priority","1"'));
        },
        { timeoutMs: 60_000, intervalMs: 100 },
      );
      const { writers, stop } = startWriters(deployment);
      await sleep(1000);
      await stopPod(deployment, "watched-0", "watched-2");
      await stop();
      expect(await roleOf(deployment, "watched-2")).toBe("master");
      expect(writers.flatMap(({ failures }) => failures)).toEqual([]);
      expect(Math.max(...writers.map(({ longestMs }) => longestMs))).toBeLessThan(5_000);
    },
  );
});

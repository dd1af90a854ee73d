/** The beginning of a verdict that is FAIL: its cause, what it means for clients, and what to type next. */
import { afterEach, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { formatVerification } from "../../../valkey/verification/format";
import { verify } from "../../../valkey/verification/verify";
import { usePlace, useSandboxes } from "../../support/valkey/hooks";
import { callNode, eventually, failing, passwordOf, serverOptions } from "../../support/valkey/real";

const { open } = useSandboxes();
const place = usePlace();
const frozen: number[] = [];
afterEach(() => {
  for (const pid of frozen.splice(0)) process.kill(pid, "SIGCONT");
});

/** The same servers as somebody names them who did not deploy them: by their addresses. */
function named(deployment: Deployment): Deployment {
  const nodes = deployment.nodes.map((node) => ({ ...node, name: `127.0.0.1:${node.endpoint.port}` }));
  return { ...deployment, nodes, zones: undefined, directives: new Map() };
}

async function cluster(): Promise<Deployment> {
  const formed = await (await open()).formedCluster("cluster", 3, 1, { "cluster-node-timeout": 4000 });
  await eventually("it passes", async () => (await failing(formed)).length === 0);
  return named(formed);
}

async function signal(deployment: Deployment, name: string | undefined, which: "SIGKILL" | "SIGSTOP"): Promise<void> {
  const index = deployment.nodes.findIndex((node) => node.name === name);
  const pid = Number(/process_id:(\d+)/.exec(String(await callNode(deployment, index, "INFO", "server")))?.[1]);
  process.kill(pid, which);
  if (which === "SIGSTOP") frozen.push(pid);
}

const shardsOf = async (deployment: Deployment): Promise<{ primary: string; replica: string; slots: string }[]> =>
  (await verify(deployment)).verdict.shards.map(({ primary = "", replicas: [replica = ""], slots: [range] }) => ({
    ...{ primary, replica, slots: `${range?.from ?? 0}-${range?.to ?? 0}` },
  }));

async function told(deployment: Deployment): Promise<{ first: string; rest: string; ids: readonly string[] }> {
  const verification = await verify(deployment);
  const lines = formatVerification(verification);
  for (const line of lines.slice(0, lines.indexOf(""))) expect(line.length, line).toBeLessThanOrEqual(80);
  const words = (part: readonly string[]): string => part.join(" ").replace(/\s+/g, " ");
  const at = lines.findIndex((line) => line.startsWith("=== Nodes"));
  return {
    first: words(lines.slice(0, at)),
    rest: words(lines.slice(at)),
    ids: verification.verdict.assertions.flatMap(({ id, pass }) => (pass ? [] : [id])),
  };
}

describe("the cause of a FAIL in a cluster of six", () => {
  it("is a killed replica, while all slots are served", async () => {
    const deployment = await cluster();
    const [shard] = await shardsOf(deployment);
    await signal(deployment, shard?.replica, "SIGKILL");
    const { first, rest, ids } = await told(deployment);
    expect(first).toContain(`cause ${shard?.replica}, a replica of ${shard?.primary}, is silent: cannot be reached`);
    expect(first).toMatch(/The other nodes last heard from it \d+s ago/);
    expect(first).toContain("Clients are served: yes, all 16384 slots.");
    expect(first).toContain(`No replica of ${shard?.primary} replies: if this primary fails too`);
    expect(first).toContain(`next • start the server again; if it runs, \`valkey-cli -h 127.0.0.1 -p`);
    expect(ids.length).toBeGreaterThan(15);
    // The others know it at an address that is not the named one.
    const elsewhere = deployment.nodes.map((node) =>
      node.name === shard?.replica ? { ...node, endpoint: { ...node.endpoint, host: "127.0.0.9" } } : node,
    );
    expect((await told({ ...deployment, nodes: elsewhere })).ids).toEqual(ids);
    expect((await failing({ ...deployment, nodes: elsewhere })).join("; ")).not.toContain("not part of the deployment");
    expect(rest).toContain(`assertions do not hold: reachable and ${ids.length - 1} that only follow.`);
    const { status, output } = await place.call(
      ["verify", ...serverOptions(deployment), "--json"],
      passwordOf(deployment),
    );
    const json = JSON.parse(output) as { assertions: { id: string; pass: boolean }[] };
    expect(status).toBe(1);
    expect(json.assertions.flatMap(({ id, pass }) => (pass ? [] : [id]))).toEqual(ids);
  });

  it("is a killed primary, whose replica takes over, and does not hide a second fault", async () => {
    const deployment = await cluster();
    const [other, shard] = await shardsOf(deployment);
    await signal(deployment, shard?.primary, "SIGKILL");
    const before = await told(deployment);
    expect(before.first).toContain(`cause ${shard?.primary}, the primary of slots ${shard?.slots}, is silent`);
    expect(before.first).toContain(`Clients are served: yes, except slots ${shard?.slots} (5461 of 16384).`);
    expect(before.first).toMatch(
      new RegExp(`${shard?.replica} takes over from ${shard?.primary} in about \\ds \\(cluster-node-timeout 4s`),
    );
    await eventually("it took over", async () => (await told(deployment)).first.includes("yes, all 16384 slots"));
    await eventually("only the silence is left", async () => {
      const { first, rest } = await told(deployment);
      return first.includes(`${shard?.primary}, a former primary,`) && / hold: reachable and \d+ that/.test(rest);
    });
    const index = deployment.nodes.findIndex(({ name }) => name === other?.replica);
    await callNode(deployment, index, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    const { first, rest } = await told(deployment);
    expect(first).toContain(`${other?.replica}: maxmemory-policy is allkeys-lru, not noeviction [same-settings]`);
    expect(first).toContain(`\`valkey-cli -h 127.0.0.1 -p ${other?.replica.split(":")[1]} CONFIG SET NAME VALUE\``);
    expect(rest).toMatch(/ hold: reachable, same-settings and \d+ that only follow/);
  });

  it("are two killed primaries of three: nobody takes over, and the commands for it work", async () => {
    const deployment = await cluster();
    const [, ...lost] = await shardsOf(deployment);
    for (const { primary } of lost) await signal(deployment, primary, "SIGKILL");
    await eventually("the nodes refuse", async () =>
      (await told(deployment)).first.includes("Clients are served: no."),
    );
    const { first } = await told(deployment);
    expect(first).toContain("all nodes refuse all slots (cluster-require-full-coverage is yes)");
    for (const { primary, replica } of lost) {
      expect(first).toContain(
        `Nobody takes over from ${primary}: an election needs 2 of the 3 primaries, and 1 replies.`,
      );
      const command = `valkey-cli -h 127.0.0.1 -p ${replica.split(":")[1]} CLUSTER FAILOVER TAKEOVER`;
      expect(first).toContain(`if ${primary} is off for good: \`${command}\``);
      const index = deployment.nodes.findIndex(({ name }) => name === replica);
      await callNode(deployment, index, "CLUSTER", "FAILOVER", "TAKEOVER");
    }
    await eventually("clients are served", async () => (await told(deployment)).first.includes("yes, all 16384 slots"));
  });
});

describe("the cause of a FAIL in a replication", () => {
  it("is a frozen primary: nobody takes over, and the commands for it work", async () => {
    const formed = await (await open()).formedReplication("replication", 2);
    await eventually("it passes", async () => (await failing(formed)).length === 0);
    const deployment = named(formed);
    const [primary = "", ...replicas] = deployment.nodes.map(({ name }) => name);
    await signal(deployment, primary, "SIGSTOP");
    const { first, rest } = await told(deployment);
    expect(first).toContain(`cause ${primary}, the primary, is silent: Command timed out. The other nodes last heard`);
    expect(first).toContain(`no, they cannot write until ${primary} is back or a replica takes over`);
    expect(first).toContain(`Clients can read from ${replicas.join(", ")}`);
    expect(first).toContain("Nobody takes over, unless Sentinels watch these servers");
    expect(rest).toMatch(/ hold: reachable and \d+ that only follow/);
    const [, port = ""] = /-p (\d+) REPLICAOF NO ONE/.exec(first) ?? [];
    expect(first).toMatch(new RegExp(`then \`valkey-cli -h 127.0.0.1 -p \\d+ REPLICAOF 127.0.0.1 ${port}\``));
    const index = deployment.nodes.findIndex(({ name }) => name.endsWith(port));
    await callNode(deployment, index, "REPLICAOF", "NO", "ONE");
    await eventually("clients can write", async () =>
      (await told(deployment)).first.includes(`yes, they can write to 127.0.0.1:${port}.`),
    );
  });

  it("is a killed replica, while clients can write", async () => {
    const formed = await (await open()).formedReplication("replication", 2);
    await eventually("it passes", async () => (await failing(formed)).length === 0);
    const deployment = named(formed);
    const [primary, , replica] = deployment.nodes.map(({ name }) => name);
    await signal(deployment, replica, "SIGKILL");
    const { first, rest } = await told(deployment);
    expect(first).toContain(`cause ${replica} is silent: cannot be reached: connect ECONN`);
    expect(first).toContain(`Clients are served: yes, they can write to ${primary}.`);
    expect(rest).toMatch(/ hold: reachable and \d+ that only follow/);
  });
});

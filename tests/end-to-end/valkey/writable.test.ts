/** The row about writes of clients: every cause for which a primary with a healthy role refuses writes, on real servers. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import type { Assertion } from "../../../valkey/verification/assertions";
import { verify } from "../../../valkey/verification/verify";
import { useSandbox } from "../../support/valkey/hooks";
import { callNode, eventually, withNode } from "../../support/valkey/real";

const sandbox = useSandbox();

const failed = async (deployment: Deployment): Promise<Assertion[]> =>
  (await verify(deployment)).verdict.assertions.filter(({ pass }) => !pass);

async function everyNode(deployment: Deployment, ...words: readonly [string, ...(string | number)[]]): Promise<void> {
  for (const [index] of deployment.nodes.entries()) await callNode(deployment, index, ...words);
}

async function breakSnapshots(deployment: Deployment, index: number, broken: boolean): Promise<void> {
  await withNode(deployment, index, async (connection) => {
    const [directory = "", name = ""] = await Promise.all(
      ["dir", "dbfilename"].map(async (each) => (await connection.config("GET", each))[1] ?? ""),
    );
    // A directory with the name of the snapshot: the file cannot be renamed to it.
    rmSync(join(directory, name), { recursive: true, force: true });
    if (broken) mkdirSync(join(directory, name, "in-the-way"), { recursive: true });
    await connection.bgsave();
    const wanted = `rdb_last_bgsave_status:${broken ? "err" : "ok"}`;
    await eventually("a snapshot has ended", async () => (await connection.info("persistence")).includes(wanted));
  });
}

interface Cause {
  readonly begin: (deployment: Deployment, primary: number) => Promise<unknown>;
  readonly end: (deployment: Deployment, primary: number) => Promise<unknown>;
  readonly found: RegExp;
}

const CAUSES: Readonly<Record<string, Cause>> = {
  "a snapshot has failed": {
    begin: (deployment, primary) => breakSnapshots(deployment, primary, true),
    end: (deployment, primary) => breakSnapshots(deployment, primary, false),
    found: /its last snapshot failed, and stop-writes-on-bgsave-error is yes: MISCONF/,
  },
  "clients are paused": {
    begin: (deployment, primary) => callNode(deployment, primary, "CLIENT", "PAUSE", 60_000, "WRITE"),
    end: (deployment, primary) => callNode(deployment, primary, "CLIENT", "UNPAUSE"),
    found: /no answer within 3 s, because clients are paused \(client_pause\)/,
  },
  "memory is full": {
    begin: (deployment) => everyNode(deployment, "CONFIG", "SET", "maxmemory", "1mb"),
    end: (deployment) => everyNode(deployment, "CONFIG", "SET", "maxmemory", 0),
    found: /its memory is full \(\S+ MiB of 1.0 MiB\), and maxmemory-policy is noeviction: OOM/,
  },
  "too few replicas keep up": {
    begin: (deployment) => everyNode(deployment, "CONFIG", "SET", "min-replicas-to-write", 5),
    end: (deployment) => everyNode(deployment, "CONFIG", "SET", "min-replicas-to-write", 0),
    found: /fewer replicas keep up than min-replicas-to-write requires \(1 keep up\): NOREPLICAS/,
  },
  "the user default has no right to write": {
    begin: (deployment) => everyNode(deployment, "ACL", "SETUSER", "default", "-@write"),
    end: (deployment) => everyNode(deployment, "ACL", "SETUSER", "default", "+@all"),
    found: /the user that clients use has no right to write: NOPERM User default has no permissions/,
  },
  "the user default may only write keys of an application": {
    begin: (deployment) => everyNode(deployment, "ACL", "SETUSER", "default", "resetkeys", "~app:*"),
    end: (deployment) => everyNode(deployment, "ACL", "SETUSER", "default", "allkeys"),
    found: /the user may not write the key of this trial: allow ~valkey-measured-\*, .*: NOPERM No permissions/,
  },
};

describe.each(["replication", "cluster"] as const)("a primary in %s mode", (mode) => {
  let deployment: Deployment;
  beforeAll(async () => {
    // Servers stop writes after a failed snapshot only if they make snapshots by themselves.
    const settings = { save: "3600 100000" };
    deployment =
      mode === "cluster"
        ? await sandbox.formedCluster("cluster", 3, 1, settings)
        : await sandbox.formedReplication("replication", 1, settings);
    await eventually("it passes", async () => (await failed(deployment)).length === 0);
  });

  const primaryIndex = async (): Promise<number> => {
    const { shards } = (await verify(deployment)).verdict;
    return deployment.nodes.findIndex(({ name }) => name === shards[0]?.primary);
  };

  it.each(Object.entries(CAUSES))(
    "does not pass while %s, and the row says so",
    async (_what, { begin, end, found }) => {
      const primary = await primaryIndex();
      await begin(deployment, primary);
      try {
        const rows = await failed(deployment);
        expect(rows.map(({ id }) => id)).toEqual(["writable"]);
        expect(rows[0]?.nodes).toContain(deployment.nodes[primary]?.name);
        expect(rows[0]?.found).toMatch(found);
      } finally {
        await end(deployment, primary);
      }
      await eventually("it passes again", async () => (await failed(deployment)).length === 0);
    },
  );

  it("has no key of a verification afterwards, and no deletion is counted", async () => {
    const primary = await primaryIndex();
    await everyNode(deployment, "CONFIG", "RESETSTAT");
    const { facts } = await verify(deployment);
    expect(facts.nodes[primary]?.write).toEqual({ known: true, value: true });
    expect(await callNode(deployment, primary, "DBSIZE")).toBe(0);
    const stats = String(await callNode(deployment, primary, "INFO", "commandstats"));
    expect(stats).toContain("cmdstat_set:calls=1,");
    expect(String(await callNode(deployment, primary, "INFO", "stats"))).toContain("expired_keys:0");
    for (const [index] of deployment.nodes.entries())
      expect(String(await callNode(deployment, index, "INFO", "commandstats"))).not.toMatch(/cmdstat_(del|unlink)/);
  });

  it("gets no write on request, and then does not pass", async () => {
    const primary = await primaryIndex();
    await callNode(deployment, primary, "CONFIG", "RESETSTAT");
    const { verdict } = await verify(deployment, ["writes"]);
    expect(verdict.assertions.filter(({ pass }) => !pass)).toMatchObject([
      { id: "writable", found: "not tried, because writes are skipped on request" },
    ]);
    expect(String(await callNode(deployment, primary, "INFO", "commandstats"))).not.toContain("cmdstat_set:");
  });
});

/** Other settings for real servers that run. */
import { beforeAll, describe, expect, it } from "vitest";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Connection } from "../../../valkey/connection";
import { applySettings, differingSettings } from "../../../valkey/apply-settings";
import type { Deployment } from "../../../valkey/deployment";
import { DYNAMIC_DEFAULTS } from "../../../valkey/settings/dynamic-settings";
import { parseFlatReply } from "../../../valkey/topology/replies";
import { useSandbox } from "../../support/valkey/hooks";
import { withNode, callNode } from "../../support/valkey/real";

const SHAPE = { primaries: 1, replicasPerPrimary: 1 };
const LIMITS = { timeoutMs: 30_000 };

const sandbox = useSandbox();
let deployment: Deployment;
beforeAll(async () => {
  deployment = await sandbox.formedReplication("changing", SHAPE.replicasPerPrimary);
});

const valuesOf = (name: string): Promise<(string | undefined)[]> =>
  Promise.all(
    deployment.nodes.map((_node, index) =>
      withNode(deployment, index, async (connection) => parseFlatReply(await connection.config("GET", name)).get(name)),
    ),
  );

describe("settings of running servers", () => {
  it("are those that a server takes by CONFIG SET, with its defaults", async () => {
    const { save, ...others } = DYNAMIC_DEFAULTS;
    expect(save).toBe("3600 1 300 100 60 10000");
    const names = Object.keys(others);
    const found = await withNode(deployment, 0, async (connection) =>
      parseFlatReply(await connection.config("GET", ...(names as [string]))),
    );
    const configured = new Set(deployment.directives.keys());
    const differing = names.filter((name) => !configured.has(name) && found.get(name) !== others[name]);
    expect(differing).toEqual([]);
    const refused = await withNode(deployment, 0, (connection) => refusedBy(connection, found));
    expect(refused).toEqual([]);
  });

  it("become others on every node, and in the files from which they start", async () => {
    const changes = new Map([
      ["maxmemory", "100000000"],
      ["save", "900 1"],
      ["appendonly", "yes"],
    ]);
    await sandbox.host.configure(deployment, changes, LIMITS);
    expect(await valuesOf("maxmemory")).toEqual(["100000000", "100000000"]);
    expect(await valuesOf("save")).toEqual(["900 1", "900 1"]);
    expect(await differingSettings(deployment, changes)).toEqual([]);
    for (const { directory } of sandbox.host.servers("changing"))
      expect(readFileSync(join(directory, "valkey.conf"), "utf8")).toMatch(
        /\nsave ""\nmaxmemory 100000000\nsave 900 1\nappendonly yes\n$/,
      );
  });

  it("stay as they are on every node where one refuses a value", async () => {
    const before = await valuesOf("maxmemory");
    await callNode(deployment, 1, "ACL", "SETUSER", "default", "-config|set");
    await expect(applySettings(deployment, new Map([["maxmemory", "90000000"]]), LIMITS)).rejects.toThrow(
      /^changing: the servers refuse settings, so no setting has changed: changing-1: NOPERM/,
    );
    await callNode(deployment, 1, "ACL", "SETUSER", "default", "+config|set");
    expect(await valuesOf("maxmemory")).toEqual(before);
    await expect(applySettings(deployment, new Map([["maxmemory-policy", "none"]]), LIMITS)).rejects.toThrow(
      /changing-0: ERR CONFIG SET failed .*maxmemory-policy/,
    );
  });

  it("are refused where the data would not fit", async () => {
    await expect(applySettings(deployment, new Map([["maxmemory", "1000"]]), LIMITS)).rejects.toThrow(
      /^changing-([01]) uses \d+ bytes, which is more than the new maxmemory of 1000 bytes, so changing-\1 would refuse every write/,
    );
    expect(await valuesOf("maxmemory")).not.toContain("1000");
  });
});

async function refusedBy(connection: Connection, values: ReadonlyMap<string, string>): Promise<string[]> {
  const refused: string[] = [];
  for (const [name, value] of values)
    await connection.config("SET", name, value).catch((error: unknown) => refused.push(`${name}: ${String(error)}`));
  return refused;
}

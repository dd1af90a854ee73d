/** Settings of real servers that somebody changed by hand: a repair sets them again, without a restart. */
import { beforeAll, describe, expect, it } from "vitest";
import type { RepairLock } from "../../../operations/healing/repair-lock";
import type { Deployment } from "../../../valkey/deployment";
import { parseFlatReply, parseInfo } from "../../../valkey/topology/replies";
import { verify } from "../../../valkey/verification/verify";
import { NO_LOCK, TestHealer } from "../../support/valkey/healing";
import { useSandbox } from "../../support/valkey/hooks";
import { callNode, eventually, withNode } from "../../support/valkey/real";

const SHAPE = { primaries: 1, replicasPerPrimary: 1 };
const MAXMEMORY = 64 * 1024 ** 2;

describe("settings that somebody changed by hand", () => {
  const sandbox = useSandbox();
  let orders: Deployment;
  beforeAll(async () => {
    orders = await sandbox.formedReplication("orders", 1, { maxmemory: MAXMEMORY, hz: 20 });
    await callNode(orders, 0, "SET", "key", "x".repeat(2 * 1024 ** 2));
    // A lag of the replica keeps repairs from starting.
    await eventually("the replica has the value", async () => (await verify(orders)).verdict.pass);
  });

  const change = (index: number, ...values: [string, string]): Promise<unknown> =>
    withNode(orders, index, (connection) => connection.config("SET", ...values));
  const valueOf = (index: number, name: string): Promise<string | undefined> =>
    withNode(orders, index, async (node) => parseFlatReply(await node.config("GET", name)).get(name));
  const processes = (): Promise<(string | undefined)[]> =>
    Promise.all(
      orders.nodes.map((_node, index) =>
        withNode(orders, index, async (node) => parseInfo(await node.info("server")).get("run_id")),
      ),
    );

  /** Looks for 30 s as a controller does. @param directives configured ones that differ */
  async function heal(
    repairSettings: boolean,
    lock: RepairLock = NO_LOCK,
    directives: Readonly<Record<string, string>> = {},
  ): Promise<TestHealer> {
    const configured = { ...orders, directives: new Map([...orders.directives, ...Object.entries(directives)]) };
    const healer = new TestHealer(configured, SHAPE, { lock, repairSettings });
    for (const seconds of [0, 30]) await healer.lookAfter(seconds);
    return healer;
  }

  it("are only said by default, and while an update with other settings has not succeeded", async () => {
    await change(0, "hz", "99");
    expect((await heal(false)).kinds).toEqual([]);
    expect((await heal(true, { ...NO_LOCK, hasCurrentSettings: () => false })).kinds).toEqual([]);
    expect(await valueOf(0, "hz")).toBe("99");
  });

  it("get their configured values, without a restart", async () => {
    const before = await processes();
    await change(0, "hz", "99");
    await change(1, "maxmemory", "0");
    const { kinds, reports } = await heal(true);
    expect(kinds).toEqual(["waiting", "begun", "step", "done"]);
    expect(reports[2]?.message).toContain("orders-0: hz is 99, not 20");
    expect([await valueOf(0, "hz"), await valueOf(1, "maxmemory")]).toEqual(["20", String(MAXMEMORY)]);
    expect(await processes()).toEqual(before);
    expect((await verify(orders)).verdict.pass).toBe(true);
  });

  it("keep a higher maxmemory that the data needs, and say so", async () => {
    const { kinds, reports } = await heal(true, NO_LOCK, { maxmemory: "1000000" });
    expect(kinds).toEqual(["waiting", "begun", "step", "failed"]);
    expect(reports[3]?.message).toContain("more than the new maxmemory of 1000000 bytes");
    expect(await valueOf(0, "maxmemory")).toBe(String(MAXMEMORY));
  });
});

/** Settings of real servers that somebody changed by hand: a repair sets them again, without a restart. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { HealingReport } from "../../../controller/healer";
import { Healer } from "../../../controller/healer";
import { lookOf } from "../../../controller/look";
import type { RepairLock } from "../../../controller/repair-lock";
import { NO_LOCK } from "../../../controller/repair-lock";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import { inspectDeployment } from "../../../provider/updates/drift";
import { repairDeployment } from "../../../provider/updates/repair";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { parseFlatReply, parseInfo } from "../../../valkey/topology/replies";
import { verify } from "../../../valkey/verification/verify";
import { never, Sandbox, withNode } from "../../support/valkey/real";

const SHAPE = { primaries: 1, replicasPerPrimary: 1 };
const START = Date.parse("2026-11-27T12:00:00.000Z");

describe("settings that somebody changed by hand", { timeout: 300_000 }, () => {
  let sandbox: Sandbox;
  let orders: Deployment;
  let target: DeploymentReference;
  let reports: HealingReport[];
  beforeAll(async () => {
    sandbox = await Sandbox.open();
    orders = await sandbox.replication("orders", 1, { maxmemory: 64 * 1024 ** 2, hz: 20 });
    await form(orders, SHAPE);
    await withNode(orders, 0, (connection) => connection.set("key", "x".repeat(2 * 1024 ** 2)));
    const { name, mode, zones = [], directives, nodes } = orders;
    target = {
      platform: "endpoints",
      ...{ name, mode, shape: SHAPE, zones, nodes },
      directives: Object.fromEntries(directives),
    };
  });
  beforeEach(() => {
    reports = [];
  });
  afterAll(() => sandbox.close());

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

  /** Looks for 30 s, and decides as a controller with these settings does. */
  async function heal(repairSettings: boolean, lock: RepairLock = NO_LOCK): Promise<string[]> {
    const password = orders.access.password ?? "";
    let clock = START;
    const healer = new Healer(
      {
        ...{ lock, repairSettings },
        repair: (order, signal, report) =>
          repairDeployment(target, password, order, { timeoutMs: 60_000, signal, report }),
        report: (report) => void reports.push(report),
      },
      () => clock,
    );
    for (const seconds of [0, 30]) {
      clock = START + seconds * 1000;
      const inspection = await inspectDeployment(target, password, { signal: never, forRepair: true });
      await healer.afterLook(
        lookOf("orders", inspection, { at: new Date(clock), seconds: 0.1, former: undefined }),
        never,
      );
    }
    return reports.map(({ kind }) => kind);
  }

  it("are only said by default, and while an update with other settings has not succeeded", async () => {
    await change(0, "hz", "99");
    expect(await heal(false)).toEqual([]);
    expect(await heal(true, { ...NO_LOCK, hasCurrentSettings: () => false })).toEqual([]);
    expect(await valueOf(0, "hz")).toBe("99");
  });

  it("get their configured values, without a restart", async () => {
    const before = await processes();
    await change(0, "hz", "99");
    await change(1, "maxmemory", "0");
    expect(await heal(true)).toEqual(["waiting", "begun", "step", "done"]);
    expect(reports[2]?.message).toContain("orders-0: hz is 99, not 20");
    expect([await valueOf(0, "hz"), await valueOf(1, "maxmemory")]).toEqual(["20", String(64 * 1024 ** 2)]);
    expect(await processes()).toEqual(before);
    expect((await verify(orders)).verdict.pass).toBe(true);
  });

  it("keep a higher maxmemory that the data needs, and say so", async () => {
    const former = target;
    target = { ...target, directives: { ...target.directives, maxmemory: "1000000" } };
    expect(await heal(true)).toEqual(["waiting", "begun", "step", "failed"]);
    expect(reports[3]?.message).toContain("more than the new maxmemory of 1000000 bytes");
    expect(await valueOf(0, "maxmemory")).toBe(String(64 * 1024 ** 2));
    target = former;
  });
});

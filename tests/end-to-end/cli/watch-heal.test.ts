/** `watch --heal` beside real servers: what it repairs, what keeps it from a repair, and how it ends during one. */
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { acquireProcessLock } from "../../../lib/system/process-lock";
import type { Deployment } from "../../../valkey/deployment";
import { verify } from "../../../valkey/verification/verify";
import type { Command } from "../../support/command";
import { Place } from "../../support/command";
import { pulumiWithState, verifiedDeployment } from "../../support/pulumi/exported-state";
import { usePlace, useSandbox } from "../../support/valkey/hooks";
import { callNode, failing, replicationOf, withNode, serverOptions, passwordOf } from "../../support/valkey/real";

const sandbox = useSandbox();
/** Place of the commands that end at once. All others have places of their own, because they wait at the same time. */
const place = usePlace();
/** Others find a node failed after this, and a repair can begin. */
const SETTINGS = { "cluster-node-timeout": 3000 };

/** A deployment on this machine whose stack says where it is, with a lock. */
class WatchedStack {
  readonly #place = new Place();
  readonly lock = join(this.#place.directory, "change");

  private constructor(
    readonly cluster: Deployment,
    readonly primary: number,
    readonly replica: number,
  ) {}

  static async open(name: string): Promise<WatchedStack> {
    const cluster = await sandbox.formedCluster(name, 3, 1, SETTINGS);
    const [shard] = (await verify(cluster)).verdict.shards;
    const [primary = 0, replica = 0] = [shard?.primary, shard?.replicas[0]].map((each) =>
      cluster.nodes.findIndex((node) => node.name === each),
    );
    return new WatchedStack(cluster, primary, replica);
  }

  state(more: object = {}): NodeJS.ProcessEnv {
    return pulumiWithState(this.#place.directory, {
      resources: [verifiedDeployment(this.cluster, this.lock)],
      ...more,
    });
  }

  start(): Promise<Command> {
    return this.#place.start(["watch", "dev", "--every", "1", "--heal"], this.state());
  }

  async loseData(): Promise<void> {
    await callNode(this.cluster, this.replica, "CLUSTER", "RESET", "HARD");
  }

  close(): Promise<void> {
    return this.#place.close();
  }
}

describe.concurrent("watch --heal", { timeout: 300_000 }, () => {
  it("makes a replica follow the primary again, only after a look has passed; without --heal it repairs nothing", async ({
    onTestFinished,
  }) => {
    const own = new Place();
    onTestFinished(() => own.close());
    const [orders, left] = await Promise.all(
      ["orders", "left"].map((name) => sandbox.formedReplication(name, 2, { "repl-diskless-sync-delay": 1 })),
    );
    if (orders === undefined || left === undefined) throw new Error("there are no deployments");
    const start = (deployment: Deployment, ...options: readonly string[]): Promise<Command> =>
      own.start(["watch", ...serverOptions(deployment), "--every", "1", ...options], passwordOf(deployment));
    const portOf = ({ nodes }: Deployment, index: number): number => nodes[index]?.endpoint.port ?? 0;
    const follow = (deployment: Deployment, index: number): Promise<unknown> =>
      callNode(deployment, 2, "REPLICAOF", "127.0.0.1", portOf(deployment, index));
    const followed = async (deployment: Deployment): Promise<number> =>
      Number((await replicationOf(deployment, 2)).get("master_port"));
    await callNode(orders, 0, "SET", "key", "value");
    await follow(orders, 1);
    const early = await start(orders, "--heal", "--json");
    await early.printed(/"kind":"waiting","message":"nothing is repaired: no verification has passed yet/);
    early.child.kill("SIGINT");
    expect(await early.ended).toMatchObject({ status: 1 });

    await follow(orders, 0);
    const [healing, watching] = [await start(orders, "--heal"), await start(left)];
    await Promise.all([healing, watching].map((command) => command.printed(/replication: PASS/)));
    await follow(left, 1);
    await watching.printed(/replication: FAIL/);
    await follow(orders, 1);
    await healing.printed(/replication: nothing is repaired: the deployment may recover by itself\n/);
    await healing.printed(/replication: repairing .*without a hand-over\n.*replication: repaired /);
    await healing.printed(/PASS — all \d+ assertions hold, after \S+ of FAIL/);
    expect(watching.output).not.toContain("repair");
    expect([await followed(orders), await followed(left)]).toEqual([portOf(orders, 0), portOf(left, 1)]);
    for (const { child } of [healing, watching]) child.kill("SIGINT");
    expect([(await healing.ended).status, (await watching.ended).status]).toEqual([0, 1]);
    // The settings that somebody had configured are still there.
    const delay = await callNode(orders, 0, "CONFIG", "GET", "repl-diskless-sync-delay");
    expect(delay).toEqual(["repl-diskless-sync-delay", "1"]);
  });

  it("lets a node join again that came back empty, but not while an update changes the stack", async ({
    onTestFinished,
  }) => {
    const stack = await WatchedStack.open("changing");
    onTestFinished(() => stack.close());
    const command = await stack.start();
    await command.printed(/changing: PASS/);
    const release = acquireProcessLock(stack.lock);
    await stack.loseData();
    await command.printed(/nothing is repaired: a different process is changing the servers\n/);
    stack.state({ pending_operations: [{ type: "updating" }] });
    release?.();
    await command.printed(
      /nothing is repaired: the last update of stack dev still runs or has failed; if it has failed, run pulumi up\n/,
    );
    expect(command.output).not.toContain("changing: repairing");
    stack.state();
    await command.printed(/changing: repaired [^]*PASS — all \d+ assertions hold, after \S+ of FAIL/);
    expect(await failing(stack.cluster)).toEqual([]);
    command.child.kill("SIGINT");
    expect(await command.ended).toMatchObject({ status: 0 });
  });

  it("ends in order during a repair, with the servers' own settings and a free lock", async ({ onTestFinished }) => {
    const stack = await WatchedStack.open("stopped");
    onTestFinished(() => stack.close());
    const { cluster, primary } = stack;
    const settings = (): Promise<unknown> =>
      Promise.all(
        cluster.nodes.map((_node, index) =>
          callNode(cluster, index, "CONFIG", "GET", "repl-diskless-*", "cluster-node-timeout"),
        ),
      );
    const before = await settings();
    await withNode(cluster, primary, async (connection) => {
      // The copy of the data takes 10 s.
      for (let key = 0; key < 100; key++) await connection.call("SET", `key:${key}`, "value").catch(() => undefined);
      await connection.config("SET", "rdb-key-save-delay", "300000");
    });
    const command = await stack.start();
    await command.printed(/stopped: PASS/);
    await stack.loseData();
    await command.printed(/stopped: repairing /);
    command.child.kill("SIGINT");
    const { status, output } = await command.ended;
    expect(status).toBe(1);
    expect(output).toMatch(/stopped: cannot repair .*: stopped by SIGINT\n$/);
    expect(await settings()).toEqual(before);
    expect(acquireProcessLock(stack.lock)).toBeDefined();
  });
});

describe("watch --heal refuses", () => {
  let cluster: Deployment;
  beforeAll(async () => {
    cluster = await sandbox.cluster("unlocked", 3, 0);
  });

  it("servers whose settings or zones it must not read", async () => {
    const nodes = ["--node", "127.0.0.1:1"];
    const { status, output } = await place.call([
      ...["watch", "--mode", "cluster", ...nodes, "--heal", "--without", "settings", "--without", "zones"],
    ]);
    expect(status).toBe(2);
    for (const each of ["settings", "zones"])
      expect(output).toContain(`--heal cannot be used with --without ${each}, because a repair needs the ${each}`);
  });

  it("a stack whose updates do not know the lock", async () => {
    const environment = pulumiWithState(place.directory, { resources: [verifiedDeployment(cluster)] });
    const { status, output } = await place.call(["watch", "dev", "--heal"], environment);
    expect(status).toBe(2);
    expect(output).toContain(
      "--heal: unlocked has no lock that prevents a repair during an update; run pulumi up --refresh",
    );
  });
});

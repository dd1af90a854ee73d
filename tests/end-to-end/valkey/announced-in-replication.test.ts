/** The addresses that a real primary and real Sentinels name: right ones pass, and wrong ones fail whatever is wrong. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { verify } from "../../../valkey/verification/verify";
import { usePlace, useSandbox } from "../../support/valkey/hooks";
import { callNode, eventually, failing, never, passwordOf, serverOptions, ZONES } from "../../support/valkey/real";
import { hastenSentinels } from "../../support/valkey/sentinels";

const sandbox = useSandbox();
const place = usePlace();
let replication: Deployment;
let watched: Deployment;
let sentinels: Deployment;
beforeAll(async () => {
  replication = await sandbox.formedReplication("shop", 2);
  const shape = { primaries: 1, replicasPerPrimary: 1 };
  const sentinel = { count: 3, quorum: 2, downAfterMs: 10_000, failoverTimeoutMs: 30_000 };
  const plan = { name: "watched", mode: "replication", shape, settings: { save: "" }, zones: ZONES, sentinel } as const;
  watched = await sandbox.host.start(plan, never);
  await hastenSentinels(watched);
  await sandbox.host.form(watched, shape, {});
  sentinels = { ...watched, nodes: watched.sentinels?.nodes ?? [] };
});

const DEFAULTS = { "replica-announce-ip": "", "replica-announce-port": "0" };
const change = (index: number, settings: Readonly<Record<string, string>>): Promise<unknown> =>
  callNode(replication, index, "CONFIG", "SET", ...Object.entries(settings).flat());
/** A replica announces a new value only when it connects again. */
async function announce(index: number, settings: Readonly<Record<string, string>>): Promise<void> {
  await change(index, settings);
  await callNode(replication, index, "CLIENT", "KILL", "TYPE", "master");
}
const portOf = (index: number, { nodes } = replication): string => String(nodes[index]?.endpoint.port);
const found = async (deployment = replication): Promise<string | undefined> =>
  (await verify(deployment)).verdict.assertions.find(({ id }) => id === "clients-led")?.found;
async function fails(rows: readonly string[], deployment = replication): Promise<void> {
  let last: readonly string[] = [];
  const isSo = async (): Promise<boolean> => {
    last = await failing(deployment);
    return last.join() === rows.join();
  };
  await eventually("the rows fail", isSo).catch(() => undefined);
  expect(last).toEqual(rows);
}
const passes = (deployment = replication): Promise<void> => fails([], deployment);
const says = (text: string, deployment = replication): Promise<void> => fails([`clients-led: ${text}`], deployment);

describe("the address of a replica", () => {
  afterEach(async () => {
    for (const index of [1, 2]) await announce(index, DEFAULTS);
    await passes();
  });

  it("fails where no server listens, also for the command of a user", async () => {
    expect(await found()).toBe("each of 2 announced endpoints to its node");
    await announce(1, { "replica-announce-port": "1" });
    await says(
      "shop-1: is announced by shop-0 at 127.0.0.1:1, where no node can be reached (connect ECONNREFUSED 127.0.0.1:1)",
    );
    const { status, output } = await place.call(["verify", ...serverOptions(replication)], passwordOf(replication));
    expect([status, output.replaceAll(/\s+/g, " ")]).toEqual([
      1,
      expect.stringContaining(`${portOf(1)}: is announced by 127.0.0.1:${portOf(0)} at 127.0.0.1:1, where no node`),
    ]);
  });

  it("fails if it is that of the other replica, or of the primary", async () => {
    await announce(1, { "replica-announce-port": portOf(2) });
    await says(`shop-1: is announced by shop-0 at 127.0.0.1:${portOf(2)}, which leads to shop-2`);
    await announce(1, { "replica-announce-ip": "127.0.0.1", "replica-announce-port": portOf(0) });
    await says(`shop-1: is announced by shop-0 at 127.0.0.1:${portOf(0)}, which leads to shop-0`);
  });

  it("fails if it is that of a server that is not part of the deployment", async () => {
    const stranger = await sandbox.replication("stranger", 0);
    await callNode(stranger, 0, "CONFIG", "SET", "requirepass", replication.access.password ?? "");
    await announce(2, { "replica-announce-port": portOf(0, stranger) });
    await eventually("it fails", async () =>
      /^shop-2: is announced by shop-0 at \S+, which leads to a different server \(run ID \w{8}…\)$/.test(
        (await found()) ?? "",
      ),
    );
  });

  it("fails if its host name has no address, and passes if the name leads to the replica", async () => {
    await announce(1, { "replica-announce-ip": "nowhere.invalid" });
    await eventually("it fails", async () =>
      ((await found()) ?? "").startsWith(
        `shop-1: is announced by shop-0 at nowhere.invalid:${portOf(1)}, which has no address (`,
      ),
    );
    await callNode(replication, 1, "CONFIG", "SET", "bind", "127.0.0.1 ::1");
    await announce(1, { "replica-announce-ip": "localhost" });
    await passes();
    await announce(1, { "replica-announce-ip": "0:0:0:0:0:0:0:1" });
    await passes();
    await callNode(replication, 1, "CONFIG", "SET", "bind", "127.0.0.1");
    await says(
      `shop-1: is announced by shop-0 at [0:0:0:0:0:0:0:1]:${portOf(1)}, where no node can be reached (connect ECONNREFUSED 0:0:0:0:0:0:0:1:${portOf(1)})`,
    );
  });

  it("fails before the replica announces it, and as long as the primary names it", async () => {
    await change(1, { "replica-announce-port": "1" });
    await says(
      "shop-1: is announced by shop-1 at 127.0.0.1:1, where no node can be reached (connect ECONNREFUSED 127.0.0.1:1)",
    );
    for (const index of [1, 2]) await announce(index, { "replica-announce-port": "1" });
    await eventually("both announce it", async () =>
      ((await found()) ?? "").startsWith("shop-1, shop-2: is announced by"),
    );
    await change(1, DEFAULTS);
    await announce(2, DEFAULTS);
    await says(
      "shop-1: is announced by shop-0 at 127.0.0.1:1, where no node can be reached (connect ECONNREFUSED 127.0.0.1:1)",
    );
  });

  it("is only compared where clients are elsewhere, and host names of pods are not tried", async () => {
    const elsewhere = { ...replication, hasClientsElsewhere: true };
    await announce(1, { "replica-announce-ip": "shop-1.pods.invalid" });
    await announce(2, { "replica-announce-port": "1" });
    await passes(elsewhere);
    expect(await found(elsewhere)).toBe("each of 2 announced endpoints to one node (2 could not be tried from here)");
    await announce(1, { ...DEFAULTS, "replica-announce-port": "1" });
    await says(
      "shop-1: is announced at 127.0.0.1:1, as is shop-2; shop-2: is announced at 127.0.0.1:1, as is shop-1",
      elsewhere,
    );
  });
});

describe("the address that Sentinels name", () => {
  const setSentinel = (name: string, value: string): Promise<unknown> =>
    callNode(sentinels, 0, "SENTINEL", "CONFIG", "SET", name, value);
  afterEach(async () => {
    await setSentinel("announce-ip", "127.0.0.1");
    await setSentinel("announce-port", portOf(0, sentinels));
    // A Sentinel can know one that changed its address twice.
    for (const index of sentinels.nodes.keys()) await callNode(sentinels, index, "SENTINEL", "RESET", "watched");
    await passes(watched);
  });

  it("for each other fails where no server listens, or a different Sentinel does", async () => {
    await passes(watched);
    expect(await found(watched)).toBe("each of 5 announced endpoints to its node");
    const names = "watched-sentinel-1, watched-sentinel-2";
    await setSentinel("announce-ip", "127.0.0.9");
    await eventually("it fails", async () =>
      ((await found(watched)) ?? "").startsWith(
        `watched-sentinel-0: is announced by ${names} at 127.0.0.9:${portOf(0, sentinels)}, where no node can be reached`,
      ),
    );
    await setSentinel("announce-ip", "127.0.0.1");
    await setSentinel("announce-port", portOf(1, sentinels));
    await eventually("it fails", async () =>
      ((await found(watched)) ?? "").includes(
        `at 127.0.0.1:${portOf(1, sentinels)}, which leads to watched-sentinel-1`,
      ),
    );
  });

  it("for the primary fails if it is that of a different server", async () => {
    const stranger = await sandbox.replication("other", 0);
    const connection = await connect("other", stranger.nodes[0]?.endpoint ?? { host: "", port: 0 }, stranger.access);
    await connection.config("SET", "requirepass", watched.access.password ?? "");
    connection.disconnect();
    const monitor = async (port: string): Promise<void> => {
      await callNode(sentinels, 0, "SENTINEL", "REMOVE", "watched");
      await callNode(sentinels, 0, "SENTINEL", "MONITOR", "watched", "127.0.0.1", port, "2");
      await callNode(sentinels, 0, "SENTINEL", "SET", "watched", "auth-pass", watched.access.password ?? "");
    };
    await monitor(portOf(0, stranger));
    expect(await found(watched)).toMatch(
      /^watched-0: is announced by watched-sentinel-0 at \S+, which leads to a different server \(run ID/,
    );
    await monitor(portOf(0, watched));
  });
});

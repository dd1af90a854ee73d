import { describe, expect, it } from "vitest";
import { formatVerification, verdictLine } from "../../../valkey/verification/format";
import type { ClientWayFacts } from "../../../valkey/client-endpoints";
import type { AnnouncedEndpoint, DeploymentFacts, NodeFacts } from "../../../valkey/verification/facts";
import { observed, unobserved } from "../../../valkey/observation";
import { ASSERTIONS } from "../../../valkey/verification/assertions";
import { namesById, separatedNodes } from "../../../valkey/verification/cluster-verdict";
import { announcedEndpoints } from "../../../valkey/verification/announced-endpoints";
import { judgeFacts } from "../../../valkey/verification/verify";
import type { MigrationJob } from "../../../valkey/topology/migration-jobs";
import { formatEndpoint } from "../../../valkey/node";
import { type FakeNode, fakeView, nodeIdOf } from "../../support/valkey/cluster-text";
import { expectReviewed } from "../../support/reviewed";
import { CLUSTER_INFO, clusterFacts, infoReply, patch, viewedNodes } from "../../support/valkey/facts";

const good = clusterFacts(3, 1);

/** The same facts with those of one node replaced. */
function withNode(facts: DeploymentFacts, index: number, changes: Partial<NodeFacts>): DeploymentFacts {
  return { ...facts, nodes: facts.nodes.map((node, i) => (i === index ? { ...node, ...changes } : node)) };
}

const failing = (facts: DeploymentFacts): string[] =>
  judgeFacts(facts).assertions.flatMap(({ id, pass }) => (pass ? [] : [id]));
const viewOf = (name: string, change: (nodes: FakeNode[]) => FakeNode[]): NodeFacts["view"] =>
  observed(fakeView(name, change(viewedNodes(good))));
const everyView = (change: (nodes: FakeNode[]) => FakeNode[]): DeploymentFacts => ({
  ...good,
  nodes: good.nodes.map((each) => ({ ...each, view: viewOf(each.node.name, change) })),
});

const told = (...reply: Parameters<typeof infoReply>): Partial<NodeFacts> => ({ info: observed(infoReply(...reply)) });
const cluster = (key: string, value: string): Partial<NodeFacts> => ({
  clusterInfo: observed(new Map([...CLUSTER_INFO, [key, value]])),
});
const seen = (index: number, change: (nodes: FakeNode[]) => FakeNode[]): DeploymentFacts =>
  withNode(good, index, { view: viewOf(`n-${index}`, change) });
const nothing = (why: ReturnType<typeof unobserved>): Omit<NodeFacts, "node"> => ({
  ...{ info: why, clusterInfo: why, view: why, settings: why, keys: why, write: undefined },
});
const inZone = (facts: DeploymentFacts, index: number, zone: string | undefined): DeploymentFacts =>
  withNode(facts, index, { node: { ...(facts.nodes[index] as NodeFacts).node, zone } });

const NO_CLUSTER = unobserved("ERR This instance has cluster support disabled");
const JOB: MigrationJob = {
  ...{ name: "j", operation: "EXPORT", slots: [{ from: 1, to: 3 }], state: "snapshotting", message: "", remaining: "" },
  ...{ source: "0".repeat(40), target: "1".padStart(40, "0") },
};
/** A cluster that gives clients endpoints which differ from a right one. */
const announcing = (...changes: readonly Partial<AnnouncedEndpoint>[]): DeploymentFacts => ({
  ...good,
  announced: changes.map((each) => ({
    ...{ node: "n-0", endpoint: { host: "10.0.0.1", port: 7000 }, tls: false, by: [] },
    ...each,
  })),
});

describe("the verdict on a cluster", () => {
  it("passes when the deployment is healthy", () => {
    const verdict = judgeFacts(good);
    expect(failing(good)).toEqual([]);
    expect(verdict.pass).toBe(true);
    expect(verdict.shards.map(({ replicas }) => replicas.length)).toEqual([1, 1, 1]);
  });

  it.each<[string, DeploymentFacts]>([
    ["not-loading", withNode(good, 0, told("primary", { loading: "1" }))],
    ["writable", withNode(good, 0, { write: unobserved("CLUSTERDOWN The cluster is down") })],
    ["state-ok", withNode(good, 1, cluster("cluster_state", "fail"))],
    ["slots-covered", withNode(good, 2, cluster("cluster_slots_ok", "16383"))],
    ["none-failing", seen(0, patch("n-4", { flags: "fail?" }))],
    ["none-failing", seen(0, patch("n-4", { link: "disconnected" }))],
    ["views-agree", seen(0, patch("n-1", { epoch: 7 }))],
    ["views-agree members", seen(3, (nodes) => [...nodes, { name: "n-99" }])],
    ["members", everyView((nodes) => [...nodes, { name: "n-99", primary: "n-0" }])],
    ["views-agree members", seen(3, (nodes) => nodes.filter(({ name }) => name !== "n-5"))],
    ["one-owner", everyView(patch("n-0", { slots: "0-5459" }))],
    ["one-owner", everyView(patch("n-1", { slots: "5460-10921" }))],
    ["no-moves", seen(0, patch("n-0", { slots: `0-5460 [5->-${"1".padStart(40, "0")}]` }))],
    ["no-moves", withNode(good, 0, { migrations: observed([JOB]) })],
    ["no-moves", withNode(good, 1, { migrations: unobserved("NOPERM") })],
    ["members replicas replica-elsewhere", withNode(good, 5, { view: good.nodes[4]?.view ?? unobserved("") })],
    ["clients-led", announcing({ servers: [{ name: "n-1" }] })],
    ["clients-led", announcing({}, { node: "n-1" })],
    ["primaries", { ...good, shape: { primaries: 4, replicasPerPrimary: 1 } }],
    ["replicas", { ...good, shape: { primaries: 3, replicasPerPrimary: 2 } }],
    ["replicas", { ...good, shape: { primaries: 3, replicasPerPrimary: 0 } }],
    ["links-up", withNode(good, 3, told("replica", { master_link_status: "down" }))],
    ["lag-bounded", withNode(good, 3, told("replica", { slave_repl_offset: "-2000000" }))],
    ["lag-bounded", withNode(good, 3, told("replica", { master_last_io_seconds_ago: "16" }))],
    ["zones-known replica-elsewhere zones-apart", inZone(good, 3, undefined)],
    ["replica-elsewhere zones-apart", inZone(good, 3, "a")],
    ["same-version", withNode(good, 4, told("replica", { valkey_version: "9.1.1" }))],
    ["same-settings", withNode(good, 4, { settings: observed(new Map([["maxmemory", "1"]])) })],
    ["same-settings", { ...good, directives: new Map([["maxmemory", "5"]]) }],
    ["same-settings", withNode(good, 4, { settings: unobserved("NOPERM") })],
  ])("fails in exactly the assertions about it: %s", (ids, facts) => {
    expect(failing(facts).join(" ")).toBe(ids);
  });

  it("says what was found", async () => {
    const reached = { name: "n-0" };
    const facts: readonly (readonly [string, string, DeploymentFacts])[] = [
      ["two migrations", "no-moves", withNode(good, 0, { migrations: observed([JOB, JOB]) })],
      ["an import", "no-moves", withNode(good, 1, { migrations: observed([{ ...JOB, operation: "IMPORT" }]) })],
      [
        "an endpoint that leads nowhere",
        "clients-led",
        announcing({ by: ["n-3"], tls: true, servers: [{ why: "refused" }] }),
      ],
      ["one that leads elsewhere", "clients-led", announcing({ servers: [reached, { name: "n-2" }] })],
      ["one of which one address is refused", "clients-led", announcing({ servers: [reached, { why: "refused" }] })],
      ["one with an unknown server", "clients-led", announcing({ servers: ["unknown", { why: "refused" }] })],
      ["endpoints that could not be tried", "clients-led", announcing({}, { tls: true, node: "n-1" })],
    ];
    const found = facts.map(([what, id, each]) => {
      const { [0]: row } = judgeFacts(each).assertions.filter((assertion) => assertion.id === id);
      return [what, `${id}: ${row?.found ?? "no row"}`] as const;
    });
    await expectReviewed("valkey/cluster-verdict", "What rows of a verdict on a cluster have found.", found);
  });

  it("finds every endpoint that clients get: with and without TLS, and over both versions of IP", () => {
    const announced = new Map([
      ...([
        ["cluster-preferred-endpoint-type", "ip"],
        ["port", "7000"],
        ["tls-port", "7443"],
        ["cluster-announce-tls-port", "0"],
      ] as const),
      ...([
        ["cluster-announce-client-tls-port", "443"],
        ["cluster-announce-client-ipv6", "fd00::1"],
      ] as const),
    ]);
    const facts = withNode(good, 0, { announcing: observed(announced) });
    const all = announcedEndpoints(facts.nodes, new Map(), false).filter(({ node }) => node === "n-0");
    expect(all.map(({ endpoint, tls, by }) => [formatEndpoint(endpoint), tls, by])).toEqual([
      ["10.0.0.1:7000", false, []],
      ["10.0.0.1:443", true, []],
      ["[fd00::1]:7000", false, []],
    ]);
    const asking = withNode(good, 0, {
      announcing: observed(new Map([["cluster-preferred-endpoint-type", "unknown-endpoint"]])),
    });
    const asked = new Map([["n-0", { host: "10.0.0.9", port: 1 }]]);
    expect(announcedEndpoints(asking.nodes, asked, false)).toContainEqual({
      ...{ node: "n-1", endpoint: { host: "10.0.0.9", port: 7000 }, tls: false, by: ["n-0"] },
    });
  });

  it("tells servers apart by their node IDs if a service gives one run ID for all of them", () => {
    const shared = (facts: DeploymentFacts): DeploymentFacts =>
      [0, 3].reduce(
        (all, index) => withNode(all, index, told(index === 0 ? "primary" : "replica", { run_id: "r" })),
        facts,
      );
    expect(failing(shared(good))).toEqual([]);
    const twice = withNode(good, 3, { view: good.nodes[0]?.view ?? unobserved("") });
    expect(failing(shared(twice))).toEqual(["reachable"]);
  });

  it("fails in the mode alone where servers run in a different one", async () => {
    const other = (server: Record<string, string>): Partial<NodeFacts> => ({
      ...{ ...told("primary", server), clusterInfo: NO_CLUSTER },
    });
    const modes: Readonly<Record<string, DeploymentFacts>> = {
      "a server without cluster mode": withNode(good, 0, other({ server_mode: "standalone" })),
      "a Sentinel": withNode(good, 0, other({ redis_mode: "sentinel" })),
      "a server in cluster mode": {
        ...{ ...good, mode: "replication" },
        nodes: good.nodes.slice(0, 1).map((each) => ({ ...each, ...other({ server_mode: "cluster" }) })),
      },
    };
    const found = Object.entries(modes).map(([what, facts]) => {
      expect(failing(facts), what).toEqual(["mode"]);
      return [what, judgeFacts(facts).assertions[1]?.found] as const;
    });
    await expectReviewed("valkey/wrong-modes", "What is said of servers in a different mode.", found);
  });

  it("names a primary and its replica in the same zone, and no other nodes", () => {
    const replica = judgeFacts(good).shards[0]?.replicas[0] ?? "";
    const index = good.nodes.findIndex((each) => each.node.name === replica);
    const beside = inZone(good, index, "a");
    const rows = judgeFacts(beside).assertions.filter(({ pass }) => !pass);
    expect(rows.map(({ nodes }) => nodes)).toEqual([["n-0"], [replica]]);
  });

  it("fails every assertion that needs the facts of a node that cannot be reached", () => {
    const why = unobserved("n-2 cannot be reached: ECONNREFUSED");
    const gone = withNode(good, 2, nothing(why));
    const passing = judgeFacts(gone).assertions.flatMap(({ id, pass }) => (pass ? [id] : []));
    expect(passing).toEqual(["zones-known"]);
    expect(judgeFacts(gone).assertions[0]).toMatchObject({
      id: "reachable",
      pass: false,
      nodes: ["n-2"],
      found: "n-2: cannot be reached: ECONNREFUSED",
    });
  });

  it("counts as many unknown IDs as silent nodes as the IDs of these nodes, whatever their addresses are", () => {
    const silent = (facts: DeploymentFacts, ...hosts: string[]): DeploymentFacts =>
      hosts.reduce((all, host, index) => {
        const { node } = all.nodes[index] as NodeFacts;
        const endpoint = { host, port: 7000 };
        return withNode(all, index, { ...nothing(unobserved("refused")), node: { ...node, endpoint } });
      }, facts);
    const oneMore = everyView((nodes) => [...nodes, { name: "n-99" }]);
    const cases: readonly (readonly [DeploymentFacts, isForeign: boolean, named: (string | undefined)[]])[] = [
      // The address that the others know is another one, because the node announces it.
      [silent(good, "192.0.2.1"), false, ["n-0"]],
      [silent(good, "valkey-0.test", "valkey-1.test"), false, [undefined, undefined]],
      [silent(oneMore, "192.0.2.1"), true, [undefined]],
      [silent(oneMore, "valkey-0.test", "valkey-1.test"), true, [undefined, undefined]],
    ];
    for (const [facts, isForeign, named] of cases) {
      const found = judgeFacts(facts).assertions.find(({ id }) => id === "members")?.found ?? "";
      expect(found.includes("not part of the deployment"), found).toBe(isForeign);
      expect(named.map((_name, index) => namesById(facts.nodes).get(nodeIdOf(`n-${index}`)))).toEqual(named);
    }
  });

  it("says only why nodes cannot be reached when none can", () => {
    const why = unobserved("refused");
    const nodes = good.nodes.map((each) => ({ ...each, ...nothing(why) }));
    for (const mode of ["cluster", "replication"] as const) {
      const { pass, assertions } = judgeFacts({ ...good, mode, nodes });
      expect([pass, assertions.map(({ id }) => id)]).toEqual([false, ["reachable"]]);
      expect(assertions[0]?.found).toMatch(/^n-0, n-1, .*: refused$/);
    }
  });

  it("does not pass without facts", () => {
    expect(judgeFacts({ ...good, nodes: [] }).pass).toBe(false);
    expect(judgeFacts({ ...good, nodes: [], mode: "replication" }).pass).toBe(false);
  });

  it("infers the numbers of nodes where none are wanted, but never fewer than a cluster needs", () => {
    expect(judgeFacts({ ...good, shape: {} }).pass).toBe(true);
    expect(failing({ ...clusterFacts(3, 0), shape: {} })).toEqual(["replicas", "replica-elsewhere"]);
    expect(judgeFacts(clusterFacts(3, 0)).pass).toBe(true);
  });

  it("skips settings on request, and names them", () => {
    const forbidden: DeploymentFacts = {
      ...good,
      skippedAssertions: ["settings"],
      nodes: good.nodes.map((each) => ({ ...each, settings: unobserved("not asked") })),
    };
    expect(judgeFacts(forbidden).pass).toBe(true);
    expect(verdictLine(judgeFacts(forbidden))).toBe(
      "VERIFY cluster: PASS — all 18 assertions hold; skipped on request: settings.",
    );
  });

  it("skips zones on request", () => {
    const nowhere = good.nodes.map((each) => ({ ...each, node: { ...each.node, zone: undefined } }));
    const without: DeploymentFacts = { ...good, nodes: nowhere };
    expect(failing(without)).toEqual(["zones-known", "replica-elsewhere", "zones-apart"]);
    expect(ASSERTIONS["zones-known"].next.others).toMatch(/`--node HOST:PORT=ZONE`.*`--without zones`/);
    expect(failing({ ...without, skippedAssertions: ["zones"] })).toEqual([]);
    expect(
      formatVerification({
        facts: { ...without, skippedAssertions: ["zones"] },
        verdict: judgeFacts({ ...without, skippedAssertions: ["zones"] }),
      }).join("\n"),
    ).not.toContain("zone unknown");
  });
});

const replication: DeploymentFacts = {
  ...good,
  deployment: "replication",
  mode: "replication",
  shape: { primaries: 1, replicasPerPrimary: 2 },
  zones: ["a", "b", "c"],
  nodes: ["a", "b", "c"].map((zone, i): NodeFacts => ({
    node: { name: `r-${i}`, zone, machine: "m", endpoint: { host: `10.0.0.${i + 1}`, port: 7000 } },
    info: observed(infoReply(i === 0 ? "primary" : "replica")),
    clusterInfo: unobserved("no cluster"),
    view: unobserved("no cluster"),
    settings: observed(new Map([["maxmemory", "0"]])),
    keys: observed(10),
    write: i === 0 ? observed(true) : undefined,
  })),
};

describe("the verdict on replication", () => {
  it("passes when the deployment is healthy", () => {
    expect(failing(replication)).toEqual([]);
  });

  it.each<[string, DeploymentFacts]>([
    [
      "zones-told",
      withNode(
        withNode(replication, 0, told("primary", { availability_zone: "" })),
        1,
        told("replica", { availability_zone: "elsewhere" }),
      ),
    ],
    ["writable one-primary replicas one-data-set all-online lag-bounded", withNode(replication, 1, told("primary"))],
    ["writable one-primary replicas one-data-set all-online lag-bounded", withNode(replication, 0, told("replica"))],
    [
      "all-online",
      withNode(replication, 0, told("primary", { slave1: "ip=10.0.0.3,port=7000,state=wait_bgsave,offset=0,lag=0" })),
    ],
    ["one-data-set", withNode(replication, 2, told("replica", { master_replid: "other" }))],
    ["links-up", withNode(replication, 2, told("replica", { master_link_status: "down" }))],
    ["read-only", withNode(replication, 2, told("replica", { slave_read_only: "0" }))],
    ["even-spread", inZone(replication, 2, "a")],
    ["zones-known even-spread", inZone(replication, 2, undefined)],
    ["replicas all-online", { ...replication, shape: { primaries: 1, replicasPerPrimary: 3 } }],
  ])("fails in exactly the assertions about it: %s", (ids, facts) => {
    expect(failing(facts).join(" ")).toBe(ids);
  });
});

describe("the row about writes", () => {
  it("names the cause", async () => {
    const causes: Readonly<Record<string, Record<string, string>>> = {
      "MISCONF Errors writing to the AOF file: No space left on device": { aof_last_write_status: "err" },
      "READONLY You can't write against a read only replica.": {},
      "no answer within 3 s": {},
      "CLUSTERDOWN The cluster is down": {},
    };
    const found = Object.entries(causes).map(([why, info]) => {
      const refused = withNode(replication, 0, { ...told("primary", info), write: unobserved(why) });
      return [why, judgeFacts(refused).assertions.find(({ id }) => id === "writable")] as const;
    });
    await expectReviewed("valkey/refused-writes", "What is said of servers that refuse writes.", found);
  });
});

describe("the row about the ways that clients take", () => {
  const nodes = replication.nodes.map((each, i) => ({
    ...each,
    info: observed(infoReply(i === 0 ? "primary" : "replica", { run_id: `run-${i}` })),
  }));
  const found = (...ways: ClientWayFacts[]): string | undefined =>
    judgeFacts({ ...replication, nodes, ways: observed(ways) }).assertions.find(({ id }) => id === "clients-led")
      ?.found;
  const through = (...proxies: readonly (readonly [pod: string, runId: string | undefined])[]): ClientWayFacts => ({
    ...{ service: "r", to: "primary", proxies: 2 },
    endpoints: proxies.map(([pod, runId]) => ({
      pod,
      runId: runId === undefined ? unobserved("the server refuses the password") : observed(runId),
    })),
  });
  const to = (which: ClientWayFacts["to"], ...pods: string[]): ClientWayFacts => ({
    ...{ service: "r", to: which },
    endpoints: pods.map((pod) => ({ pod })),
  });

  it("is there where the platform has such names", () => {
    expect(judgeFacts(replication).assertions.map(({ id }) => id)).not.toContain("clients-led");
    expect(found(to("primary", "r-0"), { ...to("all", "r-0", "r-1", "r-2"), service: "r-read" })).toBe(
      "r to the primary, r-read to all",
    );
    expect(found(through(["p-1", "run-0"], ["p-2", "run-0"]))).toBe("r to the primary");
  });

  it("fails where a Service does not lead clients to the right servers", async () => {
    const ways: Readonly<Record<string, ClientWayFacts>> = {
      "leads nowhere": to("primary"),
      "leads to a replica": to("primary", "r-1"),
      "leaves out a node": to("all", "r-0", "r-2"),
      "has fewer proxies than wanted": through(["p-1", "run-0"]),
      "has a proxy at a former primary": through(["p-1", "run-0"], ["p-2", "run-2"]),
      "has a proxy that refuses clients": through(["p-1", "run-0"], ["p-2", undefined]),
      "leads to a server of another deployment": through(["p-1", "run-0"], ["p-2", "run-9"]),
    };
    const texts = Object.entries(ways).map(([what, way]) => [what, found(way)] as const);
    await expectReviewed("valkey/services", "What is said of Services that lead clients astray.", texts);
  });

  it("fails where nobody tells", () => {
    const ways = unobserved("may not list endpointslices");
    expect(failing({ ...replication, nodes, ways })).toEqual(["clients-led"]);
  });
});

describe("a verification as text", () => {
  it("has nodes, pairs with their zones, assertions and the verdict, and of a failed assertion what was expected", async () => {
    const bad = withNode(good, 3, told("replica", { master_link_status: "down" }));
    const text = (facts: DeploymentFacts): readonly string[] =>
      formatVerification({ facts, verdict: judgeFacts(facts) });
    const found = { "a healthy cluster": text(good), "a replica without its primary": text(bad) };
    await expectReviewed("valkey/verifications", "Verifications as text.", found);
  });
});

describe("separated nodes", () => {
  const separated = (change: DeploymentFacts): string[] => separatedNodes(change.nodes);

  it("are those that reply and that another node does not reach", () => {
    expect(separated(good)).toEqual([]);
    expect(separated(seen(0, patch("n-4", { flags: "fail?" })))).toEqual(["n-4"]);
    expect(separated(seen(0, patch("n-4", { link: "disconnected" })))).toEqual(["n-4"]);
  });

  it("are neither a node that does not reply nor a node ID that no node has any more", () => {
    const failed = everyView(patch("n-4", { flags: "fail" }));
    expect(separated(failed)).toEqual(["n-4"]);
    expect(separated(withNode(failed, 4, { view: unobserved("it does not reply") }))).toEqual([]);
    const old = everyView((nodes) => [...nodes, { name: "n-99", flags: "fail", link: "disconnected" }]);
    expect(separated(old)).toEqual([]);
  });
});

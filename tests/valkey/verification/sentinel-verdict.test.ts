import { describe, expect, it } from "vitest";
import type { SentinelFacts } from "../../../valkey/sentinel/facts";
import { majority, placeSentinels } from "../../../valkey/sentinel-config";
import { type AssertionId, judgeAssertion } from "../../../valkey/verification/assertions";
import { SENTINEL_ASSERTIONS } from "../../../valkey/verification/sentinel-verdict";
import type { SentinelView } from "../../../valkey/sentinel/sentinel-view";
import { observed, unobserved } from "../../../valkey/observation";
import { expectReviewed } from "../../support/reviewed";
import { clusterFacts } from "../../support/valkey/facts";

const settings = { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 };
const at = (port: number): { host: string; port: number } => ({ host: "10.0.0.1", port });
const goodView: SentinelView = {
  primary: at(1),
  tilted: false,
  flags: ["master"],
  replicas: [{ endpoint: at(2), flags: ["slave"], linkUp: true }],
  otherSentinels: [
    { endpoint: at(11), flags: ["sentinel"] },
    { endpoint: at(12), flags: ["sentinel"] },
  ],
  quorum: 2,
  reachesQuorum: true,
};
const sentinel = (index: number, changes: Partial<SentinelView> = {}, zone = `zone-${index}`): SentinelFacts => ({
  node: { name: `r-sentinel-${index}`, zone, endpoint: at(10 + index) },
  view: observed({ ...goodView, ...changes }),
});
interface Watching {
  readonly sentinels: readonly SentinelFacts[];
  readonly primary: string | undefined;
}
const failing = (changes: Partial<Watching>): Record<string, string> => {
  const { sentinels, primary } = { sentinels: [0, 1, 2].map((index) => sentinel(index)), primary: "r-0", ...changes };
  const [some] = clusterFacts(3, 0).nodes;
  const nodes = [1, 2].flatMap((port) => {
    const node = { name: `r-${port - 1}`, zone: "a", machine: "m", endpoint: at(port) };
    return some === undefined ? [] : [{ ...some, node }];
  });
  const facts = {
    ...{ ...clusterFacts(3, 0), mode: "replication" as const, nodes, sentinels: { settings, nodes: sentinels } },
    shards: [{ primary, replicas: ["r-1"], slots: [] }],
  };
  return Object.fromEntries(
    (Object.keys(SENTINEL_ASSERTIONS) as AssertionId[])
      .flatMap((id) => judgeAssertion(id, facts))
      .filter(({ pass }) => !pass)
      .map(({ id, found }) => [id, found]),
  );
};

describe("the verdict on Sentinels", () => {
  it("passes when all monitor the primary and report no failure", () => {
    expect(failing({})).toEqual({});
  });

  it("fails in one row", async () => {
    const [good0, good1, good2] = [sentinel(0), sentinel(1), sentinel(2)];
    const changes: Readonly<Record<string, Partial<Watching>>> = {
      "one monitors another node": { sentinels: [good0, good1, sentinel(2, { primary: at(2) })] },
      "one reports the primary as down": { sentinels: [sentinel(0, { flags: ["master", "s_down"] }), good1, good2] },
      "one is in TILT mode": { sentinels: [sentinel(0, { tilted: true }), good1, good2] },
      "there is not exactly one primary": { primary: undefined },
      "one does not know a replica": { sentinels: [sentinel(0, { replicas: [] }), good1, good2] },
      "one cannot reach enough others": {
        sentinels: [good0, sentinel(1, { reachesQuorum: "NOQUORUM 1 usable" }), good2],
      },
      "one has another quorum": { sentinels: [good0, good1, sentinel(2, { quorum: 1 })] },
      "a zone holds the majority": { sentinels: [sentinel(0, {}, "a"), sentinel(1, {}, "a"), sentinel(2, {}, "b")] },
    };
    const found = Object.entries(changes).map(([what, change]) => [what, failing(change)] as const);
    for (const [what, rows] of found) expect(Object.keys(rows), what).toHaveLength(1);
    await expectReviewed("valkey/sentinel-verdict", "What is wrong with Sentinels.", found);
  });

  it("fails on a Sentinel that cannot be asked", () => {
    const unreachable: SentinelFacts = { ...sentinel(2), view: unobserved("cannot be reached") };
    expect(Object.keys(failing({ sentinels: [sentinel(0), sentinel(1), unreachable] }))).toEqual([
      "sentinels-watch",
      "sentinels-know",
      "sentinels-quorum",
    ]);
  });
});

describe("Sentinels", () => {
  it("are placed so that no zone has a majority, over three zones", () => {
    for (const count of [3, 5, 7, 9]) {
      const zones = placeSentinels("r", { ...settings, count }, ["a", "b", "c"]).map(({ zone }) => zone);
      for (const zone of ["a", "b", "c"])
        expect(zones.filter((each) => each !== zone).length).toBeGreaterThanOrEqual(majority(count));
    }
  });
});

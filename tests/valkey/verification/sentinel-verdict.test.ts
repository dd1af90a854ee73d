import { describe, expect, it } from "vitest";
import type { SentinelFacts } from "../../../valkey/sentinel/facts";
import { majority, placeSentinels } from "../../../valkey/sentinel-config";
import { type AssertionId, judgeAssertion } from "../../../valkey/verification/assertions";
import { SENTINEL_ASSERTIONS } from "../../../valkey/verification/sentinel-verdict";
import type { SentinelView } from "../../../valkey/sentinel/sentinel-view";
import { observed, unobserved } from "../../../valkey/observation";
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

  it.each<[string, Partial<Watching>, Record<string, string>]>([
    [
      "one monitors another node",
      { sentinels: [sentinel(0), sentinel(1), sentinel(2, { primary: at(2) })] },
      { "sentinels-watch": "r-sentinel-2: monitors r-1 as the primary" },
    ],
    [
      "one reports the primary as down",
      { sentinels: [sentinel(0, { flags: ["master", "s_down"] }), sentinel(1), sentinel(2)] },
      { "sentinels-watch": "r-sentinel-0: reports the primary as s_down" },
    ],
    [
      "one is in TILT mode",
      { sentinels: [sentinel(0, { tilted: true }), sentinel(1), sentinel(2)] },
      { "sentinels-watch": "r-sentinel-0: was delayed and is in TILT mode, so it starts no failover for 30 s" },
    ],
    [
      "there is not exactly one primary",
      { primary: undefined },
      { "sentinels-watch": "r-sentinel-0, r-sentinel-1, r-sentinel-2: monitors r-0 as the primary" },
    ],
    [
      "one does not know a replica",
      { sentinels: [sentinel(0, { replicas: [] }), sentinel(1), sentinel(2)] },
      { "sentinels-know": "r-sentinel-0: knows 0 replicas, 0 of them healthy" },
    ],
    [
      "one cannot reach enough others",
      { sentinels: [sentinel(0), sentinel(1, { reachesQuorum: "NOQUORUM 1 usable" }), sentinel(2)] },
      { "sentinels-quorum": "r-sentinel-1: NOQUORUM 1 usable" },
    ],
    [
      "one has another quorum",
      { sentinels: [sentinel(0), sentinel(1), sentinel(2, { quorum: 1 })] },
      { "sentinels-quorum": "r-sentinel-2: its quorum is 1" },
    ],
    [
      "a zone holds the majority",
      { sentinels: [sentinel(0, {}, "a"), sentinel(1, {}, "a"), sentinel(2, {}, "b")] },
      { "sentinels-zones": "after the loss of zone a, 1 Sentinel would remain" },
    ],
  ])("fails where %s", (_what, changes, found) => {
    expect(failing(changes)).toEqual(found);
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

/** The row about vanished data, from facts: what real servers cannot be brought to say in a test. */
import { expect, it } from "vitest";
import type { DeploymentFacts } from "../../../valkey/verification/facts";
import { seenData } from "../../../valkey/verification/kept-data";
import { type Verification, compareData, judgeFacts } from "../../../valkey/verification/verify";
import { observed } from "../../../valkey/observation";
import { clusterFacts, infoReply } from "../../support/valkey/facts";

/** Facts of a cluster of that many primaries whose servers have that many keys and say more in INFO. */
function verification(primaries: number, keys: number, info: Record<string, string> = {}): Verification {
  const facts = clusterFacts(primaries, 1);
  const nodes = facts.nodes.map((each) => {
    const role = each.write === undefined ? "replica" : "primary";
    return {
      ...each,
      keys: observed(keys),
      info: observed(infoReply(role, { ...info, run_id: `${info["run_id"] ?? "run"}-${each.node.name}` })),
    };
  });
  const changed: DeploymentFacts = { ...facts, nodes };
  return { facts: changed, verdict: judgeFacts(changed) };
}

const former = seenData(verification(3, 100));
const row = (now: Verification): string | undefined => {
  const { assertions } = compareData(now, former).verification.verdict;
  const found = assertions.find(({ id }) => id === "data-kept");
  return found?.pass === true ? "kept" : found?.found;
};

it("holds as long as keys are not fewer, or what was removed was counted", () => {
  expect(row(verification(3, 100))).toBe("kept");
  expect(row(verification(3, 90, { expired_keys: "7", evicted_keys: "3" }))).toBe("kept");
  expect(row(verification(3, 90, { cmdstat_flushall: "calls=1,usec=9" }))).toBe("kept");
  expect(row(verification(3, 90, { "cmdstat_json.del": "calls=1,usec=9" }))).toBe("kept");
});

it("fails where keys are gone that the servers did not count", () => {
  expect(row(verification(3, 90))).toMatch(/10 of the 100 keys .* are gone, although the server has counted 0 expired/);
  expect(row(verification(3, 90, { expired_keys: "9", cmdstat_set: "calls=9,usec=9" }))).toMatch(/counted 9 expired/);
});

it("cannot say it where a restart has reset the counters", () => {
  const restarted = { run_id: "new", master_replid: "other", aof_enabled: "1", expired_keys: "2" };
  expect(row(verification(3, 90, restarted))).toMatch(/10 of the 100 keys .* are gone, and it cannot be said why/);
  expect(row(verification(3, 100, restarted))).toBe("kept");
});

it("compares all keys where slots have moved to other shards", () => {
  expect(row(verification(4, 75))).toBe("kept");
  expect(row(verification(4, 70))).toMatch(/^20 of the 300 keys .* are gone, and it cannot be said why/);
});

it("compares with the last verification that passed", () => {
  const failing = verification(3, 0, { loading: "1" });
  expect(failing.verdict.pass).toBe(false);
  expect(compareData(failing, former).data).toBe(former);
  expect(compareData(failing, undefined)).toEqual({ verification: failing, data: undefined });
  const passing = verification(3, 10);
  const { verification: compared, data } = compareData(passing, former);
  expect([compared.verdict.pass, data?.shards[0]?.keys]).toEqual([false, 10]);
});

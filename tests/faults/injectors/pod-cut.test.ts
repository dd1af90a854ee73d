import { describe, expect, it } from "vitest";
import { cutPolicies, showsCut } from "../../../faults/injectors/pod-cut";
import type { Fault } from "../../../faults/plan/fault";
import { unmetPodPrecondition } from "../../../faults/injectors/preconditions";
import { attemptAll } from "../../../faults/injectors/fault-injector";
import { fixture } from "../../support/fixtures";

const labels = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "shop" };
const own = { podSelector: { matchLabels: labels } };
const tcp = (port: number): { protocol: string; port: number } => ({ protocol: "TCP", port });
const spec = {
  ...own,
  policyTypes: ["Ingress", "Egress"],
  ingress: [
    { _from: [own, { podSelector: {} }], ports: [tcp(6379)] },
    { _from: [own], ports: [tcp(16379)] },
  ],
  egress: [{ to: [own], ports: [tcp(6379), tcp(16379)] }, { ports: [{ protocol: "UDP", port: 53 }] }],
};

describe("the policies of a cut", () => {
  const { others, cut } = cutPolicies(spec, labels);

  it("select every pod of the deployment exactly once", () => {
    expect(others.podSelector).toEqual({
      matchLabels: labels,
      matchExpressions: [{ key: "valkey-measured/cut", operator: "DoesNotExist" }],
    });
    expect(cut.podSelector).toEqual({ matchLabels: { ...labels, "valkey-measured/cut": "yes" } });
  });

  it("allow each side to call only its own pods, and leave clients and DNS alone", () => {
    for (const policy of [others, cut]) {
      expect(policy.egress?.[0]?.to).toEqual([{ podSelector: policy.podSelector }]);
      expect(policy.egress?.[1]).toEqual(spec.egress[1]);
      expect(policy.ingress).toEqual(spec.ingress);
    }
  });

  it("leave the deployment's own policy unchanged", () => {
    expect(spec.egress[0]?.to).toEqual([own]);
  });
});

describe("a node's view of its cluster", () => {
  const formed = fixture("cluster-nodes-9.1-formed");

  it("shows a cut where another node is failed, suspected or not linked", () => {
    expect(showsCut(fixture("cluster-nodes-9.1-failed"))).toBe(true);
    expect(showsCut(fixture("cluster-nodes-9.1-suspected"))).toBe(true);
    expect(showsCut(formed.replace(/ connected/, " disconnected"))).toBe(true);
  });

  it("shows none where the cluster is healthy, also with nofailover flags and misleading host names", () => {
    expect(showsCut(formed)).toBe(false);
    expect(showsCut(formed.replaceAll(" slave ", " slave,nofailover "))).toBe(false);
    expect(showsCut(formed.replaceAll(/@\d+/g, "$&,fail.disconnected.internal"))).toBe(false);
    expect(showsCut(fixture("cluster-nodes-9.1-handshake"))).toBe(false);
  });
});

describe("the calls of attemptAll", () => {
  it("all happen, and the messages of those that failed are returned", async () => {
    const done: string[] = [];
    expect(
      await attemptAll(
        () => {
          throw new Error("first");
        },
        () => {
          done.push("second");
        },
        () => Promise.reject(new Error("third")),
      ),
    ).toEqual(["first", "third"]);
    expect(done).toEqual(["second"]);
  });
});

describe("scenarios of pods", () => {
  const scenario = (
    fault: Fault,
    settings: Record<string, string> = {},
  ): Parameters<typeof unmetPodPrecondition>[0] => ({ fault, settings: new Map(Object.entries(settings)) });
  const why = (
    fault: Fault,
    settings?: Record<string, string>,
    configured: Record<string, string> = {},
  ): string | undefined => unmetPodPrecondition(scenario(fault, settings), new Map(Object.entries(configured)));

  it("are refused where the API server cannot inject the fault, with the alternative", () => {
    expect(why({ kind: "freeze-primary", seconds: 1 })).toMatch(/platform host/);
    expect(why({ kind: "full-disk", seconds: 1 })).toMatch(/platform host/);
    expect(why({ kind: "scale", primaries: 4, replicasPerPrimary: 1 })).toMatch(/pulumi up/);
    expect(why({ kind: "kill-primary" })).toBeUndefined();
  });

  it("include rolling restarts, but no upgrades, which are another image", () => {
    expect(why({ kind: "rolling-restart" })).toBeUndefined();
    expect(why({ kind: "rolling-restart", home: "/opt/valkey" })).toMatch(/image/);
  });

  it("refuse another appendonly, because a recreated pod starts with the deployment's", () => {
    const kill: Fault = { kind: "kill-primary" };
    expect(why(kill, { appendonly: "yes" })).toMatch(/pulumi up/);
    expect(why(kill, { appendonly: "yes" }, { appendonly: "yes" })).toBeUndefined();
    expect(why(kill, { "cluster-node-timeout": "1000" })).toBeUndefined();
    expect(why({ kind: "cut-zone", seconds: 1 }, { appendonly: "yes" })).toBeUndefined();
  });
});

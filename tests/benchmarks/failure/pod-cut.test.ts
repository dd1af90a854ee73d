import { describe, expect, it } from "vitest";
import { cutPolicies } from "../../../benchmarks/failure/pod-cut";
import { podObstacle } from "../../../benchmarks/failure/pod-breaker";
import { FAULT_KINDS } from "../../../benchmarks/failure/fault";

const labels = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "shop" };
const own = { podSelector: { matchLabels: labels } };
const tcp = (port: number): { protocol: string; port: number } => ({ protocol: "TCP", port });
const spec = {
  ...own,
  policyTypes: ["Ingress", "Egress"],
  ingress: [{ _from: [own, { podSelector: {} }], ports: [tcp(6379)] }, { _from: [own], ports: [tcp(16379)] }],
  egress: [{ to: [own], ports: [tcp(6379), tcp(16379)] }, { ports: [{ protocol: "UDP", port: 53 }] }],
};

describe("the policies of a cut", () => {
  const { others, cut } = cutPolicies(spec, labels);

  it("select every pod of the deployment once", () => {
    expect(others.podSelector).toEqual({ matchLabels: labels, matchExpressions: [{ key: "valkey-measured/cut", operator: "DoesNotExist" }] });
    expect(cut.podSelector).toEqual({ matchLabels: { ...labels, "valkey-measured/cut": "yes" } });
  });

  it("let each side call only its own, and leave clients and names alone", () => {
    for (const policy of [others, cut]) {
      expect(policy.egress?.[0]?.to).toEqual([{ podSelector: policy.podSelector }]);
      expect(policy.egress?.[1]).toEqual(spec.egress[1]);
      expect(policy.ingress).toEqual(spec.ingress);
    }
  });

  it("change nothing of what they are made from", () => {
    expect(spec.egress[0]?.to).toEqual([own]);
  });
});

describe("faults of pods", () => {
  it("are all but three, which say why and where they can be had", () => {
    expect(FAULT_KINDS.filter((fault) => podObstacle(fault) !== undefined)).toEqual(["freeze-primary", "full-disk", "scale"]);
    for (const fault of ["freeze-primary", "full-disk"] as const) expect(podObstacle(fault)).toMatch(/platform host/);
  });
});

import { expect, it } from "vitest";
import { ClusterServers } from "../../../../components/kubernetes/servers/cluster-servers";
import { EngineServers } from "../../../../components/kubernetes/servers/engine-servers";
import { ReplicationServers } from "../../../../components/kubernetes/servers/replication-servers";
import { evaluateProgram } from "../../../support/pulumi/pulumi-mocks";
import { plainServers } from "../../../support/kubernetes/server-args";

interface PodMaker {
  readonly template: { readonly spec: { readonly imagePullSecrets?: unknown } };
}

it("gives every pod the pull secrets", async () => {
  const args = { ...plainServers, imagePullSecrets: ["registry", "mirror"] };
  const sentinel = { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 };
  const resources = await evaluateProgram(() => {
    new ClusterServers("cluster", { ...args, shape: { primaries: 3, replicasPerPrimary: 1 } });
    new EngineServers("engine", { ...args, engine: "redis", replicas: 2 });
    new ReplicationServers("replication", { ...args, replicas: 2, sentinel });
  });
  const pods = resources
    .filter(({ type }) => /:(StatefulSet|Deployment)$/.test(type))
    .map(({ name, inputs }) => [name, (inputs["spec"] as PodMaker).template.spec.imagePullSecrets]);
  const both = [{ name: "registry" }, { name: "mirror" }];
  expect(pods).toEqual([
    ["cluster", both],
    ["engine", both],
    ["replication", both],
    ["replication-sentinel", both],
    ["replication-proxy", both],
  ]);
});

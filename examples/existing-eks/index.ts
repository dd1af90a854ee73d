/**
 * A Valkey cluster on an EKS cluster that exists already. To deploy it: pulumi config set clusterName NAME (the EKS
 * cluster); pulumi config set --path 'zones[0]' us-west-2a (then zones[1], zones[2]); pulumi up
 */
import * as aws from "@pulumi/aws";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { ValkeyCluster } from "valkey-measured";

const config = new pulumi.Config();
const name = config.require("clusterName");
const cluster = aws.eks.getClusterOutput({ name });

// The AWS CLI gets a token for each login, so the kubeconfig contains no secret.
const exec = {
  apiVersion: "client.authentication.k8s.io/v1beta1",
  command: "aws",
  args: ["eks", "get-token", "--cluster-name", name],
};
const kubeconfig = pulumi.jsonStringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": name,
  contexts: [{ name, context: { cluster: name, user: name } }],
  users: [{ name, user: { exec } }],
  clusters: [
    {
      name,
      cluster: {
        server: cluster.endpoint,
        "certificate-authority-data": cluster.certificateAuthorities.apply(([authority]) => authority?.data),
      },
    },
  ],
});

const kubernetes = new k8s.Provider("eks", { kubeconfig });
const namespace = new k8s.core.v1.Namespace("valkey", {}, { provider: kubernetes });

const orders = new ValkeyCluster(
  "orders",
  {
    kubeconfig,
    namespace: namespace.metadata.name,
    shape: { primaries: 3, replicasPerPrimary: 1 },
    zones: config.requireObject<string[]>("zones"),
    placement: { hostAntiAffinity: "required" },
    resources: { requests: { cpu: "1", memory: "8Gi" }, limits: { cpu: "2", memory: "8Gi" } },
    storage: { className: "gp3", size: "20Gi", onDestroy: "keep" },
    settings: { "maxmemory-policy": "noeviction" },
  },
  { providers: { kubernetes } },
);

export const url = orders.url;
export const verdict = orders.topology.apply((topology) => topology.verdict.pass);

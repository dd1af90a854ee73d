/**
 * A Valkey cluster on Kubernetes. To deploy the cluster: npm install valkey-measured; pulumi config set --path 'zones[0]'
 * us-west-2a (then zones[1], zones[2]); pulumi up
 */
import * as pulumi from "@pulumi/pulumi";
import { ValkeyCluster } from "valkey-measured";

const config = new pulumi.Config();
const orders = new ValkeyCluster("orders", {
  namespace: config.get("namespace"),
  shape: { primaries: 3, replicasPerPrimary: 1 },
  zones: config.requireObject<string[]>("zones"),
  settings: { "maxmemory-policy": "allkeys-lru" },
});

export const url = orders.url;
export const verified = orders.topology.apply(({ verdict }) => verdict.pass);

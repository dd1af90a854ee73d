/**
 * A Valkey cluster with a backup. `pulumi config set restoreAt 2026-11-24T08:00:00Z; pulumi up` adds a second deployment,
 * in replication mode, with the data of this second. Every key of it is compared with the backup. Before the first `up`:
 * npm install valkey-measured; pulumi config set bucket NAME; pulumi config set region NAME; pulumi config set --path
 * 'zones[0]' us-west-2a (then zones[1], zones[2]). The pods need access to the bucket: docs/backup.md.
 */
import * as pulumi from "@pulumi/pulumi";
import { ValkeyCluster, ValkeyReplication } from "valkey-measured";

const config = new pulumi.Config();
const [namespace, zones] = [config.get("namespace"), config.requireObject<string[]>("zones")];
const bucket = { bucket: config.require("bucket"), region: config.get("region"), endpoint: config.get("endpoint") };
const access = { credentials: config.getObject<{ secretName: string }>("credentials") };

const backup = { ...bucket, ...access, drill: "weekly" as const };
const shape = { primaries: 3, replicasPerPrimary: 1 };
const orders = new ValkeyCluster("orders", { namespace, zones, shape, backup });

const at = config.get("restoreAt");
const restoreFrom = { ...bucket, ...access, prefix: `${namespace ?? "default"}/orders`, at };
const restored = at && new ValkeyReplication("orders-restored", { namespace, zones, replicas: 2, restoreFrom });

export const url = orders.url;
export const restoredUrl = restored && restored.url;
export const result = restored && restored.restored;

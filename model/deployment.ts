/** Fields of a deployment that its section in a stack file and its component share. */
import * as z from "zod";
import { wholeNumber } from "../lib/schema/fields";
import { type Fields, typed } from "./fields";
import { DIRECTIVE_NAME } from "./settings";

/** Fields of deployments of every engine. */
export const DEPLOYMENT_FIELDS = {
  /**
   * Names of directives in `settings` that a newer Valkey knows, but this package does not. Other unknown directives
   * are refused.
   * @default none
   */
  newerDirectives: z.array(z.string().regex(DIRECTIVE_NAME, "expected the name of a directive")).optional(),
  /**
   * Change this number to generate a new password with the next `pulumi up`. It has an effect only on a generated
   * password.
   * @default 0
   */
  passwordVersion: wholeNumber(0).default(0),
  /**
   * Whether a `maxmemory` is allowed that does not fit into the pod's memory limit, and in a stack file also more
   * `io-threads` than cores. Use this option to measure the cost of such settings.
   * @default false
   */
  oversubscribed: z.boolean().default(false),
};

export const EXTERNAL_FIELDS = {
  /**
   * Type of the Services. With `NodePort`, clients reach a server at the address of the machine on which it runs. In
   * cluster mode, `NodePort` needs Valkey 9.1.
   */
  type: z.enum(["LoadBalancer", "NodePort"]),
  /** Annotations of the Services. The Kubernetes controller that creates load balancers reads them. @default none */
  annotations: z.record(z.string().min(1), z.string()).optional(),
  /**
   * CIDR blocks from which load balancers accept connections. In cluster mode clients inside the Kubernetes cluster use
   * the load balancers too. If clients run inside the Kubernetes cluster, include the addresses of pods and machines.
   * @default any
   */
  sourceRanges: z.array(z.string()).min(1).optional(),
};

/**
 * Services for clients outside the Kubernetes cluster. In replication mode there is one Service for the primary and one
 * for reads. In cluster mode each server has its own Service, and announces the address of this Service to all clients,
 * also to clients inside the Kubernetes cluster. Adding or removing the Services needs no restart.
 */
export interface ExternalReach extends Fields<typeof EXTERNAL_FIELDS> {}

/** Fields of deployments of Valkey in pods of this project. */
export const VALKEY_FIELDS = {
  /**
   * Time for which a starting primary waits for a silent replica, which may have newer data. `wait`: until the replica
   * answers. A number: seconds, 1 to 86400. After that the primary starts with its own data, or lets the best replica
   * that answers take over (docs/failures.md).
   * @default 60; without an append-only file `wait`, unless a replica answers that has had a primary since it started
   */
  onSilentReplica: z.union([z.literal("wait"), wholeNumber(1, 86_400)]).optional(),
  /**
   * Seconds for which the former password stays valid after a new password is published, 90 to 3600. Pods may get a new
   * password up to 90 s after that, and then clients reconnect.
   * @default 120
   */
  passwordOverlapSeconds: wholeNumber(90, 3600).default(120),
  /** Access for clients outside the Kubernetes cluster, by additional Services. @default none */
  external: typed<ExternalReach>(z.strictObject(EXTERNAL_FIELDS)).optional(),
};

/** Fields of the controller of a deployment. */
export const CONTROLLER_FIELDS = {
  /**
   * Seconds between two verifications while the verdict is PASS, from 5 to 120. Each verification sends some commands to
   * every node. The alert `ValkeyNotWatched` fires when the last verification is five minutes old.
   * @default 30
   */
  everySeconds: wholeNumber(5, 120).default(30),
  /** Whether the controller repairs the deployment. With `false`, it only reports what it finds. @default true */
  repair: z.boolean().default(true),
  /**
   * Whether the controller restores the configured value of a setting that somebody changed by hand. It restores only
   * settings that servers take without a restart. Needs `repair: true`.
   * @default false
   */
  repairSettings: z.boolean().default(false),
  /**
   * Reaction when a shard of a cluster has lost its primary and cannot elect a replica. `report`: an Event tells which
   * command to run. `takeover`: if the primary's machine is known to be off, the replica with the greatest offset takes
   * over. Writes that this replica has not received are lost. `takeover` needs volumes and an append-only file or
   * snapshots.
   * @default "report"
   */
  onLostMajority: typed<OnLostMajority>(z.enum(["report", "takeover"])).default("report"),
  /**
   * Seconds after which the controller replaces the pods of a machine that does not come back, 60 to 86400. A volume
   * that only this machine can use is deleted. The controller replaces one pod at a time, and only while the other
   * servers have all data (docs/lost-machines.md). Needs `repair: true` and replicas.
   * @default pods of lost machines are not replaced
   */
  replaceLostMachinesAfterSeconds: wholeNumber(60, 86_400).optional(),
};
export const CONTROLLER_DEFAULTS = z.object(CONTROLLER_FIELDS).parse({});

/** Reactions to shards that have lost their primary and cannot elect a replica. */
export type OnLostMajority = "report" | "takeover";

/** Fields of the Sentinels of a deployment in replication mode. */
export const SENTINEL_FIELDS = {
  /** The number of Sentinels: odd, from 3 to 9. They are spread over the zones. @default 3 */
  count: wholeNumber(3, 9)
    .refine(
      (value) => value % 2 === 1,
      "expected an odd number: 4 Sentinels, for example, tolerate no more failures than 3",
    )
    .default(3),
  /** Number of Sentinels that must consider the primary down before a failover. @default a majority */
  quorum: wholeNumber(1, 9).optional(),
  /**
   * Milliseconds without a reply after which a Sentinel considers a node down (`down-after-milliseconds`).
   * @default 5000
   */
  downAfterMs: wholeNumber(100, 600_000).default(5000),
  /** Milliseconds after which an unfinished failover is started again (`failover-timeout`). @default 10000 */
  failoverTimeoutMs: wholeNumber(1000, 3_600_000).default(10_000),
};
export const SENTINEL_DEFAULTS = z.object(SENTINEL_FIELDS).parse({});

/** The Sentinels that a configuration requests. `{}` means all defaults. */
export interface SentinelRequest extends Fields<typeof SENTINEL_FIELDS> {}

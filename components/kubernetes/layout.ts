import { DESIGNATED_KEY } from "../../platforms/kubernetes/access/primary-lead";

export const CLIENT_PORT = 6379;
/** Servers expect the cluster bus at the client port + 10000. */
export const BUS_PORT = 16_379;
export const METRICS_PORT = 9121;
export const SENTINEL_PORT = 26_379;
/** Port on which a proxy tells the readiness probe whether it has found a primary. */
export const PROXY_STATUS_PORT = 8404;

export const DATA_DIRECTORY = "/data";
export const CONFIG_DIRECTORY = "/valkey/config";
export const CONFIG_FILE = `${CONFIG_DIRECTORY}/valkey.conf`;
export const SCRIPTS_DIRECTORY = "/valkey/scripts";
/** Directory with one file for each pod that announces addresses to clients outside the Kubernetes cluster. */
export const ANNOUNCED_DIRECTORY = "/valkey/announced";
/** Directory with the name of the primary's pod, for scripts in deployments without Sentinels. */
export const PRIMARY_DIRECTORY = "/valkey/primary";
export const PRIMARY_FILE = `${PRIMARY_DIRECTORY}/${DESIGNATED_KEY}`;
export const SECRET_DIRECTORY = "/valkey/secret";
export const TLS_DIRECTORY = "/valkey/tls";

export const SERVER_CONTAINER = "valkey";
export const DATA_VOLUME = "data";
/** Only `Preparation` changes them. If Pulumi did, it would replace the StatefulSet with all its pods. */
export const IGNORED_VOLUME_FIELDS = ["spec.volumeClaimTemplates"];
/** Fields of a Service and of a ConfigMap that `Rollout` changes when a different server becomes the primary. */
export const LED_BY_ROLLOUT = ["spec.selector"];
export const DESIGNATED_BY_ROLLOUT = ["data"];
/** Fields of a disruption budget that `DeploymentVerification` changes. */
export const CHANGED_BY_SHARDS = ["spec"];

/** Time limit for a primary to hand over its slots before its pod stops, seconds. */
export const HAND_OVER_SECONDS = 30;
/** In this time the pod hands over its slots and, with `save` rules, writes a snapshot. */
export const TERMINATION_GRACE_SECONDS = 180;

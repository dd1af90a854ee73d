/** Ports, mount paths and time limits that all pods share. */
import { DESIGNATED_KEY } from "../../platforms/kubernetes/access/primary-lead";

export const CLIENT_PORT = 6379;
/** Port of the cluster bus: the client port + 10000, as servers expect it. */
export const BUS_PORT = 16_379;
export const METRICS_PORT = 9121;
export const SENTINEL_PORT = 26_379;

export const DATA_DIRECTORY = "/data";
export const CONFIG_DIRECTORY = "/valkey/config";
export const CONFIG_FILE = `${CONFIG_DIRECTORY}/valkey.conf`;
export const SCRIPTS_DIRECTORY = "/valkey/scripts";
/** Holds a file for each pod, where clients are outside the Kubernetes cluster. */
export const ANNOUNCED_DIRECTORY = "/valkey/announced";
/** Holds the name of the primary's pod, for scripts where no Sentinel decides. */
export const PRIMARY_DIRECTORY = "/valkey/primary";
export const PRIMARY_FILE = `${PRIMARY_DIRECTORY}/${DESIGNATED_KEY}`;
export const SECRET_DIRECTORY = "/valkey/secret";
export const TLS_DIRECTORY = "/valkey/tls";

/** The server's container. */
export const SERVER_CONTAINER = "valkey";
export const DATA_VOLUME = "data";
/** The part of a StatefulSet that `Volumes` changes: by itself the engine would delete all pods and make them again. */
export const IGNORED_VOLUME_FIELDS = ["spec.volumeClaimTemplates"];
/** The parts of a Service and of a ConfigMap that `Rollout` changes when another server becomes the primary. */
export const LED_BY_ROLLOUT = ["spec.selector"];
export const DESIGNATED_BY_ROLLOUT = ["data"];
/** The part of a disruption budget that `DeploymentVerification` changes. */
export const CHANGED_BY_SHARDS = ["spec"];

/** Seconds that a primary may take to hand its slots over before its pod stops. */
export const HAND_OVER_SECONDS = 30;
/** Seconds for which a primary that has a snapshot waits for replicas that do not answer, before it starts: they may be starting too. */
export const ASK_SECONDS = 20;
/** Seconds for which a primary waits, before it starts, while the only data or newer data may be at a replica. */
export const ASK_PATIENCE_SECONDS = 120;
/** Seconds that a pod has to stop: it hands its slots over and, with `save` rules, writes a snapshot. */
export const TERMINATION_GRACE_SECONDS = 180;

/** Engine and topology of a deployment, and whether this project or the upstream chart creates its pods. */
import type { Mode } from "../../valkey/node";
import type { SentinelSettings } from "../../valkey/sentinel-config";
import type { Engine } from "../../valkey/settings/engines";
import type { Shape } from "../../valkey/topology/placement";

/** Engine and topology of a deployment, and whether this project or the upstream chart creates its pods. */
export interface DeploymentKind {
  /** Engine of the servers. @default "valkey" */
  readonly engine?: Engine | undefined;
  /** Whether the upstream chart creates the pods. @default false */
  readonly isUpstreamChart?: boolean | undefined;
  readonly mode: Mode;
  readonly shape: Shape;
  /** Sentinels that promote a replica, in replication mode. @default no Sentinels */
  readonly sentinel?: SentinelSettings | undefined;
}

/** Names at which clients connect, and their ready endpoints. Plain data. */
import type { Observation } from "./observation";

/** A name at which clients connect: on Kubernetes a Service. */
export interface ClientWay {
  readonly service: string;
  /** Nodes that clients of the Service must reach. */
  readonly to: "primary" | "all";
  /** Number of proxies behind the Service; each leads to the primary. @default no proxies: the endpoints are nodes */
  readonly proxies?: number | undefined;
}

/** A way with its ready endpoints. */
export interface ClientWayFacts extends ClientWay {
  /** Pods that are ready; new connections go to any of them. */
  readonly endpoints: readonly {
    readonly pod: string;
    /** Run ID of the server that answers a login through this proxy; undefined if the pod is a node. */
    readonly runId?: Observation<string> | undefined;
  }[];
}

/** Names to which clients connect, and their ready endpoints. Plain data. */
import type { Observation } from "./observation";

/** A name to which clients connect: on Kubernetes a Service. */
export interface ClientWay {
  readonly service: string;
  /** Nodes that the Service must lead clients to. */
  readonly to: "primary" | "all";
  /**
   * Number of proxies behind the Service; each forwards connections to the primary.
   * @default no proxies: the endpoints are nodes
   */
  readonly proxies?: number | undefined;
}

/** A name to which clients connect, with its ready endpoints. */
export interface ClientWayFacts extends ClientWay {
  /** Pods that are ready. A new connection goes to any one of them. */
  readonly endpoints: readonly {
    readonly pod: string;
    /** Run ID of the server that answers a login through this proxy. Undefined if the pod is a node and not a proxy. */
    readonly runId?: Observation<string> | undefined;
  }[];
}

/** The host names to which clients connect, and the ready endpoints behind each name. */
import type { Observation } from "./observation";

/** A host name to which clients connect. On Kubernetes, a Service has this name. */
export interface ClientWay {
  readonly service: string;
  /** Nodes that clients must reach through the Service: the primary only, or all nodes. */
  readonly to: "primary" | "all";
  /**
   * Number of proxies behind the Service; each forwards connections to the primary.
   * @default no proxies: the endpoints are nodes
   */
  readonly proxies?: number | undefined;
}

/** A host name to which clients connect, with the ready endpoints behind it. */
export interface ClientWayFacts extends ClientWay {
  /** The ready pods behind the Service. A new connection goes to one of these pods. */
  readonly endpoints: readonly {
    readonly pod: string;
    /**
     * Run ID of the server to which the pod forwards connections, if the pod is a proxy. Undefined if the pod is a
     * node.
     */
    readonly runId?: Observation<string> | undefined;
  }[];
}

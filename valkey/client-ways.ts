/** Names to which clients connect, and their ready endpoints. Plain data. */
import type { Observation } from "./observation";

/** A name to which clients connect. On Kubernetes it is a Service. */
export interface ClientWay {
  readonly service: string;
  /** Nodes to which the Service must lead clients. */
  readonly to: "primary" | "all";
  /**
   * Number of proxies behind the Service; each forwards connections to the primary.
   * @default no proxies: the endpoints are nodes
   */
  readonly proxies?: number | undefined;
}

/** A name to which clients connect, with its ready endpoints. */
export interface ClientWayFacts extends ClientWay {
  /** The ready pods. A new connection goes to one of them. */
  readonly endpoints: readonly {
    readonly pod: string;
    /** Run ID of the server to which this proxy connects. Undefined if the pod is a node, not a proxy. */
    readonly runId?: Observation<string> | undefined;
  }[];
}

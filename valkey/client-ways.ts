/** Names to which clients connect, and their ready endpoints. Plain data. */
import type { Observation } from "./observation";

/** A name to which clients connect: on Kubernetes a Service. */
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
  /** The ready pods. A new connection goes to any of them. */
  readonly endpoints: readonly {
    readonly pod: string;
    /** Run ID of the server behind this proxy. Undefined if the pod is a node and not a proxy. */
    readonly runId?: Observation<string> | undefined;
  }[];
}

/** The names at which clients connect, and what is behind each. Plain data. */
import type { Observation } from "../observation";

/** A name at which clients connect: on Kubernetes a Service. */
export interface ClientWay {
  readonly service: string;
  /** The nodes that it is to lead to. */
  readonly to: "primary" | "all";
  /** Number of proxies behind it, each of which leads to the primary. @default the nodes themselves are behind it */
  readonly proxies?: number | undefined;
}

/** A way, and what is behind it at this moment. */
export interface ClientWayFacts extends ClientWay {
  /** Pods that are ready; new connections go to any of them. */
  readonly endpoints: readonly {
    readonly pod: string;
    /** Run ID of the server that answers a login through this proxy. Undefined where the pod is a node itself */
    readonly runId?: Observation<string> | undefined;
  }[];
}

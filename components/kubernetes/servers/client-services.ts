/**
 * The Services to which clients in the Kubernetes cluster connect, and the nodes to which each of these Services
 * routes. Pure.
 */
import type { Engine } from "../../../valkey/settings/engines";
import type { Mode } from "../../../valkey/node";
import type { ClientWay } from "../../../valkey/client-endpoints";
import type { ObjectNames } from "../names";
import { PROXY_COUNT } from "../pods/sidecar-resources";

/** The properties of a deployment that decide which Services it has. */
interface ServedKind {
  /** Engine of the servers. @default "valkey" */
  readonly engine?: Engine | undefined;
  readonly mode: Mode;
  /** Settings of the Sentinels. @default no Sentinels */
  readonly sentinel?: object | undefined;
}

/**
 * Services for clients. The first Service is always the deployment's endpoint. With Sentinels, this first Service
 * routes to proxies, which forward clients to the primary.
 */
export function clientServices(
  names: ObjectNames,
  { engine = "valkey", mode, sentinel }: ServedKind,
): readonly [ClientWay, ...ClientWay[]] {
  const everyNode = { service: names.client, to: "all" } as const;
  if (mode === "cluster") return [everyNode];
  if (engine !== "valkey") return [everyNode, { service: names.primary, to: "primary" }];
  const proxies = sentinel === undefined ? {} : { proxies: PROXY_COUNT };
  return [
    { service: names.client, to: "primary", ...proxies },
    { service: names.read, to: "all" },
  ];
}

/** The Services at which clients in the Kubernetes cluster connect, and what each leads to. Pure. */
import type { Engine } from "../../../valkey/settings/engines";
import type { Mode } from "../../../valkey/node";
import type { ClientWay } from "../../../valkey/client-ways";
import type { ObjectNames } from "../names";
import { PROXY_COUNT } from "../pods/sidecar-resources";

/** The part of a deployment's kind that decides which Services there are. */
interface ServedKind {
  /** @default "valkey" */
  readonly engine?: Engine | undefined;
  readonly mode: Mode;
  /** Settings of the Sentinels. @default no Sentinels */
  readonly sentinel?: object | undefined;
}

/**
 * Services for clients; the first one is the deployment's endpoint, whatever its kind. With Sentinels it leads to proxies, which follow the
 * primary.
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

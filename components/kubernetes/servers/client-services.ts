/** Services for clients, with the nodes to which each of them routes. */
import type { Engine } from "../../../valkey/settings/engines";
import type { Mode } from "../../../valkey/node";
import type { ClientWay } from "../../../valkey/client-endpoints";
import type { ObjectNames } from "../names";
import { PROXY_COUNT } from "../pods/sidecar-resources";

interface ServedKind {
  /** Engine of the servers. @default "valkey" */
  readonly engine?: Engine | undefined;
  readonly mode: Mode;
  /** Settings of the Sentinels. @default no Sentinels */
  readonly sentinel?: object | undefined;
}

/** The first is the deployment's endpoint; with Sentinels it routes to proxies. */
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

/** The Services at which clients in the Kubernetes cluster connect, and what each leads to. Pure. */
import type { Engine } from "../../valkey/engines";
import type { Mode } from "../../valkey/node";
import type { ClientWay } from "../../valkey/verification/client-ways";
import type { ObjectNames } from "./names";
import { PROXY_COUNT } from "./pods/sidecar-resources";

/** The part of a deployment's kind that decides which Services there are. */
interface ServedKind {
  /** @default "valkey" */
  readonly engine?: Engine | undefined;
  readonly mode: Mode;
  /** Settings of the Sentinels. @default no Sentinels */
  readonly sentinel?: object | undefined;
}

/**
 * Services for clients; the first one is the deployment's endpoint. With Sentinels clients write through proxies, which follow the primary.
 */
export function clientServices(
  names: ObjectNames,
  { engine = "valkey", mode, sentinel }: ServedKind,
): readonly [ClientWay, ...ClientWay[]] {
  const everyNode = { service: names.client, to: "all" } as const;
  if (mode === "cluster") return [everyNode];
  if (engine !== "valkey") return [everyNode, { service: names.primary, to: "primary" }];
  const primary: ClientWay =
    sentinel === undefined
      ? { service: names.client, to: "primary" }
      : { service: names.writeProxy, to: "primary", proxies: PROXY_COUNT };
  return [primary, { service: names.read, to: "all" }];
}

import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { type ServerSettings, toDirectives } from "../../../valkey/settings/settings";
import type { DeploymentKind } from "../deployment-context";
import type { ExpectedTuning } from "../../../valkey/machine-settings";
import { CLIENT_PORT, SENTINEL_PORT, SERVER_CONTAINER } from "../layout";
import { clientServices } from "../servers/client-services";
import { objectNames, primaryLead } from "../names";
import { SENTINEL_PASSWORD_FILE } from "../server-config";

interface PodLocation {
  readonly namespace: string;
  readonly zones: readonly string[];
  readonly settings: ServerSettings;
  readonly tls?: { readonly secretName: string } | undefined;
  /** @default false */
  readonly external?: boolean | undefined;
  /** @default "cluster.local" */
  readonly clusterDomain?: string | undefined;
  /** @default none */
  readonly users?: Readonly<Record<string, string>> | undefined;
  /** Verification fails if a machine has different settings. @default no expectations */
  readonly tuning?: ExpectedTuning | undefined;
  /** @default false */
  readonly repaired?: boolean | undefined;
}

/** Not the deployment's name, under which servers of this project may exist from earlier. */
export const releaseName = (deployment: string): string => `${deployment}-chart`;

/** @throws BadInput when the name is not a host name */
export function podReference(
  name: string,
  kind: DeploymentKind,
  {
    namespace,
    zones,
    settings,
    tls,
    clusterDomain,
    users = {},
    tuning,
    external = false,
    repaired = false,
  }: PodLocation,
): Omit<KubernetesReference, "kubeconfig" | "context"> {
  const { engine, isUpstreamChart = false, mode, shape, sentinel } = kind;
  const names = objectNames(isUpstreamChart ? releaseName(name) : name);
  const inside = clientServices(names, kind);
  const isLed = mode === "replication" && (engine ?? "valkey") === "valkey" && !isUpstreamChart;
  // With Sentinels this Service always routes to the proxies, so its target cannot be compared with the primary.
  const outside =
    isLed && external && sentinel === undefined ? [{ service: names.external, to: "primary" as const }] : [];
  const ways = [...inside, ...outside];
  return {
    platform: "kubernetes",
    name,
    mode,
    shape,
    zones,
    // Dragonfly is configured by flags, and does not report directives.
    directives: engine === "dragonfly" ? {} : Object.fromEntries(toDirectives(settings)),
    namespace,
    statefulSet: names.statefulSet,
    // The chart gives the container the same name as the StatefulSet.
    container: isUpstreamChart ? names.statefulSet : SERVER_CONTAINER,
    port: CLIENT_PORT,
    ...(tls === undefined ? {} : { tls }),
    ...(clusterDomain === undefined ? {} : { clusterDomain }),
    ...(Object.keys(users).length === 0 ? {} : { users }),
    ...(tuning === undefined ? {} : { tuning }),
    ...(sentinel === undefined
      ? {}
      : {
          sentinel: {
            ...{ statefulSet: names.sentinel, port: SENTINEL_PORT, settings: sentinel },
            secret: { name: names.secret, key: SENTINEL_PASSWORD_FILE },
          },
        }),
    service: `${inside[0].service}.${namespace}`,
    ways,
    ...(repaired ? { lease: names.controller } : {}),
    ...(isLed ? { lead: primaryLead(name, sentinel !== undefined, external) } : {}),
  };
}

/** Arguments of a deployment as values of the upstream chart. Pure. */
import { formatConfigFile, toDirectives } from "../../valkey/settings";
import type { ServerArgs } from "./arguments";
import { objectNames } from "./names";
import { pullPolicy } from "./pods/image";
import { scheduling } from "./pods/placement";
import { PASSWORD_FILE } from "./server-config";

/** The chart `valkey` of the Valkey project. */
export const CHART_REPOSITORY = "https://valkey.io/valkey-helm/";
export const CHART_VERSION = "0.11.0";

/** Address of the chart, as Pulumi's resource takes it. */
export interface ChartAddress {
  readonly chart: string;
  readonly version?: string;
  readonly repositoryOpts?: { readonly repo: string };
}

/** The chart in a repository, in a registry or in a directory. A directory has a version of its own. */
export function chartAddress(source: string, version: string): ChartAddress {
  if (/^\.{0,2}\//.test(source)) return { chart: source };
  if (source.startsWith("oci://")) return { chart: source, version };
  return { chart: "valkey", version, repositoryOpts: { repo: source } };
}

/** Values of the chart, by key. */
export type ChartValues = Readonly<Record<string, unknown>>;

/** Arguments that the chart has values for. */
export type ChartRequest = Pick<
  ServerArgs,
  "image" | "imagePullPolicy" | "imagePullSecrets" | "settings" | "resources" | "storage" | "placement"
> & { readonly replicas: number };

/** Paths of values by which the deployment is found and verified. */
const OWN: readonly string[] = [
  "fullnameOverride",
  "nameOverride",
  "clusterDomain",
  "auth",
  "tls",
  "service.port",
  "replica.enabled",
  "replica.replicas",
];

/** Values that the deployment decides, by path. */
export function chartValueProblems(given: ChartValues): { readonly path: string; readonly reason: string }[] {
  const isGiven = (path: string): boolean =>
    path.split(".").reduce<unknown>((value, key) => asObject(value)[key], given) !== undefined;
  return OWN.filter(isGiven).map((path) => ({ path, reason: "the deployment decides it; leave it out" }));
}

/** Values for the chart: those given, and for other keys those that follow from the arguments. */
export function chartValues(name: string, request: ChartRequest, given: ChartValues): ChartValues {
  const { replicas, placement, resources, storage, settings } = request;
  const { registry, repository, tag } = imageParts(request.image);
  return {
    image: { registry, repository, tag, pullPolicy: pullPolicy(request.image, request.imagePullPolicy) },
    imagePullSecrets: [...(request.imagePullSecrets ?? [])],
    resources,
    valkeyConfig: formatConfigFile(toDirectives(settings)),
    ...scheduling(name, placement),
    ...given,
    fullnameOverride: name,
    auth: {
      enabled: true,
      usersExistingSecret: objectNames(name).secret,
      aclUsers: { default: { permissions: "~* &* +@all", passwordKey: PASSWORD_FILE } },
    },
    replica: {
      persistence: {
        size: storage.size,
        ...(storage.className === undefined ? {} : { storageClass: storage.className }),
      },
      ...asObject(given["replica"]),
      enabled: true,
      replicas,
    },
  };
}

const asObject = (value: unknown): ChartValues =>
  typeof value === "object" && value !== null ? (value as ChartValues) : {};

/** `REGISTRY/REPOSITORY:TAG[@DIGEST]`; the first part is a registry where it has a dot or a port, or is `localhost`. */
function imageParts(image: string): { registry: string; repository: string; tag: string } {
  const [, registry = "", repository = "", tag = ""] =
    /^(?:((?:[^/]*[.:][^/]*|localhost))\/)?([^:@]+):(.+)$/.exec(image) ?? [];
  return { registry, repository, tag };
}

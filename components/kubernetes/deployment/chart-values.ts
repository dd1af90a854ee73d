/** Translates the arguments of a deployment into values of the upstream chart. */
import { type Problem, problem } from "../../../lib/errors";
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/api/cluster-domain";
import { formatConfigFile, toDirectives } from "../../../valkey/settings/settings";
import type { ServerArgs } from "../arguments";
import { objectNames } from "../names";
import { pullPolicy } from "../pods/pod-basics";
import { scheduling } from "../pods/placement";
import { PASSWORD_FILE } from "../server-config";

/** The chart `valkey` of the Valkey project. */
export const CHART_REPOSITORY = "https://valkey.io/valkey-helm/";
export const CHART_VERSION = "0.11.0";

export interface ChartAddress {
  readonly chart: string;
  readonly version?: string;
  readonly repositoryOpts?: { readonly repo: string };
}

/** For a directory the version is ignored. */
export function chartAddress(source: string, version: string): ChartAddress {
  if (isDirectory(source)) return { chart: source };
  if (source.startsWith("oci://")) return { chart: source, version };
  return { chart: "valkey", version, repositoryOpts: { repo: source } };
}

const isDirectory = (source: string): boolean => /^\.{0,2}\//.test(source);

export const installedChart = (source: string, version: string): string => (isDirectory(source) ? source : version);

export function sourceProblem(source: string): string | undefined {
  if (isDirectory(source) || /^(https?|oci):\/\/./.test(source)) return undefined;
  return `it is "${source}"; expected https://…, oci://… or a directory that begins with ./ or /`;
}

export function versionProblem(version: string): string | undefined {
  return /^\d+\.\d+\.\d+$/.test(version)
    ? undefined
    : `it is "${version}"; expected an exact version, such as ${CHART_VERSION}`;
}

/** Values of the chart, by key. */
export type ChartValues = Readonly<Record<string, unknown>>;

type ChartRequest = Pick<
  ServerArgs,
  | "image"
  | "imagePullPolicy"
  | "imagePullSecrets"
  | "settings"
  | "resources"
  | "storage"
  | "placement"
  | "clusterDomain"
> & { readonly replicas: number };

/** Paths of chart values that only the component sets, because it finds and verifies the deployment by these values. */
const OWN: readonly string[] = [
  "fullnameOverride",
  "nameOverride",
  "clusterDomain",
  "image",
  "resources",
  "valkeyConfig",
  "auth",
  "tls",
  "service.port",
  "replica.enabled",
  "replica.replicas",
  "replica.replicationUser",
  "replica.service",
];

export function chartValueProblems(given: ChartValues): Problem[] {
  const isGiven = (path: string): boolean =>
    path.split(".").reduce<unknown>((value, key) => asObject(value)[key], given) !== undefined;
  return OWN.filter(isGiven).map((path) =>
    problem("value-of-deployment", path, "the deployment sets this value itself; leave it out"),
  );
}

/** @param release name of the chart's release and objects */
export function chartValues(release: string, request: ChartRequest, given: ChartValues): ChartValues {
  const { replicas, placement, resources, storage, settings, clusterDomain = CLUSTER_DOMAIN } = request;
  const replica = asObject(given["replica"]);
  const { registry, repository, tag } = imageParts(request.image);
  return {
    image: { registry, repository, tag, pullPolicy: pullPolicy(request.image, request.imagePullPolicy) },
    imagePullSecrets: [...(request.imagePullSecrets ?? [])],
    resources,
    clusterDomain,
    valkeyConfig: formatConfigFile(toDirectives(settings)),
    ...scheduling(release, placement),
    ...given,
    // This name is fixed, because pods are spread by labels that contain it. The chart itself may have any name.
    nameOverride: "valkey",
    fullnameOverride: release,
    auth: {
      enabled: true,
      usersExistingSecret: objectNames(release).secret,
      aclUsers: { default: { permissions: "~* &* +@all", passwordKey: PASSWORD_FILE } },
    },
    replica: {
      ...replica,
      persistence: {
        size: storage.size,
        ...(storage.className === undefined ? {} : { storageClass: storage.className }),
        ...asObject(replica["persistence"]),
      },
      enabled: true,
      replicas,
    },
  };
}

const asObject = (value: unknown): ChartValues =>
  typeof value === "object" && value !== null ? (value as ChartValues) : {};

/** The part before the first slash is a registry if it contains a dot or a port, or is `localhost`. */
function imageParts(image: string): { registry: string; repository: string; tag: string } {
  const [, registry = "", repository = "", tag = ""] =
    /^(?:((?:[^/]*[.:][^/]*|localhost))\/)?([^:@]+):(.+)$/.exec(image) ?? [];
  return { registry, repository, tag };
}

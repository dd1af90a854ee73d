/** The Valkey project's own Helm chart in replication mode, for comparisons. */
import * as pulumi from "@pulumi/pulumi";
import { compact } from "../lib/compact";
import { BadInput, problem, within } from "../lib/errors";
import { DeploymentVerification } from "../operations/provider/resources";
import { survivalWarning } from "../valkey/planning/survival";
import { type ComparedParts, ComparedDeployment } from "./kubernetes/deployment/compared-deployment";
import type { DeploymentArgs } from "./kubernetes/arguments";
import { DEFAULT_IMAGE } from "../platforms/kubernetes/default-images";
import { DEFAULT_RESOURCES, DEFAULT_TIMEOUT_SECONDS, serverArgs } from "./kubernetes/deployment/deployment-args";
import type { ChartAddress, ChartValues } from "./kubernetes/deployment/chart-values";
import {
  CHART_REPOSITORY,
  CHART_VERSION,
  chartAddress,
  chartValueProblems,
  chartValues,
  sourceProblem,
  versionProblem,
} from "./kubernetes/deployment/chart-values";
import { checkedSettings } from "./kubernetes/deployment/checked-settings";
import { deploymentSurvivals } from "./kubernetes/deployment/survival";
import { plannedReference } from "./kubernetes/deployment/resource-inputs";
import { deploymentPassword } from "./kubernetes/deployment/deployment-password";
import * as k8s from "./kubernetes/kubernetes-sdk";
import { objectNames } from "./kubernetes/names";
import { serviceEndpoint } from "./kubernetes/pods/server-pods";
import { releaseName } from "./kubernetes/deployment/reference";
import { checksum } from "../lib/checksum";
import { PASSWORD_FILE } from "./kubernetes/server-config";

const LIMITS =
  "this project runs the upstream chart without failover and without TLS. Clients cannot write while an update restarts the primary, and a crash of the " +
  "primary can leave all servers without data. The password and the volumes cannot be changed";

const OWN_ARGUMENTS = ["replicas", "version", "source", "values"];

/** Arguments that become values of the chart, or that verification needs. */
type ChartArguments =
  | "namespace"
  | "kubeconfig"
  | "context"
  | "zones"
  | "placement"
  | "image"
  | "imagePullPolicy"
  | "imagePullSecrets"
  | "settings"
  | "newerDirectives"
  | "oversubscribed"
  | "resources"
  | "clusterDomain"
  | "tuning"
  | "timeoutSeconds"
  | "trigger";

/** Volume of each server. */
export interface ChartStorage {
  /** Name of a storage class. @default the Kubernetes cluster's default class */
  readonly className?: pulumi.Input<string> | undefined;
  /** Size as a Kubernetes quantity, such as `"20Gi"`. @default "8Gi" */
  readonly size?: pulumi.Input<string>;
}

export interface UpstreamChartArgs extends Pick<DeploymentArgs, ChartArguments> {
  /**
   * Number of replicas of the one primary, at least 1. Without replicas the chart creates a Kubernetes Deployment,
   * which verification does not support.
   */
  readonly replicas: number;
  /** Exact version of the chart. @default `CHART_VERSION` */
  readonly version?: string | undefined;
  /**
   * Source of the chart: the URL of a repository that has a chart named `valkey`, an address that begins with `oci://`,
   * or a directory. For a directory, `version` is ignored, because the directory contains the version.
   * @default "https://valkey.io/valkey-helm/"
   */
  readonly source?: string | undefined;
  /**
   * Password of the user `default`, at least 16 characters. Secret. It must not change.
   * @default 48 hexadecimal digits, made once and kept in the state
   */
  readonly password?: pulumi.Input<string> | undefined;
  /**
   * Volume of each server. It must not change, and it is kept when the chart is removed.
   * @default 8Gi in the default class
   */
  readonly storage?: ChartStorage | undefined;
  /**
   * Values of the chart. They override the values that the component derives from other arguments. Values that only the
   * component may set are refused: `auth`, `tls`, `clusterDomain`, `image`, `resources`, `valkeyConfig`,
   * `fullnameOverride`, `nameOverride`, `service.port`, `replica.enabled`, `replica.replicas`, `replica.service` and
   * `replica.replicationUser`.
   * @default the values that the component derives from other arguments
   */
  readonly values?: ChartValues | undefined;
}

/**
 * A primary with its replicas, deployed by the unchanged Helm chart of the Valkey project and then verified. The
 * chart's objects are named `NAME-chart`. The deployment has no failover and no TLS. A change restarts the pods, and
 * clients cannot write until the primary is back. After a crash the primary may start without data; its replicas then
 * copy the empty data set, so all data is lost.
 *
 * @example
 * const upstream = new UpstreamChart("upstream", { replicas: 2, zones: ["us-west-2a", "us-west-2b", "us-west-2c"] });
 * export const endpoint = upstream.endpoint;
 */
export class UpstreamChart extends ComparedDeployment {
  /** @throws BadInput when the name is not a host name, or arguments, settings or values are refused */
  constructor(name: string, args: UpstreamChartArgs, options?: pulumi.ComponentResourceOptions) {
    // A program without a type checker may give no arguments.
    const given = { ...args };
    const { version = CHART_VERSION, source = CHART_REPOSITORY } = given;
    const chart = chartAddress(source, version);
    // Pulumi policies do not see the inputs of a chart, so the chart is also an input of this component.
    super("valkey:index:UpstreamChart", name, { charts: [chart] }, options, (parent) => {
      refuseProblems(name, { ...given, version, source });
      return createParts(name, given, chart, parent);
    });
  }
}

function refuseProblems(name: string, { replicas, version, source, values = {} }: UpstreamChartArgs): void {
  const problems = compact([
    Number.isInteger(replicas) && replicas > 0
      ? undefined
      : problem("chart-without-replicas", "replicas", `it is ${replicas}; expected at least 1`),
    ...Object.entries({ version: versionProblem(version ?? ""), source: sourceProblem(source ?? "") }).map(
      ([key, why]) => (why === undefined ? undefined : problem(`chart-${key}`, key, why)),
    ),
    ...within("values", chartValueProblems(values)),
  ]);
  if (problems.length > 0) throw new BadInput(name, problems);
}

function createParts(
  name: string,
  args: UpstreamChartArgs,
  chart: ChartAddress,
  parent: pulumi.Resource,
): ComparedParts {
  const { replicas, image = DEFAULT_IMAGE, resources = DEFAULT_RESOURCES, values: given = {} } = args;
  const { timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, trigger = 0 } = args;
  const shape = { primaries: 1, replicasPerPrimary: replicas };
  const kind = { mode: "replication", shape, isUpstreamChart: true } as const;
  const { settings, derived } = checkedSettings(name, kind, { ...args, image, resources }, { own: OWN_ARGUMENTS });
  for (const each of [LIMITS, ...derived]) void pulumi.log.info(each, parent);
  const password = deploymentPassword(name, args, parent);
  const own = serverArgs(name, { ...args, image, settings, controller: false }, password);
  const warning = survivalWarning(deploymentSurvivals(kind, own));
  if (warning !== undefined) void pulumi.log.warn(`${name}: ${warning}`, parent);

  const release = releaseName(name);
  const names = objectNames(release);
  const { namespace } = own;
  const secret = new k8s.core.v1.Secret(
    names.secret,
    { metadata: { name: names.secret, namespace }, stringData: { [PASSWORD_FILE]: password } },
    { parent },
  );
  const values = chartValues(release, { ...own, replicas }, given);
  const servers = new k8s.helmV4.Chart(
    name,
    { name: release, namespace, ...chart, values },
    { parent, dependsOn: [secret] },
  );
  const endpoint = serviceEndpoint(names.client, { deployment: release, names, args: own, options: { parent } });
  const planned = plannedReference(name, kind, own, args);
  const target = pulumi.all([planned, endpoint]).apply(([known, service]) => ({ ...known, service }));
  // Changed values restart pods, so they are part of the revision.
  const revision = pulumi.output(values).apply((each) => checksum(JSON.stringify([chart, each])));
  const formationMs = pulumi.output(null);
  const check = new DeploymentVerification(
    name,
    { target, password, formationMs, revision, timeoutSeconds, trigger },
    { parent, dependsOn: [servers] },
  );
  return { endpoint, password, formationMs, reference: target, check };
}

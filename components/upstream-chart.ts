/** The Valkey project's own chart in replication mode, verified, to compare with. */
import * as pulumi from "@pulumi/pulumi";
import type { TopologyRecord } from "../benchmarks/results/schema";
import { BadInput } from "../lib/errors";
import type { KubernetesReference } from "../platforms/deployment-reference";
import { survivalWarning } from "../valkey/survival/survival";
import { TopologyCheck } from "../provider/resources";
import type { DeploymentArgs } from "./deployment-args";
import { DEFAULT_IMAGE, DEFAULT_RESOURCES, DEFAULT_TIMEOUT_SECONDS, serverArgs } from "./deployment-args";
import type { Storage } from "./kubernetes/arguments";
import type { ChartValues } from "./kubernetes/chart-values";
import {
  CHART_REPOSITORY,
  CHART_VERSION,
  chartAddress,
  chartValueProblems,
  chartValues,
  sourceProblem,
  versionProblem,
} from "./kubernetes/chart-values";
import { checkedSettings } from "./kubernetes/deployment/checked-settings";
import { deploymentSurvivals } from "./kubernetes/deployment/survival";
import { plannedReference } from "./kubernetes/deployment/resource-inputs";
import { wantedPassword } from "./kubernetes/deployment/wanted-password";
import * as k8s from "./kubernetes/kubernetes-sdk";
import { objectNames } from "./kubernetes/names";
import { requireTag } from "./kubernetes/pods/image";
import { releaseName } from "./kubernetes/reference";
import { checksum, PASSWORD_FILE } from "./kubernetes/server-config";

/** Arguments that the chart has values for, or that verify. */
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
  | "tuning"
  | "timeoutSeconds"
  | "trigger";

const NOT_DONE =
  "the upstream chart has no failover and no TLS here: a change restarts its primary while clients cannot write, a crash can empty it, and its " +
  "password and its volumes must not change";

export interface UpstreamChartArgs extends Pick<DeploymentArgs, ChartArguments> {
  /** Number of replicas of the one primary, at least 1. Without replicas the chart makes a Deployment, which is not verified. */
  readonly replicas: number;
  /** Exact version of the chart. @default `CHART_VERSION` */
  readonly version?: string | undefined;
  /**
   * Address of the chart: a repository that has it as `valkey`, such as a mirror, an address with `oci://`, or a directory, whose version
   * is its own.
   * @default "https://valkey.io/valkey-helm/"
   */
  readonly source?: string | undefined;
  /** Password of the user `default`, at least 16 characters. Secret. It must not change. @default 48 hexadecimal digits, made once and kept in the state */
  readonly password?: pulumi.Input<string> | undefined;
  /** Volume of each server. It must not change, and stays when the chart is removed. @default 8Gi in the default class */
  readonly storage?: Partial<Pick<Storage, "className" | "size">> | undefined;
  /**
   * Values of the chart. They override those that follow from other arguments. The component sets `auth`, `tls`, `clusterDomain`, `image`,
   * `resources`, `valkeyConfig`, `fullnameOverride`, `nameOverride`, `service.port`, and of `replica` `enabled`, `replicas`, `service` and
   * `replicationUser`; it refuses them here.
   * @default those that follow from other arguments
   */
  readonly values?: ChartValues | undefined;
}

/**
 * Replication by the Helm chart of the Valkey project, unchanged, and verified. Its objects are named `NAME-chart`. It has no failover and no
 * TLS here. A change restarts its pods, and clients cannot write meanwhile. After a crash the primary may start without data, and replicas
 * copy that.
 *
 * @example
 * const upstream = new UpstreamChart("upstream", { replicas: 2, zones: ["us-west-2a", "us-west-2b", "us-west-2c"] });
 * export const endpoint = upstream.endpoint;
 */
export class UpstreamChart extends pulumi.ComponentResource {
  /** `HOST:PORT` of the primary for clients in the Kubernetes cluster. */
  readonly endpoint: pulumi.Output<string>;
  /** Password of the user `default`. Secret. */
  readonly password: pulumi.Output<string>;
  /** Result of the last verification, with every row of the verdict. */
  readonly topology: pulumi.Output<TopologyRecord>;
  /** Time of the last verification, ISO 8601. */
  readonly verifiedAt: pulumi.Output<string>;
  /** Null: replication forms without help. */
  readonly formationMs: pulumi.Output<number | null>;
  /** Reference by which load generators and the command `verify` reach the deployment. Not secret. */
  readonly reference: pulumi.Output<KubernetesReference>;

  /** @throws BadInput when the name is not a host name, or arguments, settings or values are refused */
  constructor(name: string, args: UpstreamChartArgs, options?: pulumi.ComponentResourceOptions) {
    const { version = CHART_VERSION, source = CHART_REPOSITORY, values: given = {} } = args;
    const { replicas, image = DEFAULT_IMAGE, resources = DEFAULT_RESOURCES } = args;
    const chart = chartAddress(source, version);
    // Policies do not see the inputs of a chart, so the chart is an input of this component.
    super("valkey:index:UpstreamChart", name, { charts: [chart] }, options);
    const { timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, trigger = 0 } = args;
    const release = releaseName(name);
    const names = objectNames(release);
    requireTag(image);
    const problems = chartValueProblems(given).map(({ path, reason }) => `values.${path}: ${reason}`);
    for (const [key, problem] of [
      ["source", sourceProblem(source)],
      ["version", versionProblem(version)],
    ] as const)
      if (problem !== undefined) problems.push(`${key}: ${problem}`);
    if (!Number.isInteger(replicas) || replicas < 1) problems.push(`replicas: it is ${replicas}; expected at least 1`);
    if (problems.length > 0) throw new BadInput(name, problems);
    const kind = { mode: "replication", shape: { primaries: 1, replicasPerPrimary: replicas }, chart: true } as const;
    const { settings, derived } = checkedSettings(name, kind, { ...args, image, resources });
    for (const each of [NOT_DONE, ...derived]) void pulumi.log.info(each, this);

    const password = wantedPassword(name, args, this);
    const own = serverArgs(name, { ...args, image, settings }, password);
    const warning = survivalWarning(deploymentSurvivals(kind, own));
    if (warning !== undefined) void pulumi.log.warn(`${name}: ${warning}`, this);
    const { namespace } = own;
    const inside = { parent: this };
    const secret = new k8s.core.v1.Secret(
      names.secret,
      { metadata: { name: names.secret, namespace }, stringData: { [PASSWORD_FILE]: password } },
      inside,
    );
    const values = chartValues(release, { ...own, replicas }, given);
    const servers = new k8s.helmV4.Chart(
      name,
      { name: release, namespace, ...chart, values },
      { ...inside, dependsOn: [secret] },
    );
    const endpoint = pulumi.interpolate`${names.client}.${namespace}.svc.cluster.local:6379`;
    const planned = plannedReference(name, kind, own, args);
    const target = pulumi.all([planned, endpoint]).apply(([known, service]) => ({ ...known, service }));
    // Other values restart pods.
    const revision = pulumi.output(values).apply((each) => checksum(JSON.stringify([chart, each])));
    const check = new TopologyCheck(
      name,
      { target, password, formationMs: null, revision, timeoutSeconds, trigger },
      { ...inside, dependsOn: [servers] },
    );
    this.endpoint = endpoint;
    this.password = password;
    this.formationMs = pulumi.output(null);
    this.reference = target;
    this.topology = check.topology;
    this.verifiedAt = check.verifiedAt;
    const { topology } = this;
    this.registerOutputs({ endpoint, password, topology });
  }
}

/** The Valkey project's own chart in replication mode, verified, to compare with. */
import * as pulumi from "@pulumi/pulumi";
import type { TopologyRecord } from "../benchmarks/results/schema";
import { BadInput } from "../lib/errors";
import type { KubernetesReference } from "../platforms/deployment-reference";
import { TopologyCheck } from "../provider/resources";
import type { DeploymentArgs } from "./deployment-args";
import { DEFAULT_IMAGE, DEFAULT_RESOURCES, DEFAULT_TIMEOUT_SECONDS, serverArgs } from "./deployment-args";
import type { ChartValues } from "./kubernetes/chart-values";
import {
  CHART_REPOSITORY,
  CHART_VERSION,
  chartAddress,
  chartValueProblems,
  chartValues,
} from "./kubernetes/chart-values";
import { checkedSettings } from "./kubernetes/deployment/checked-settings";
import { plannedReference } from "./kubernetes/deployment/resource-inputs";
import { wantedPassword } from "./kubernetes/deployment/wanted-password";
import * as k8s from "./kubernetes/kubernetes-sdk";
import { objectNames } from "./kubernetes/names";
import { requireTag } from "./kubernetes/pods/image";
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
  | "storage"
  | "password"
  | "tuning"
  | "timeoutSeconds"
  | "trigger";

const NOT_DONE =
  "the upstream chart has no failover; a change restarts its primary while clients cannot write; it takes no new password and no larger volume";

export interface UpstreamChartArgs extends Pick<DeploymentArgs, ChartArguments> {
  /** Number of replicas of the one primary, at least 1: the chart without replicas is another program. */
  readonly replicas: number;
  /** Exact version of the chart. @default `CHART_VERSION` */
  readonly version?: string | undefined;
  /**
   * Address of the chart: a repository that has it as `valkey`, such as a mirror, an address with `oci://`, or a directory, whose version
   * is its own.
   * @default "https://valkey.io/valkey-helm/"
   */
  readonly source?: string | undefined;
  /**
   * Values of the chart. They come before those that follow from the other arguments; `auth`, `tls`, `clusterDomain`,
   * `fullnameOverride`, `nameOverride`, `service.port`, `replica.enabled` and `replica.replicas` are the component's.
   * @default those that follow from the other arguments
   */
  readonly values?: ChartValues | undefined;
}

/**
 * Replication by the Valkey project's own Helm chart as it comes, verified. It has no failover and no TLS; a change restarts its pods with
 * writes refused meanwhile, a crash of its primary can empty it, and another password or a larger volume is not taken.
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
    const names = objectNames(name);
    requireTag(image);
    const problems = chartValueProblems(given).map(({ path, reason }) => `values.${path}: ${reason}`);
    if (!Number.isInteger(replicas) || replicas < 1) problems.push(`replicas: it is ${replicas}; expected at least 1`);
    if (problems.length > 0) throw new BadInput(name, problems);
    const kind = { mode: "replication", shape: { primaries: 1, replicasPerPrimary: replicas }, chart: true } as const;
    const { settings, derived } = checkedSettings(name, kind, { ...args, image, resources });
    for (const each of [NOT_DONE, ...derived]) void pulumi.log.info(each, this);

    const password = wantedPassword(name, args, this);
    const own = serverArgs(name, { ...args, image, settings }, password);
    const { namespace } = own;
    const inside = { parent: this };
    const secret = new k8s.core.v1.Secret(
      names.secret,
      { metadata: { name: names.secret, namespace }, stringData: { [PASSWORD_FILE]: password } },
      inside,
    );
    const values = chartValues(name, { ...own, replicas }, given);
    const servers = new k8s.helmV4.Chart(
      name,
      { name, namespace, ...chart, values },
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

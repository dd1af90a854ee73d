import * as pulumi from "@pulumi/pulumi";
import type { TopologyRecord } from "../valkey/verification/topology-record";
import { compact } from "../lib/compact";
import type { KubernetesReference } from "../platforms/deployment-reference";
import { connectionUrl } from "../valkey/connection-url";
import type { RestoreResult } from "../backup/restoring/filling/fill-result";
import type { Survival } from "../valkey/planning/survival";
import type { DeploymentArgs } from "./kubernetes/arguments";
import type { ServerArgs } from "./kubernetes/arguments";
import { type Servers, checkArguments, DeploymentSteps } from "./kubernetes/deployment/deployment-steps";
import * as k8s from "./kubernetes/kubernetes-sdk";
import type { DeploymentKind } from "./kubernetes/deployment-context";

export abstract class KubernetesDeployment extends pulumi.ComponentResource {
  /** `HOST:PORT` for clients in the Kubernetes cluster. */
  readonly endpoint: pulumi.Output<string>;
  /**
   * URL of `endpoint` with user and password: `redis://default:PASSWORD@HOST:PORT`, or `rediss://…` with TLS. Secret.
   */
  readonly url: pulumi.Output<string>;
  /**
   * `HOST:PORT` for clients outside the Kubernetes cluster. In cluster mode, the list has one entry for each node. In
   * replication mode, the first entry is for the primary, and the second entry is for all nodes. Empty without
   * `external`.
   */
  protected readonly externalEndpoints: pulumi.Output<readonly string[]>;
  /** URL for clients outside the Kubernetes cluster; undefined without `external`. Secret. */
  readonly externalUrl: pulumi.Output<string | undefined>;
  /** Password of the user `default`. Secret. */
  readonly password: pulumi.Output<string>;
  /** Certificate of the authority that issued the servers' certificate, PEM; undefined without TLS. */
  readonly caCertificate: pulumi.Output<string | undefined>;
  /** Result of the last verification, with every assertion of the verdict. */
  readonly topology: pulumi.Output<TopologyRecord>;
  /** Time of the last verification, ISO 8601. */
  readonly verifiedAt: pulumi.Output<string>;
  /**
   * Duration of the formation, milliseconds: from the moment when all pods run until the cluster serves all slots. Null
   * in replication mode, which has no formation step.
   */
  readonly formationMs: pulumi.Output<number | null>;
  /** Result of the restore from `restoreFrom`: its times and numbers of keys; undefined without `restoreFrom`. */
  readonly restored: pulumi.Output<RestoreResult | undefined>;
  /** For each kind of failure: the data that can be lost, and the time during which clients cannot write. */
  readonly survives: pulumi.Output<readonly Survival[]>;
  /** Reference by which load generators and the command `verify` reach the deployment. Not secret. */
  readonly reference: pulumi.Output<KubernetesReference>;

  /**
   * @param createServers declares the servers as children of this component; the servers wait for `options.dependsOn`
   */
  constructor(
    type: string,
    name: string,
    kind: DeploymentKind,
    given: DeploymentArgs,
    options: pulumi.ComponentResourceOptions | undefined,
    createServers: (args: ServerArgs, options: pulumi.ComponentResourceOptions) => Servers,
  ) {
    super(type, name, {}, options);
    const steps = new DeploymentSteps(checkArguments({ name, kind, args: given, parent: this }));
    const survives = steps.survival();
    const archive = steps.checkArchive();
    const preparation = steps.prepare(archive);
    const servers = createServers(steps.servers, { parent: this, dependsOn: [preparation] });
    const running = steps.rollOut(servers);
    const formation = steps.form(running, preparation);
    this.formationMs = formation.cluster.milliseconds;
    const filled = steps.fill(running, archive, formation);
    const check = steps.verify(running, this.formationMs, compact([formation, filled]));
    steps.control(running, check);
    steps.archive(running, check);

    this.password = steps.password;
    this.survives = pulumi.output(survives);
    this.restored = filled?.restored ?? pulumi.output(undefined);
    // Clients must not find a deployment that is not filled yet.
    this.endpoint = pulumi.all([servers.endpoint, this.restored]).apply(([endpoint]) => endpoint);
    this.reference = running.inputs.target;
    this.topology = check.topology;
    this.verifiedAt = check.verifiedAt;
    const { tls } = steps.servers;
    const urlAt = ([secret, at]: readonly [string, string]): string =>
      connectionUrl({ endpoint: at, password: secret, tls: tls !== undefined });
    this.url = pulumi.secret(pulumi.all([this.password, this.endpoint]).apply(urlAt));
    this.externalEndpoints = (given.external && running.rollout.addresses.endpoints) ?? pulumi.output([]);
    this.externalUrl = pulumi.secret(
      pulumi
        .all([this.password, this.externalEndpoints])
        .apply(([secret, [first]]) => (first === undefined ? undefined : urlAt([secret, first]))),
    );
    this.caCertificate =
      tls === undefined ? pulumi.output(undefined) : authorityOf(name, preparation.certificate.secret, this);
    const { endpoint, url, password, caCertificate, topology } = this;
    this.registerOutputs({ endpoint, url, password, caCertificate, topology, survives });
  }

  /** The deployment's Valkey nodes, as the last verification found them. */
  get nodes(): pulumi.Output<TopologyRecord["nodes"]> {
    return this.topology.nodes;
  }
}

/** @param secret ID of the Secret with the certificate; not known before this Secret exists */
function authorityOf(
  name: string,
  secret: pulumi.Output<string | null>,
  parent: pulumi.Resource,
): pulumi.Output<string> {
  const id = secret.apply((known) => known ?? "");
  const { data } = k8s.core.v1.Secret.get(`${name}-tls`, id, { parent });
  // A certificate is not secret, and clients need its plain text.
  return pulumi.unsecret(data).apply((files) => Buffer.from(files["ca.crt"] ?? "", "base64").toString());
}

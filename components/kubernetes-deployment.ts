/** Base of all deployments on Kubernetes: from nothing to servers that are formed and verified. */
import * as pulumi from "@pulumi/pulumi";
import type { KubernetesReference } from "../platforms/deployment-reference";
import type { TopologyRecord } from "../benchmarks/results/schema";
import { connectionUrl } from "../valkey/connection-url";
import {
  Access,
  ExternalAddresses,
  Formation,
  ImageCheck,
  Maxmemory,
  PasswordRetirement,
  Rollout,
  ScaleIn,
  Settings,
  TlsCheck,
  TopologyCheck,
  Volumes,
} from "../provider/resources";
import { memoryDirectives } from "../valkey/live-settings";
import type { Survival } from "../valkey/survival/survival";
import { survivalWarning } from "../valkey/survival/survival";
import type { DeploymentArgs } from "./deployment-args";
import {
  DEFAULT_IMAGE,
  DEFAULT_OVERLAP_SECONDS,
  DEFAULT_RESOURCES,
  DEFAULT_TIMEOUT_SECONDS,
  serverArgs,
} from "./deployment-args";
import type { ServerArgs } from "./kubernetes/arguments";
import { certificateHosts, createCertificate } from "./kubernetes/certificate";
import { checkedSettings } from "./kubernetes/checked-settings";
import { createConfig } from "./kubernetes/files";
import { checkExternal, externalServices } from "./kubernetes/external-services";
import * as k8s from "./kubernetes/kubernetes-sdk";
import { METRICS_PORT } from "./kubernetes/layout";
import { objectNames } from "./kubernetes/names";
import { requireTag } from "./kubernetes/pods/image";
import { imageCheckPod } from "./kubernetes/pods/image-check-pod";
import { deploymentSurvivals } from "./kubernetes/survival";
import { wantedPassword } from "./kubernetes/wanted-password";
import type { DeploymentKind } from "./kubernetes/reference";
import { plannedReference, storageRequest } from "./kubernetes/resource-inputs";

/** The servers of a deployment: one of `components/servers`. */
interface Servers extends pulumi.Resource {
  readonly revision: pulumi.Output<string>;
  readonly endpoint: pulumi.Output<string>;
}

export abstract class KubernetesDeployment extends pulumi.ComponentResource {
  /** `HOST:PORT` for clients in the Kubernetes cluster. */
  readonly endpoint: pulumi.Output<string>;
  /** The same with scheme, user and password: `redis://default:PASSWORD@HOST:PORT`, `rediss://` with TLS. Secret. */
  readonly url: pulumi.Output<string>;
  /** `HOST:PORT` for clients outside; of a cluster each node's, else the primary's and that of all nodes. */
  protected readonly externalEndpoints: pulumi.Output<readonly string[]>;
  /** URL for clients outside the Kubernetes cluster; undefined without `external`. Secret. */
  readonly externalUrl: pulumi.Output<string | undefined>;
  /** Password of the user `default`. Secret. */
  readonly password: pulumi.Output<string>;
  /** The certificate of the authority, PEM; undefined without TLS. */
  readonly caCertificate: pulumi.Output<string | undefined>;
  /** Result of the last verification, with every row of the verdict. */
  readonly topology: pulumi.Output<TopologyRecord>;
  /** Time of the last verification, ISO 8601. */
  readonly verifiedAt: pulumi.Output<string>;
  /** Time from running pods to a cluster that serves, milliseconds; null if servers form without help. */
  readonly formationMs: pulumi.Output<number | null>;
  /** Losses and the time without writes, for each event that can happen. */
  readonly survives: pulumi.Output<readonly Survival[]>;
  /** Reference by which load generators and the command `verify` reach the deployment. Not secret. */
  readonly reference: pulumi.Output<KubernetesReference>;

  /** @param createServers declares the servers: children of this component that wait for `options.dependsOn` */
  constructor(
    type: string,
    name: string,
    kind: DeploymentKind,
    given: DeploymentArgs,
    options: pulumi.ComponentResourceOptions | undefined,
    createServers: (args: ServerArgs, options: pulumi.ComponentResourceOptions) => Servers,
  ) {
    super(type, name, {}, options);
    checkExternal(name, kind, given.external);
    const { image = DEFAULT_IMAGE, resources = DEFAULT_RESOURCES } = given;
    requireTag(image);
    const { settings: allSettings, derived } = checkedSettings(name, kind, { ...given, image, resources });
    for (const each of derived) void pulumi.log.info(each, this);
    const args = { ...given, settings: allSettings };
    const { timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, trigger = 0 } = args;
    const inside = { parent: this };
    const wanted = wantedPassword(name, args, this);
    // A preview knows it, and so does what must happen before the servers change.
    const planned = plannedReference(name, kind, serverArgs(name, args, wanted), args);
    const overlapSeconds = args.passwordOverlapSeconds ?? DEFAULT_OVERLAP_SECONDS;
    const access = new Access(
      name,
      {
        ...{ target: planned, password: wanted, overlapSeconds, timeoutSeconds },
        users: args.users === undefined ? {} : pulumi.secret(args.users),
      },
      inside,
    );
    // What follows has passwords and users when all nodes accept them.
    const password = pulumi.secret(access.password);
    const users = access.users;
    this.password = password;
    const own = serverArgs(name, { ...args, users }, password);
    const survives = deploymentSurvivals(kind, own);
    const warning = survivalWarning(survives);
    if (warning !== undefined) void pulumi.log.warn(`${name}: ${warning}`, this);
    this.survives = pulumi.output(survives);
    const pod = pulumi.output(imageCheckPod({ deployment: name, names: objectNames(name), args: own, options: {} }));
    // Before anything changes.
    const imageCheck = new ImageCheck(
      name,
      { target: planned, password, timeoutSeconds, image: own.image, pod },
      inside,
    );
    const tlsCheck = createTlsCheck(name, kind, planned, own, args, this);
    const checked = { ...inside, dependsOn: [imageCheck, tlsCheck] };
    const scaleIn = new ScaleIn(name, { target: planned, password, timeoutSeconds }, checked);
    const memoryLimit = own.resources.limits.memory;
    // Before the servers' files change: what a server refuses is not written.
    const settings = new Settings(name, { target: planned, password, memoryLimit, timeoutSeconds }, checked);
    const storage = storageRequest(own);
    const volumes = new Volumes(
      name,
      { target: planned, storage, timeoutSeconds },
      { ...inside, dependsOn: [scaleIn, settings] },
    );
    const servers = createServers(own, { ...inside, dependsOn: [volumes] });
    this.endpoint = servers.endpoint;
    this.reference = pulumi.all([planned, servers.endpoint]).apply(([known, service]) => ({ ...known, service }));
    const target = this.reference;
    const { revision } = servers;
    const rollout = new Rollout(
      name,
      { target, password, revision, storage, timeoutSeconds },
      { ...inside, dependsOn: [servers] },
    );
    const running = { ...inside, dependsOn: [rollout] };
    // Servers take more memory when their pods have it.
    const maxmemory = createMaxmemory(name, { target: planned, password, memoryLimit, timeoutSeconds }, running);
    const outside = createExternalAddresses(name, kind, { target, password, revision }, own, timeoutSeconds, running);
    const retirement = new PasswordRetirement(
      name,
      {
        ...{ target, password, users, overlapSeconds, timeoutSeconds },
        changedAt: access.changedAt,
        exporterPort: args.metrics === undefined ? null : METRICS_PORT,
      },
      running,
    );
    // Servers in replication mode find their primary by themselves.
    this.formationMs =
      kind.mode === "cluster"
        ? new Formation(
            name,
            { target, password, emptiedAt: scaleIn.emptiedAt, timeoutSeconds },
            { ...inside, dependsOn: [rollout, maxmemory, ...outside] },
          ).milliseconds
        : pulumi.output(null);
    const check = new TopologyCheck(
      name,
      {
        ...{ target, password, formationMs: this.formationMs, revision, timeoutSeconds, trigger },
        rolledOutAt: rollout.rolledOutAt,
      },
      { ...inside, dependsOn: [rollout, maxmemory, retirement] },
    );
    this.topology = check.topology;
    this.verifiedAt = check.verifiedAt;
    const urlAt = ([secret, at]: readonly [string, string]): string =>
      connectionUrl({ endpoint: at, password: secret, tls: own.tls !== undefined });
    this.url = pulumi.secret(pulumi.all([password, servers.endpoint]).apply(urlAt));
    this.externalEndpoints = (args.external && outside[0]?.endpoints) ?? pulumi.output([]);
    this.externalUrl = pulumi.secret(
      pulumi
        .all([password, this.externalEndpoints])
        .apply(([secret, [first]]) => (first === undefined ? undefined : urlAt([secret, first]))),
    );
    this.caCertificate = own.tls === undefined ? pulumi.output(undefined) : authorityOf(name, tlsCheck.secret, this);
    const { endpoint, url, caCertificate, topology } = this;
    this.registerOutputs({ endpoint, url, password, caCertificate, topology, survives });
  }

  /** The nodes as they were when the deployment was verified. */
  get nodes(): pulumi.Output<TopologyRecord["nodes"]> {
    return this.topology.nodes;
  }
}

function createMaxmemory(
  name: string,
  inputs: {
    readonly target: pulumi.Output<KubernetesReference>;
    readonly password: pulumi.Output<string>;
    readonly memoryLimit: pulumi.Input<string>;
    readonly timeoutSeconds: number;
  },
  options: pulumi.CustomResourceOptions,
): InstanceType<typeof Maxmemory> {
  const directives = inputs.target.apply(({ directives }) => memoryDirectives(directives));
  return new Maxmemory(name, { ...inputs, directives }, options);
}

/** Creates the resource for every cluster, so that nodes forget external addresses when nobody outside connects any more. */
function createExternalAddresses(
  name: string,
  kind: DeploymentKind,
  inputs: {
    readonly target: pulumi.Output<KubernetesReference>;
    readonly password: pulumi.Output<string>;
    readonly revision: pulumi.Output<string>;
  },
  args: ServerArgs,
  timeoutSeconds: number,
  options: pulumi.CustomResourceOptions & { readonly parent: pulumi.Resource },
): InstanceType<typeof ExternalAddresses>[] {
  const { mode } = kind;
  if (mode === "replication" && args.external === undefined) return [];
  const external = args.external && { type: args.external.type, services: [...externalServices(name, kind)] };
  const { image } = args;
  const addresses = new ExternalAddresses(
    name,
    { ...inputs, external: external ?? null, image, timeoutSeconds },
    options,
  );
  if (mode === "cluster" && external !== undefined) {
    const context = { deployment: name, names: objectNames(name), args, options: { parent: options.parent } };
    createConfig(context, context.names.announced, addresses.files);
  }
  return [addresses];
}

function createTlsCheck(
  name: string,
  kind: DeploymentKind,
  target: pulumi.Output<KubernetesReference>,
  own: ServerArgs,
  { tls, allowDowntime = false, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS }: DeploymentArgs,
  parent: pulumi.Resource,
): InstanceType<typeof TlsCheck> {
  const certificate =
    tls?.issuer === undefined || own.tls === undefined
      ? []
      : [createCertificate(name, own, own.tls.secretName, tls.issuer, parent)];
  const request =
    own.tls === undefined
      ? undefined
      : pulumi.output({ secretName: own.tls.secretName, hosts: certificateHosts(name, kind, own) });
  const keepsData = target.apply(
    ({ directives: { appendonly, save } }) =>
      own.storage.ephemeral !== true && (appendonly === "yes" || (save ?? "default") !== ""),
  );
  return new TlsCheck(
    name,
    { target, tls: request, allowDowntime, keepsData, timeoutSeconds },
    { parent, dependsOn: certificate },
  );
}

/** @param secret known when it exists */
function authorityOf(
  name: string,
  secret: pulumi.Output<string | null>,
  parent: pulumi.Resource,
): pulumi.Output<string> {
  const id = secret.apply((known) => known ?? "");
  const { data } = k8s.core.v1.Secret.get(`${name}-tls`, id, { parent });
  // A certificate is no secret, and clients need it as it is.
  return pulumi.unsecret(data).apply((files) => Buffer.from(files["ca.crt"] ?? "", "base64").toString());
}

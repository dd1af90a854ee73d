/** Each step declares resources with their dependencies; `KubernetesDeployment` calls the steps in order. */
import { DEFAULT_IMAGE } from "../../../platforms/kubernetes/default-images";
import * as pulumi from "@pulumi/pulumi";
import { compact } from "../../../lib/compact";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import {
  Access,
  ArchiveCheck,
  DeploymentVerification,
  Formation,
  Password,
  Preparation,
  Restore,
  Rollout,
} from "../../../operations/provider/resources";
import { VALKEY_FIELDS } from "../../../model/deployment";
import { withNeededReplicas } from "../../../valkey/planning/derived-settings";
import type { Mode } from "../../../valkey/node";
import { type Survival, survivalWarning } from "../../../valkey/planning/survival";
import { controllerOf, DEFAULT_RESOURCES, DEFAULT_TIMEOUT_SECONDS, keepsData, serverArgs } from "./deployment-args";
import type { DeploymentArgs, ServerArgs } from "../arguments";
import { certificateHosts, createCertificate } from "./certificate";
import { checkedSettings } from "./checked-settings";
import { externalServices, reachProblems } from "../servers/external-services";
import { archiveProblems, createArchive } from "../archive/archive";
import { type ControlledKind, controllerProblems } from "../controller/controller-problems";
import { createController } from "../controller/controller";
import { type RestorePods, createRestorePods } from "../restoring/restore";
import { restoreProblems } from "../restoring/restore-problems";
import { createConfig } from "../files";
import { METRICS_PORT } from "../layout";
import { objectNames } from "../names";
import { imageCheckPod } from "../pods/image-check-pod";
import type { DeploymentKind } from "../deployment-context";
import { createDrill } from "../restoring/drill";
import { plannedReference, storageRequest } from "./resource-inputs";
import { deploymentSurvivals } from "./survival";
import { deploymentPassword } from "./deployment-password";

/** The servers of a deployment: a component of `components/kubernetes/servers`. */
export interface Servers extends pulumi.Resource {
  readonly revision: pulumi.Output<string>;
  readonly endpoint: pulumi.Output<string>;
}

const DEFAULT_RESTORE_SECONDS = 86_400;

interface Request {
  readonly name: string;
  readonly kind: DeploymentKind;
  readonly args: DeploymentArgs;
  readonly parent: pulumi.Resource;
}

const OWN_ARGUMENTS: Readonly<Record<Mode, readonly string[]>> = {
  cluster: ["shape"],
  replication: ["replicas", "maxLagSeconds", "failoverNodeSelectors", "sentinel"],
};

/** @throws BadInput with every problem */
export function checkArguments({ name, kind, args: given, parent }: Request): Request {
  const { image = DEFAULT_IMAGE, resources = DEFAULT_RESOURCES, external, backup, restoreFrom } = given;
  const controller = controllerOf(given);
  const others = {
    external: () => (external === undefined ? [] : reachProblems(name, kind, external)),
    controller: () => (controller === undefined ? [] : controllerProblems(controller, controlledKind(kind, given))),
    backup: () => (backup === undefined ? [] : archiveProblems(name, backup)),
    restoreFrom: () => (restoreFrom === undefined ? [] : restoreProblems(restoreFrom, backup)),
  };
  const own = OWN_ARGUMENTS[kind.mode];
  const { settings, derived } = checkedSettings(name, kind, { ...given, image, resources }, { own, others });
  for (const each of derived) void pulumi.log.info(each, parent);
  const { replicasPerPrimary } = kind.shape;
  return { name, kind, args: { ...given, settings: withNeededReplicas(settings, replicasPerPrimary) }, parent };
}

function controlledKind({ mode, shape }: DeploymentKind, args: DeploymentArgs): ControlledKind {
  return { mode, replicasPerPrimary: shape.replicasPerPrimary, keepsData: keepsData(args) };
}

interface ReachedServers {
  readonly target: pulumi.Output<KubernetesReference>;
  readonly password: pulumi.Output<string>;
  readonly timeoutSeconds: number;
}

export class DeploymentSteps {
  /** The reference is known before the servers exist, so a preview knows it as well. */
  readonly #planned: pulumi.Output<KubernetesReference>;
  readonly #access: InstanceType<typeof Access>;
  /** Arguments of the servers, with passwords and users that all running servers accept. */
  readonly servers: ServerArgs;
  readonly password: pulumi.Output<string>;
  readonly #timeoutSeconds: number;
  readonly #overlapSeconds: number;

  /** Declares the passwords and users first. Later steps use them, so all nodes must already accept them. */
  constructor(private readonly request: Request) {
    const { name, kind, args, parent } = request;
    this.#timeoutSeconds = args.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS;
    this.#overlapSeconds = VALKEY_FIELDS.passwordOverlapSeconds.parse(args.passwordOverlapSeconds);
    const wanted = deploymentPassword(name, args, parent);
    const sentinelPassword =
      kind.sentinel && new Password(`${name}-sentinel`, { version: args.passwordVersion ?? 0 }, { parent }).password;
    this.#planned = plannedReference(name, kind, serverArgs(name, args, wanted), args);
    this.#access = new Access(
      name,
      {
        ...{ target: this.#planned, password: wanted, timeoutSeconds: this.#timeoutSeconds },
        overlapSeconds: this.#overlapSeconds,
        users: args.users === undefined ? {} : pulumi.secret(args.users),
        ...(sentinelPassword && { sentinelPassword: pulumi.secret(sentinelPassword) }),
      },
      { parent },
    );
    this.password = pulumi.secret(this.#access.password);
    // A step that depends on `Access`: every Sentinel accepts a new password before pods get it.
    const accepted = sentinelPassword && pulumi.secret(this.#access.sentinelPassword.apply((text) => text ?? ""));
    this.servers = {
      ...serverArgs(name, { ...args, users: this.#access.users }, this.password),
      sentinelPassword: accepted,
    };
  }

  /** Computes the consequences of each kind of failure, and logs a warning if a kind of failure loses all data. */
  survival(): readonly Survival[] {
    const { name, kind, parent } = this.request;
    const survives = deploymentSurvivals(kind, this.servers);
    const warning = survivalWarning(survives);
    if (warning !== undefined) void pulumi.log.warn(`${name}: ${warning}`, parent);
    return survives;
  }

  /** For `restoreFrom`: the servers are created after this check. @returns the check, and the pods of the restore */
  checkArchive(): CheckedArchive | undefined {
    const { name, kind, parent } = this.request;
    const { restoreFrom } = this.servers;
    if (restoreFrom === undefined) return undefined;
    const context = { deployment: name, names: objectNames(name), args: this.servers, options: { parent } };
    const pods = createRestorePods(context, this.#planned, kind.mode, restoreFrom);
    const { labels, source, dependsOn } = pods;
    const inputs = { target: this.#planned, source, labels, timeoutSeconds: this.#timeoutSeconds };
    const check = new ArchiveCheck(name, { ...inputs, pod: pulumi.output(pods.check) }, this.#after([...dependsOn]));
    const { timeoutSeconds: restoreSeconds = DEFAULT_RESTORE_SECONDS } = restoreFrom;
    return { check, pods, restoreSeconds };
  }

  /** Checks everything, and then changes what running servers accept, before objects change. */
  prepare(archive: CheckedArchive | undefined): InstanceType<typeof Preparation> {
    const { name, kind, args, parent } = this.request;
    const own = this.servers;
    const { tls, image } = own;
    const issuer = args.tls?.issuer;
    const certificate =
      issuer === undefined || tls === undefined ? [] : [createCertificate(name, own, tls.secretName, issuer, parent)];
    const pod = pulumi.output(imageCheckPod({ deployment: name, names: objectNames(name), args: own, options: {} }));
    const { allowDowntime = false } = args;
    return new Preparation(
      name,
      {
        ...{ ...this.#before(), image, pod, allowDowntime, keepsData: keepsData(own) },
        tls: tls && pulumi.output({ secretName: tls.secretName, hosts: certificateHosts(name, kind, own) }),
        ...{ memoryLimit: this.#memoryLimit, storage: storageRequest(own) },
      },
      this.#after(compact([...certificate, archive?.check])),
    );
  }

  /**
   * Declares the servers, and waits until all pods are as declared. With `external`, each node of a cluster announces its
   * external address.
   */
  rollOut(servers: Servers): RunningSteps {
    const { name, kind, parent } = this.request;
    const target = pulumi.all([this.#planned, servers.endpoint]).apply(([known, service]) => ({ ...known, service }));
    const inputs = { target, password: this.password, timeoutSeconds: this.#timeoutSeconds };
    const { revision } = servers;
    const { external, image } = this.servers;
    const rollout = new Rollout(
      name,
      {
        ...{ ...inputs, revision, image, storage: storageRequest(this.servers), memoryLimit: this.#memoryLimit },
        ...(external && { external: { type: external.type, services: [...externalServices(name, kind)] } }),
      },
      this.#after([servers]),
    );
    if (kind.mode === "cluster" && external !== undefined) {
      const context = { deployment: name, names: objectNames(name), args: this.servers, options: { parent } };
      createConfig(context, context.names.announced, rollout.addresses.files);
    }
    return { revision, rollout, inputs };
  }

  /** Also takes former passwords away, when pods and clients have had enough time to switch to the new ones. */
  form(
    { inputs, rollout }: RunningSteps,
    preparation: InstanceType<typeof Preparation>,
  ): InstanceType<typeof Formation> {
    const { changedAt, users, sentinelPassword } = this.#access;
    const { name, kind } = this.request;
    return new Formation(
      name,
      {
        ...{ ...inputs, users, overlapSeconds: this.#overlapSeconds, changedAt },
        ...(this.servers.metrics && { exporterPort: METRICS_PORT }),
        ...(kind.sentinel && { sentinelPassword }),
        emptiedAt: preparation.nodes.emptiedAt,
      },
      this.#after([rollout]),
    );
  }

  /** Waits for the formation. @returns the result of the restore; undefined without an archive */
  fill(
    { inputs }: RunningSteps,
    archive: CheckedArchive | undefined,
    formation: InstanceType<typeof Formation>,
  ): InstanceType<typeof Restore> | undefined {
    if (archive === undefined) return undefined;
    const { pods, restoreSeconds } = archive;
    const { fill, labels, source, dependsOn } = pods;
    return new Restore(
      this.request.name,
      {
        ...inputs,
        source,
        pod: pulumi.output(fill),
        labels,
        restoreSeconds,
        formationMs: formation.cluster.milliseconds,
      },
      this.#after([formation, ...dependsOn]),
    );
  }

  verify(
    { inputs, revision, rollout }: RunningSteps,
    formationMs: pulumi.Output<number | null>,
    after: pulumi.Resource[],
  ): InstanceType<typeof DeploymentVerification> {
    const { name, args } = this.request;
    const { rolledOutAt } = rollout.pods;
    const { trigger = 0 } = args;
    return new DeploymentVerification(
      name,
      { ...inputs, formationMs, revision, trigger, rolledOutAt },
      this.#after(after),
    );
  }

  /** The controller starts after the deployment has passed verification. */
  control({ inputs }: RunningSteps, verified: pulumi.Resource): void {
    const { name, parent } = this.request;
    const { controller } = this.servers;
    if (controller === undefined) return;
    const options = { parent, dependsOn: [verified] };
    const context = { deployment: name, names: objectNames(name), args: this.servers, options };
    createController(context, inputs.target, controller);
  }

  /** The pod starts after the deployment has passed verification. */
  archive({ inputs }: RunningSteps, verified: pulumi.Resource): void {
    const { name, kind, parent } = this.request;
    const { backup } = this.servers;
    if (backup === undefined) return;
    const options = { parent, dependsOn: [verified] };
    const context = { deployment: name, names: objectNames(name), args: this.servers, options };
    const access = createArchive(context, kind, inputs.target, backup);
    if (backup.drill !== undefined) createDrill(context, backup.drill, backup, access);
  }

  get #memoryLimit(): pulumi.Input<string> {
    return this.servers.resources.limits.memory;
  }

  /** Inputs of resources that change servers before the servers' Kubernetes objects change. */
  #before(): ReachedServers {
    return { target: this.#planned, password: this.password, timeoutSeconds: this.#timeoutSeconds };
  }

  #after(resources: pulumi.Resource[] = []): pulumi.CustomResourceOptions {
    return { parent: this.request.parent, dependsOn: resources };
  }
}

interface CheckedArchive {
  readonly check: pulumi.Resource;
  readonly pods: RestorePods;
  readonly restoreSeconds: number;
}

interface RunningSteps {
  readonly revision: pulumi.Output<string>;
  readonly rollout: InstanceType<typeof Rollout>;
  readonly inputs: ReachedServers;
}

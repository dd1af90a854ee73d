/** Other engines and the upstream chart are created and verified, without the further steps of Valkey's components. */
import * as pulumi from "@pulumi/pulumi";
import type { TopologyRecord } from "../../../valkey/verification/topology-record";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import type { DeploymentVerification } from "../../../operations/provider/resources";

/** Parts of a deployment that become outputs of the component. */
export interface ComparedParts extends Pick<ComparedDeployment, "endpoint" | "password" | "formationMs" | "reference"> {
  readonly check: InstanceType<typeof DeploymentVerification>;
}

export abstract class ComparedDeployment extends pulumi.ComponentResource {
  /** `HOST:PORT` for clients in the Kubernetes cluster. */
  readonly endpoint: pulumi.Output<string>;
  /** Password of the user `default`. Secret. */
  readonly password: pulumi.Output<string>;
  /** Result of the last verification, with every assertion of the verdict. */
  readonly topology: pulumi.Output<TopologyRecord>;
  /** Time of the last verification, ISO 8601. */
  readonly verifiedAt: pulumi.Output<string>;
  /**
   * Duration of the formation, milliseconds: from the moment when all pods run until the cluster serves all slots. Null
   * in replication mode.
   */
  readonly formationMs: pulumi.Output<number | null>;
  /** Reference by which load generators and the command `verify` reach the deployment. Not secret. */
  readonly reference: pulumi.Output<KubernetesReference>;

  /** @param create declares all resources of the deployment, as children of this component */
  protected constructor(
    type: string,
    name: string,
    inputs: pulumi.Inputs,
    options: pulumi.ComponentResourceOptions | undefined,
    create: (parent: pulumi.Resource) => ComparedParts,
  ) {
    super(type, name, inputs, options);
    const { endpoint, password, formationMs, reference, check } = create(this);
    this.endpoint = endpoint;
    this.password = password;
    this.formationMs = formationMs;
    this.reference = reference;
    this.topology = check.topology;
    this.verifiedAt = check.verifiedAt;
    const { topology } = check;
    this.registerOutputs({ endpoint, password, topology });
  }
}

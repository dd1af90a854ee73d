/** What a platform hands to the program. */
import type { DeploymentReference } from "../../platforms/deployment-reference";
import type * as pulumi from "@pulumi/pulumi";
import type { DeploymentConfig } from "../config/schema/deployments";

/** What a platform makes of a deployment: servers that run, not yet formed. */
export interface StartedDeployment {
  readonly name: string;
  readonly config: DeploymentConfig;
  readonly target: pulumi.Output<DeploymentReference>;
  readonly password: pulumi.Output<string>;
  /** Changes when servers restart; null where they are replaced instead. */
  readonly revision: pulumi.Output<string | null>;
  /** Formation waits for these. */
  readonly dependsOn: readonly pulumi.Resource[];
  /** Replication that a chart brings up finds its primary without help. */
  readonly formsWithoutHelp: boolean;
}

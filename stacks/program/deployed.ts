/** The result of a platform for the program. */
import type { DeploymentReference } from "../../platforms/deployment-reference";
import type * as pulumi from "@pulumi/pulumi";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { PlatformConfig } from "../config/schema/platform";

/** What a platform started. */
export interface Started {
  readonly deployments: readonly StartedDeployment[];
  /** The platform with images under the names by which its machines pull them. */
  readonly platform: PlatformConfig;
}

/** A deployment whose servers run, not yet formed. */
export interface StartedDeployment {
  readonly name: string;
  readonly config: DeploymentConfig;
  readonly target: pulumi.Output<DeploymentReference>;
  readonly password: pulumi.Output<string>;
  /** Changes when servers restart; null where they are replaced instead. */
  readonly revision: pulumi.Output<string | null>;
  /** Resources that formation waits for. */
  readonly dependsOn: readonly pulumi.Resource[];
  /** Whether the servers find their primary by themselves, as those of a chart do. */
  readonly formsWithoutHelp: boolean;
}

/** The result of a platform for the program. */
import type * as pulumi from "@pulumi/pulumi";
import type { TopologyRecord } from "../../../valkey/verification/topology-record";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import type { PlatformConfig } from "../../config/schema/platform";

/** Deployment that a platform made. */
export interface Deployed {
  readonly deployments: readonly ProgramDeployment[];
  /** The platform with images under the names by which its machines pull them. */
  readonly platform: PlatformConfig;
}

/** A deployment that serves and is verified. What depends on `component` waits for that. */
export interface ProgramDeployment {
  readonly name: string;
  /** Passwords of users beside `default`, by name. Secret. @default no such users */
  readonly userPasswords?: Readonly<Record<string, pulumi.Output<string>>> | undefined;
  readonly component: pulumi.Resource & {
    readonly reference: pulumi.Output<DeploymentReference>;
    readonly password: pulumi.Output<string>;
    /** Secret; undefined where nobody outside the Kubernetes cluster connects. @default nobody does */
    readonly externalUrl?: pulumi.Output<string | undefined>;
    readonly formationMs: pulumi.Output<number | null>;
    readonly topology: pulumi.Output<TopologyRecord>;
    readonly verifiedAt: pulumi.Output<string>;
  };
}

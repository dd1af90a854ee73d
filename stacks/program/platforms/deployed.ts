import type * as pulumi from "@pulumi/pulumi";
import type { TopologyRecord } from "../../../valkey/verification/topology-record";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import type { RestoreResult } from "../../../backup/restoring/filling/fill-result";
import type { PlatformConfig } from "../../config/schema/platform";

export interface Deployed {
  readonly deployments: readonly ProgramDeployment[];
  /** Its images have the names under which its machines pull them. */
  readonly platform: PlatformConfig;
  readonly backupBucket?: pulumi.Output<string | undefined> | undefined;
}

/** Resources that depend on `component` are created after the deployment has passed verification. */
export interface ProgramDeployment {
  readonly name: string;
  /** Passwords of users other than `default`, by name of the user. Secret. @default no such users */
  readonly userPasswords?: Readonly<Record<string, pulumi.Output<string>>> | undefined;
  readonly component: pulumi.Resource & {
    readonly reference: pulumi.Output<DeploymentReference>;
    readonly password: pulumi.Output<string>;
    /** For clients outside the Kubernetes cluster. Secret. @default no such clients */
    readonly externalUrl?: pulumi.Output<string | undefined>;
    /** Result of the restore from an archive; undefined without `restoreFrom`. @default no restore */
    readonly restored?: pulumi.Output<RestoreResult | undefined> | undefined;
    readonly formationMs: pulumi.Output<number | null>;
    readonly topology: pulumi.Output<TopologyRecord>;
    readonly verifiedAt: pulumi.Output<string>;
  };
}

/** The deployment's secret: who may log in, in the form that each reader needs. */
import * as k8s from "./kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { DeploymentContext } from "./deployment-context";
import { objectMetadata } from "./deployment-context";
import type { SecretFiles } from "./server-config";

/**
 * Encrypted in the state whether or not the given password is marked as secret.
 */
export function createSecret(context: DeploymentContext, files: SecretFiles): k8s.core.v1.Secret {
  const { names, args, options } = context;
  const credentials = pulumi.secret(pulumi.output({ password: args.password, users: args.users ?? {} }));
  return new k8s.core.v1.Secret(
    names.secret,
    {
      metadata: objectMetadata(context, names.secret),
      stringData: Object.fromEntries(Object.entries(files).map(([name, text]) => [name, credentials.apply(text)])),
    },
    options,
  );
}

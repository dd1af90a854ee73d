/** The deployment's secret: its password in the form that each reader needs. */
import * as k8s from "./kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { DeploymentContext } from "./deployment-context";
import { objectMetadata } from "./deployment-context";

/**
 * Encrypted in the state whether or not the given password is marked as secret.
 * @param files by name, each made of the password
 */
export function createSecret(
  context: DeploymentContext,
  files: Readonly<Record<string, (password: string) => string>>,
): k8s.core.v1.Secret {
  const { names, args, options } = context;
  const password = pulumi.secret(args.password);
  return new k8s.core.v1.Secret(
    names.secret,
    {
      metadata: objectMetadata(context, names.secret),
      stringData: Object.fromEntries(Object.entries(files).map(([name, text]) => [name, password.apply(text)])),
    },
    options,
  );
}

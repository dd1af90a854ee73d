/**
 * Pulumi's Kubernetes provider deletes and recreates an object whose data changes, and pods that start meanwhile would
 * wait, or keep waiting if the update is interrupted. So the object is created empty, and a patch resource changes the
 * data in place by server-side apply.
 */
import * as pulumi from "@pulumi/pulumi";
import { type DeploymentContext, objectMetadata } from "./deployment-context";
import * as k8s from "./kubernetes-sdk";
import type { SecretFiles } from "./server-config";

type Files = pulumi.Input<Readonly<Record<string, pulumi.Input<string>>>>;

/** @returns the resource on which other resources depend. This resource is complete when the files exist */
export function createConfigMap(
  name: string,
  metadata: FileMetadata,
  files: Files,
  options: pulumi.CustomResourceOptions,
): k8s.core.v1.ConfigMapPatch {
  const object = new k8s.core.v1.ConfigMap(name, { metadata }, options);
  return new k8s.core.v1.ConfigMapPatch(name, { metadata: patched(metadata), data: files }, after(object, options));
}

/** @returns the resource on which other resources depend. This resource is complete when the files exist */
export function createConfig(context: DeploymentContext, name: string, files: Files): k8s.core.v1.ConfigMapPatch {
  return createConfigMap(name, objectMetadata(context, name), files, context.options);
}

/** Pulumi encrypts this in the state, also if the password is not marked as secret. @returns as `createConfig` */
export function createSecret(context: DeploymentContext, files: SecretFiles): k8s.core.v1.SecretPatch {
  const { names, args } = context;
  const { password, users = {}, sentinelPassword } = args;
  const credentials = pulumi.secret(pulumi.output({ password, users, sentinelPassword }));
  const texts = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, credentials.apply(text)]));
  return createSecretFiles(context, names.secret, texts);
}

/** @param files text of each file, by name, as secret outputs @returns as `createConfigMap` */
export function createSecretFiles(
  context: DeploymentContext,
  name: string,
  files: Readonly<Record<string, pulumi.Output<string>>>,
): k8s.core.v1.SecretPatch {
  const { options } = context;
  const metadata = objectMetadata(context, name);
  const object = new k8s.core.v1.Secret(name, { metadata }, options);
  return new k8s.core.v1.SecretPatch(
    name,
    { metadata: patched(metadata), stringData: { ...files } },
    after(object, options),
  );
}

type FileMetadata = k8s.types.input.meta.v1.ObjectMeta & { readonly name: pulumi.Input<string> };

/** An annotation lets the patch take over fields that other programs have changed. */
const patched = (metadata: FileMetadata): k8s.types.input.meta.v1.ObjectMetaPatch => ({
  ...metadata,
  annotations: pulumi.output(metadata.annotations ?? {}).apply((own) => ({ ...own, "pulumi.com/patchForce": "true" })),
});

function after(object: pulumi.Resource, options: pulumi.CustomResourceOptions): pulumi.CustomResourceOptions {
  return pulumi.mergeOptions(options, { dependsOn: [object] });
}

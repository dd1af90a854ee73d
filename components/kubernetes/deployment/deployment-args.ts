/** Defaults of the arguments of a deployment on Kubernetes. */
import * as pulumi from "@pulumi/pulumi";
import { DEFAULT_IMAGE } from "../../../platforms/kubernetes/default-images";
import { writesToDisk } from "../../../valkey/settings/settings";
import { canonicalQuantity } from "../../../platforms/kubernetes/api/quantity";
import { tlsSecretName } from "../names";
import type { ControllerArgs, DeploymentArgs, Resources, ServerArgs } from "../arguments";

export const DEFAULT_TIMEOUT_SECONDS = 600;
export const DEFAULT_RESOURCES: Resources = {
  requests: { cpu: "500m", memory: "1Gi" },
  limits: { cpu: "2", memory: "1Gi" },
};

export function serverArgs(name: string, args: DeploymentArgs, password: pulumi.Input<string>): ServerArgs {
  const { namespace = "default", zones, placement, image = DEFAULT_IMAGE, settings = {}, resources, storage } = args;
  return {
    ...args,
    namespace,
    image,
    password,
    settings,
    resources: resources ?? DEFAULT_RESOURCES,
    storage: { onDestroy: "delete", ...storage, size: canonicalSize(storage?.size ?? "8Gi") },
    placement: { hostAntiAffinity: "preferred", ...placement, zones },
    controller: controllerOf(args),
    tls: args.tls === undefined ? undefined : { secretName: tlsSecretName(name, args.tls) },
  };
}

export function controllerOf({ controller = true }: Pick<DeploymentArgs, "controller">): ControllerArgs | undefined {
  if (controller === false) return undefined;
  return controller === true ? {} : controller;
}

/** Whether a server that restarts has data on its volume: an append-only file or a snapshot. */
export function keepsData({ settings = {}, storage }: Pick<DeploymentArgs, "settings" | "storage">): boolean {
  return storage?.ephemeral !== true && writesToDisk(settings);
}

/** The size in a canonical form, because a different text for the same size must not change the StatefulSet. */
function canonicalSize(size: pulumi.Input<string>): pulumi.Input<string> {
  return typeof size === "string" ? canonicalQuantity(size) : pulumi.output(size).apply(canonicalQuantity);
}

/** Inputs that are known before the deployment's servers exist. */
import * as pulumi from "@pulumi/pulumi";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import type { StorageRequest } from "../../../operations/changes/volume-refusals";
import { rulesOf } from "../../../valkey/access/users";
import type { ExpectedTuning } from "../../../valkey/machine-settings";
import type { ServerArgs, UserArgs } from "../arguments";
import { DATA_VOLUME } from "../layout";
import { hasVolumes } from "../pods/pod-volumes";
import type { DeploymentKind } from "../deployment-context";
import { podReference } from "./reference";

interface ReferenceAccess {
  readonly kubeconfig?: pulumi.Input<string> | undefined;
  readonly context?: string | undefined;
  readonly tuning?: ExpectedTuning | undefined;
}

/** It is known before the deployment's servers exist. */
export function plannedReference(
  name: string,
  kind: DeploymentKind,
  { namespace, settings, placement: { zones }, tls, clusterDomain, users, external: reach, controller }: ServerArgs,
  { kubeconfig, context, tuning }: ReferenceAccess,
): pulumi.Output<KubernetesReference> {
  const external = reach !== undefined;
  return pulumi.all([namespace, kubeconfig, plainRules(users)]).apply(([where, access, rules]) => ({
    ...podReference(name, kind, {
      namespace: where,
      zones,
      settings,
      tls,
      clusterDomain,
      users: rules,
      tuning,
      external,
      repaired: controller !== undefined && controller.repair !== false,
    }),
    kubeconfig: access,
    context,
  }));
}

/** Rules are not secret, so a preview knows them even if a password is not known yet. */
function plainRules(users: UserArgs = {}): pulumi.Output<Record<string, string>> {
  if (pulumi.Output.isInstance(users) || users instanceof Promise)
    return pulumi.unsecret(pulumi.output(users).apply((each) => rulesOf({ users: each })));
  return pulumi.output(Object.fromEntries(Object.entries(users).map(([name, { rules }]) => [name, rules])));
}

export function storageRequest({
  engine,
  storage,
}: Pick<ServerArgs, "engine" | "storage">): pulumi.Output<StorageRequest> {
  const { className, size, onDestroy } = storage;
  return pulumi.output({
    template: DATA_VOLUME,
    ephemeral: !hasVolumes({ engine, storage }),
    className,
    size,
    onDestroy,
  });
}

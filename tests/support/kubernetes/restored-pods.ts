/** A deployment of pods that a pod fills from an archive, as the component declares it. */
import type { Problem } from "../../../lib/errors";
import * as pulumi from "@pulumi/pulumi";
import { objectNames, restoreLabels } from "../../../components/kubernetes/names";
import type { RestoreFromArgs } from "../../../components/kubernetes/backup-arguments";
import { createRestorePods } from "../../../components/kubernetes/restoring/restore";
import type { ArchiveCheckInputs } from "../../../operations/handlers/restoring/archive-check";
import { type RestoreInputs, handler } from "../../../operations/handlers/restoring/restore";
import type { HandlerContext } from "../../../operations/protocol/resource-handler";
import type { RestoreResult } from "../../../backup/restoring/filling/fill-result";
import { HANDLER_CONTEXT } from "../pulumi/handler-context";
import type { DeployedPods } from "./deployed-pods";
import { renderObjects } from "./kubernetes-objects";
import { plainServers } from "./server-args";

interface RestoreResources {
  readonly check: ArchiveCheckInputs;
  readonly fill: RestoreInputs;
}

/**
 * Inputs of the resources of a restore. The objects that its pods need exist.
 * @param name the deployment to restore into. @default the deployment of the pods
 */
export async function restoreResources(
  { here, password, ...pods }: DeployedPods,
  restoreFrom: RestoreFromArgs,
  name = pods.target.name,
): Promise<RestoreResources> {
  const target = { ...pods.target, name, statefulSet: name };
  const { namespace, zones } = target;
  const context = {
    deployment: name,
    names: objectNames(name),
    args: {
      ...{ ...plainServers, namespace, imagePullPolicy: "IfNotPresent" as const, restoreFrom },
      ...{ tls: target.tls, placement: { zones, hostAntiAffinity: "preferred" as const } },
    },
    options: {},
  };
  let made: { readonly check: object; readonly fill: object; readonly source: string } | undefined;
  const objects = await renderObjects(() => {
    const { check, fill, source } = createRestorePods(context, target, target.mode, restoreFrom);
    pulumi.output({ check, fill, source }).apply((known) => (made = known as typeof made));
  });
  await here.apply(objects);
  if (made === undefined) throw new Error("there is no pod");
  const { check, fill, source } = made;
  const shared = { target, source, labels: restoreLabels(name), timeoutSeconds: 60 };
  return {
    check: { ...shared, pod: check },
    fill: { ...shared, pod: fill, password, restoreSeconds: 180, formationMs: 0 },
  };
}

export async function problemsBefore(inputs: RestoreInputs): Promise<readonly Problem[]> {
  return (await handler.check?.(undefined, inputs, HANDLER_CONTEXT)) ?? [];
}

export async function fillPods(
  inputs: RestoreInputs,
  context: HandlerContext = HANDLER_CONTEXT,
): Promise<RestoreResult> {
  return (await handler.create(inputs, context)).outputs.restored;
}

/** A deployment of pods that a pod fills from an archive, as the component declares it. */
import * as pulumi from "@pulumi/pulumi";
import { objectNames, restoreLabels } from "../../../components/kubernetes/names";
import type { RestoreFromArgs } from "../../../components/kubernetes/restore-arguments";
import { createRestorePod } from "../../../components/kubernetes/restoring/restore";
import type { RestoreInputs } from "../../../provider/handlers/restore";
import { handler } from "../../../provider/handlers/restore";
import type { HandlerContext } from "../../../provider/protocol/resource-handler";
import type { RestoreResult } from "../../../valkey/restoring/filling/fill-result";
import { HANDLER_CONTEXT } from "../pulumi/handler-context";
import type { DeployedPods } from "./deployed-pods";
import { renderObjects } from "./kubernetes-objects";
import { plainServers } from "./server-args";

/** Inputs of the resource that fills the deployment. The objects that its pod needs exist. */
export async function restoreInputs(pods: DeployedPods, restoreFrom: RestoreFromArgs): Promise<RestoreInputs> {
  const { target, here, password } = pods;
  const { name, namespace, zones } = target;
  const context = {
    deployment: name,
    names: objectNames(name),
    args: {
      ...{ ...plainServers, namespace, imagePullPolicy: "IfNotPresent" as const, restoreFrom },
      ...{ tls: target.tls, placement: { zones, hostAntiAffinity: "preferred" as const } },
    },
    options: {},
  };
  let made: { readonly spec: object; readonly source: string } | undefined;
  const objects = await renderObjects(() => {
    const { spec, source } = createRestorePod(context, target, target.mode, restoreFrom);
    pulumi.output({ spec, source }).apply((known) => (made = known as typeof made));
  });
  await here.apply(objects);
  if (made === undefined) throw new Error("there is no pod");
  return {
    ...{ target, password, pod: made.spec, source: made.source },
    labels: restoreLabels(name),
    ...{ timeoutSeconds: 60, restoreSeconds: 180, formationMs: 0 },
  };
}

/** Fills the deployment. @returns its result */
export async function fillPods(
  inputs: RestoreInputs,
  context: HandlerContext = HANDLER_CONTEXT,
): Promise<RestoreResult> {
  return (await handler.create(inputs, context)).outputs.restored;
}

/** How pods of the upstream chart stop, for which it has no values. */
import type { types } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { Failure } from "../../../lib/errors";
import { GROWN_BY_VOLUMES, HAND_OVER_SECONDS, TERMINATION_GRACE_SECONDS } from "../layout";
import { scriptCommand } from "../scripts";

/** Additions to a pod's specification and to its server's container. */
export interface PodLifecycle {
  readonly pod: Pick<types.input.core.v1.PodSpec, "terminationGracePeriodSeconds">;
  readonly server: Pick<types.input.core.v1.Container, "lifecycle">;
}

/** @param isWatched by Sentinels, so that a replica can take over */
export function podLifecycle(isWatched: boolean): PodLifecycle {
  const command = scriptCommand("hand-over-replication.sh", String(HAND_OVER_SECONDS));
  return {
    pod: { terminationGracePeriodSeconds: TERMINATION_GRACE_SECONDS },
    server: isWatched ? { lifecycle: { preStop: { exec: { command } } } } : {},
  };
}

/**
 * Changes the chart's StatefulSet. Of its containers the first is the server's; its command becomes arguments of the
 * image's entry point, which loads the modules of valkey-bundle.
 */
export function completeStatefulSet(isWatched: boolean): pulumi.ResourceTransform {
  const lifecycle = podLifecycle(isWatched);
  const complete = (spec: types.output.apps.v1.StatefulSetSpec): unknown => {
    const { template } = spec;
    const { containers, ...rest } = template.spec;
    const [server, ...others] = containers;
    if (server === undefined) throw new Failure("the chart's StatefulSet has no container");
    const started = { ...server, ...lifecycle.server, command: undefined, args: commandLine(server) };
    return {
      ...spec,
      template: { ...template, spec: { ...rest, ...lifecycle.pod, containers: [started, ...others] } },
    };
  };
  return ({ type, props, opts }) =>
    type === "kubernetes:apps/v1:StatefulSet"
      ? {
          props: { ...props, spec: pulumi.output(props["spec"]).apply(complete) },
          opts: pulumi.mergeOptions(opts, { ignoreChanges: GROWN_BY_VOLUMES }),
        }
      : undefined;
}

/** A chart of one's own may leave either to the image. */
function commandLine({ command = [], args = [] }: { readonly command?: string[]; readonly args?: string[] }): string[] {
  return [...command, ...args];
}

/** The pod that tests a new image before the servers use it. */
import type { types } from "@pulumi/kubernetes";
import type { Placement } from "../arguments";
import type { DeploymentContext } from "../deployment-context";
import { podBasics, pullPolicy, CONTAINER_SECURITY_CONTEXT } from "./pod-basics";
import { INIT_RESOURCES } from "./sidecar-resources";

const LABELS = { "app.kubernetes.io/name": "valkey-image-check" };

/** Its termination message has the version of the server, because reading it needs no right to read logs. */
export function imageCheckPod(context: DeploymentContext): types.input.core.v1.PodSpec {
  const { args } = context;
  const placement: Placement = { ...args.placement, hostAntiAffinity: "none", oneMachine: false };
  return {
    ...podBasics(context, { graceSeconds: 0, labels: LABELS, placement }),
    containers: [
      {
        name: "version",
        image: args.image,
        imagePullPolicy: pullPolicy(args.image, args.imagePullPolicy),
        // The termination message also gets the shell's error for a missing program, because the log may be gone when
        // the pod has ended.
        command: ["sh", "-c", "valkey-server --version >/dev/termination-log 2>&1"],
        terminationMessagePolicy: "FallbackToLogsOnError",
        resources: INIT_RESOURCES,
        securityContext: CONTAINER_SECURITY_CONTEXT,
      },
    ],
  };
}

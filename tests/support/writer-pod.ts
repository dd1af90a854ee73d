/** A pod that writes numbered values to a cluster, one after the other, and keeps which of them were acknowledged. */
import { CONTAINER_SECURITY_CONTEXT, POD_SECURITY_CONTEXT } from "../../components/kubernetes/pods/security-context";
import type { KubernetesObject } from "./kubernetes-objects";
import { IMAGE } from "./servers";

export const WRITER_POD = "writer";

/** Each write is a client of its own that starts at the Service and follows redirections, so it has no memory of where keys were. */
const WRITE = `
tell() { { cat /secret/password; echo; cat; } | timeout 5 valkey-cli -h "$HOST" -c --askpass --no-auth-warning 2>&1; }
number=0
while :; do
  number=$((number + 1))
  answer=$(echo "SET number:$number $number" | tell | tail -n 1)
  echo "$number $answer" >>/journal/answers
done`;

/** A shell script for the writer's pod: number and answer of each write so far, one line each. */
export const PRINT_ANSWERS = "cat /journal/answers";

/** A shell script for the writer's pod: answers to the commands another script prints, one line each. */
export function valkeyCliScript(commands: string): string {
  // Where a command is redirected to is printed as well.
  return `{ cat /secret/password; echo; ${commands}; } | valkey-cli -h "$HOST" -c --askpass --no-auth-warning | grep -v '^-> '`;
}

/** @param service the deployment's; who may write to it is in the secret */
export function writerPod(namespace: string, service: string, secret: string): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: WRITER_POD, namespace },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      securityContext: POD_SECURITY_CONTEXT,
      containers: [
        {
          name: WRITER_POD,
          image: IMAGE,
          imagePullPolicy: "IfNotPresent",
          command: ["sh", "-c", WRITE],
          env: [{ name: "HOST", value: `${service}.${namespace}.svc.cluster.local` }],
          securityContext: CONTAINER_SECURITY_CONTEXT,
          volumeMounts: [
            { name: "secret", mountPath: "/secret", readOnly: true },
            { name: "journal", mountPath: "/journal" },
          ],
        },
      ],
      // A file, for machines may throw logs away.
      volumes: [
        { name: "secret", secret: { secretName: secret, defaultMode: 0o440 } },
        { name: "journal", emptyDir: {} },
      ],
    },
  };
}

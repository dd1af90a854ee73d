/** A pod that writes numbered values to a cluster, one after the other, and records the reply to each. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CONTAINER_SECURITY_CONTEXT, POD_SECURITY_CONTEXT } from "../../../components/kubernetes/pods/pod-basics";
import type { ThrowAway } from "./throw-away";
import type { KubernetesObject } from "./kubernetes-objects";
import { IMAGE } from "./server-args";

export const WRITER_POD = "writer";

const WRITE = readFileSync(join(__dirname, "writer-pod.sh"), "utf8");

export function valkeyCliScript(commands: string): string {
  // valkey-cli prints redirects as well.
  const client = 'valkey-cli -h "$HOST" -c --askpass --no-auth-warning';
  return `{ cat /secret/password; echo; ${commands}; } | ${client} | grep -v '^-> '`;
}

/** Numbers whose write was acknowledged so far, and those of them whose key is gone. */
export async function writtenKeys(here: ThrowAway): Promise<{ acknowledged: string[]; lost: string[] }> {
  const run = async (script: string): Promise<string[]> =>
    (await here.run(WRITER_POD, WRITER_POD, script)).trim().split("\n");
  // Number and reply of each write.
  const answers = await run("cat /journal/answers");
  const acknowledged = answers.filter((line) => line.endsWith(" OK")).map((line) => line.split(" ")[0] ?? "");
  const getAll = `seq ${answers.length} | while read -r number; do echo "GET number:$number"; done`;
  const values = new Set(await run(valkeyCliScript(getAll)));
  return { acknowledged, lost: acknowledged.filter((number) => !values.has(number)) };
}

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
      // A file, because a machine may discard logs.
      volumes: [
        { name: "secret", secret: { secretName: secret, defaultMode: 0o440 } },
        { name: "journal", emptyDir: {} },
      ],
    },
  };
}

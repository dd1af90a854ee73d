/** The smallest StatefulSets of Valkey that show what is to be seen. */
import { randomBytes } from "node:crypto";
import type { V1Secret, V1Service, V1StatefulSet } from "@kubernetes/client-node";
import type { Deployment } from "../../../valkey/deployment";
import { DEFAULT_IMAGE } from "../../../platforms/kubernetes/default-images";
import type { ThrowAway } from "./throw-away";
import type { PodDeploymentPlan } from "../../../platforms/kubernetes/deployment";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { type Shape, nodeCount } from "../../../valkey/topology/placement";

export const IMAGE = process.env["VALKEY_TEST_IMAGE"] ?? DEFAULT_IMAGE;

export async function applyServers(
  { core, apps, namespace }: Pick<ThrowAway, "core" | "apps" | "namespace">,
  servers: TestServers,
): Promise<PodDeploymentPlan> {
  const { name, password } = servers;
  const secret: Plain<V1Secret> = { metadata: { name }, stringData: { password } };
  const service: Plain<V1Service> = {
    metadata: { name },
    spec: { clusterIP: "None", publishNotReadyAddresses: true, selector: { app: name }, ports: [{ port: 6379 }] },
  };
  await core.createNamespacedSecret({ namespace, body: secret });
  await core.createNamespacedService({ namespace, body: service });
  await apps.createNamespacedStatefulSet({ namespace, body: statefulSet(servers) });
  return planOf(servers, namespace);
}

export interface TestServers {
  readonly name: string;
  readonly mode: Deployment["mode"];
  readonly shape: Shape;
  readonly password: string;
  readonly image?: string;
  readonly storageClass?: string;
  readonly spreadOver?: string;
  readonly command?: readonly string[];
  readonly cpu?: string;
  readonly zone?: string;
  readonly user?: number;
}

export function testServers(changes: Partial<TestServers> = {}): TestServers {
  return {
    name: "valkey",
    mode: "cluster",
    shape: { primaries: 3, replicasPerPrimary: 1 },
    password: randomBytes(12).toString("hex"),
    ...changes,
  };
}

export function planOf({ name, mode, shape, password }: TestServers, namespace: string): PodDeploymentPlan {
  return { name, mode, shape, namespace, pods: { statefulSet: name }, directives: new Map(), access: { password } };
}

function statefulSet({
  name,
  mode,
  shape,
  image = IMAGE,
  storageClass,
  spreadOver = "topology.kubernetes.io/zone",
  command,
  cpu,
  user = 999,
  zone,
}: TestServers): Plain<V1StatefulSet> {
  const secrets = `printf 'requirepass %s\\nprimaryauth %s\\n' "$PASSWORD" "$PASSWORD" > /data/secrets.conf`;
  const server = `${secrets} && exec valkey-server /data/secrets.conf --save '' --dir /data --protected-mode no ${mode === "cluster" ? "--cluster-enabled yes" : ""}`;
  const labels = { app: name };
  return {
    metadata: { name },
    spec: {
      serviceName: name,
      replicas: nodeCount(shape),
      podManagementPolicy: "Parallel",
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 0,
          enableServiceLinks: false,
          automountServiceAccountToken: false,
          securityContext: {
            runAsNonRoot: user !== 0,
            runAsUser: user,
            fsGroup: 999,
            seccompProfile: { type: "RuntimeDefault" },
          },
          ...(zone === undefined ? {} : { nodeSelector: { "topology.kubernetes.io/zone": zone } }),
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: spreadOver,
              whenUnsatisfiable: "DoNotSchedule",
              labelSelector: { matchLabels: labels },
            },
          ],
          containers: [
            {
              name: "valkey",
              image,
              terminationMessagePolicy: "FallbackToLogsOnError",
              command: [...(command ?? ["sh", "-c", server])],
              env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name, key: "password" } } }],
              ports: [{ containerPort: 6379 }],
              resources: { requests: { cpu: cpu ?? "10m", memory: "16Mi" } },
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
              volumeMounts: [{ name: "data", mountPath: "/data" }],
            },
          ],
          volumes: storageClass === undefined ? [{ name: "data", emptyDir: {} }] : [],
        },
      },
      volumeClaimTemplates:
        storageClass === undefined
          ? []
          : [
              {
                metadata: { name: "data" },
                spec: {
                  accessModes: ["ReadWriteOnce"],
                  storageClassName: storageClass,
                  resources: { requests: { storage: "1Gi" } },
                },
              },
            ],
    },
  };
}

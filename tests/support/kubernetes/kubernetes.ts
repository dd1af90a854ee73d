/** A throw-away cluster for tests, and the smallest StatefulSets of Valkey that show what is to be seen. */
import { randomBytes } from "node:crypto";
import type { V1Namespace, V1Secret, V1Service, V1StatefulSet } from "@kubernetes/client-node";
import type { Deployment } from "../../../valkey/deployment";
import { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import type { KubernetesDeploymentPlan } from "../../../platforms/kubernetes/deployment";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import type { Shape } from "../../../valkey/topology/placement";
import { holdsInTime } from "../../../lib/polling";
import { nodeCount } from "../../../valkey/topology/placement";

/** Names a kubeconfig whose cluster tests may fill and empty. */
export const THROWAWAY = process.env["VALKEY_TEST_KUBECONFIG"];
/** For titles of tests that are skipped. */
export const WHY_SKIPPED =
  THROWAWAY === undefined ? " (skipped: VALKEY_TEST_KUBECONFIG names no throw-away cluster)" : "";

export const IMAGE = process.env["VALKEY_TEST_IMAGE"] ?? "docker.io/valkey/valkey:9.1.2";

export function openThrowaway(): Promise<KubernetesClient> {
  return KubernetesClient.open({ kubeconfig: THROWAWAY });
}

/** A namespace of its own, with the restricted Pod Security Standard enforced, removed by `remove`. */
export class TestNamespace {
  private constructor(
    readonly kubernetes: KubernetesClient,
    readonly name: string,
  ) {}

  static async create(kubernetes: KubernetesClient): Promise<TestNamespace> {
    const name = `measured-test-${randomBytes(4).toString("hex")}`;
    const body: Plain<V1Namespace> = {
      metadata: { name, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    };
    await kubernetes.core.createNamespace({ body });
    return new TestNamespace(kubernetes, name);
  }

  /** Volumes keep what was in them: tests use none. */
  async remove(): Promise<void> {
    await this.kubernetes.core.deleteNamespace({ name: this.name, gracePeriodSeconds: 0 });
  }

  async removed(): Promise<void> {
    await this.remove();
    const { kubernetes, name } = this;
    const isGone = async (): Promise<boolean> =>
      (await kubernetes.find("reading a namespace", kubernetes.core.readNamespace({ name }))) === undefined;
    await holdsInTime(isGone, { intervalMs: 200 });
  }

  /** Service, Secret and StatefulSet. */
  async apply(servers: TestServers): Promise<KubernetesDeploymentPlan> {
    const { core, apps } = this.kubernetes;
    const namespace = this.name;
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
}

export interface TestServers {
  readonly name: string;
  readonly mode: Deployment["mode"];
  readonly shape: Shape;
  readonly password: string;
  readonly image?: string;
  readonly storageClass?: string;
  /** Label that pods must be spread over, one apart at most. @default the zone's */
  readonly spreadOver?: string;
  /** Run in place of the server. */
  readonly command?: readonly string[];
  readonly cpu?: string;
  /** Only machines of this zone. */
  readonly zone?: string;
  /** User ID that runs the server; root is not allowed to. */
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

export function planOf({ name, mode, shape, password }: TestServers, namespace: string): KubernetesDeploymentPlan {
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

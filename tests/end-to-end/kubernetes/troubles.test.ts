import type {
  AuthenticationV1TokenRequest,
  RbacAuthorizationV1Api,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1Role,
  V1RoleBinding,
  V1ServiceAccount,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BadInput } from "../../../lib/errors";
import { form } from "../../../valkey/formation/form";
import { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { awaitPodDeployment } from "../../../platforms/kubernetes/deployment";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { type TestServers, IMAGE, applyServers, planOf, testServers } from "../../support/kubernetes/test-servers";
import { KUBECONFIG, ThrowAway, WHERE, openThrowAwayClient } from "../../support/kubernetes/throw-away";

describe.skipIf(KUBECONFIG === undefined)(
  `what keeps pods from being a deployment${WHERE}`,
  { timeout: 180_000 },
  () => {
    let kubernetes: KubernetesClient;
    let here: ThrowAway;
    beforeAll(async () => {
      kubernetes = await openThrowAwayClient();
      here = await ThrowAway.open();
    });
    afterAll(() => here.close());

    const few = { primaries: 3, replicasPerPrimary: 0 };
    // Each of them waits until its time is up.
    it.concurrent.each<[string, Partial<TestServers>, RegExp]>([
      [
        "an image that cannot be pulled",
        { name: "image", image: "registry.invalid/nothing:1" },
        /0 of 3 pods run .* after \d+ s: image-0, image-1, image-2: image registry\.invalid\/nothing:1 cannot be pulled .*; name an image that the machines can pull/,
      ],
      [
        "no such storage class",
        { name: "storage", storageClass: "nope" },
        /storage-0, storage-1, storage-2: the cluster has no storage class nope for its volume; available: \S/,
      ],
      [
        "no machine with room",
        { name: "room", cpu: "1000" },
        /room-0, room-1, room-2: it cannot be scheduled \(0\/\d+ nodes are available: .*Insufficient cpu.*\); add machines with enough room/,
      ],
      [
        "no zones at all",
        { name: "spread", spreadOver: "no-such-label" },
        /spread-0, spread-1, spread-2: it cannot be scheduled .*topology spread constraints.*; add machines in as many zones as the plan needs/,
      ],
      [
        "a server that ends",
        { name: "crash", command: ["sh", "-c", "echo 'Bad directive or wrong number of arguments' >&2; exit 3"] },
        /container valkey has exited .* exit code 3; the last lines of its log:\n {4}Bad directive/,
      ],
    ])("%s is said within the timeout", async (_what, changes, expected) => {
      const servers = testServers({ shape: few, image: IMAGE, ...changes });
      const plan = await applyServers(here, servers);
      const began = Date.now();
      await expect(awaitPodDeployment(kubernetes, plan, { timeoutMs: 30_000 })).rejects.toThrow(expected);
      expect(Date.now() - began).toBeLessThan(45_000);
    });

    it.concurrent("what does not change by itself is said before the time is up", async () => {
      const servers = testServers({ name: "hopeless", shape: few, storageClass: "nope" });
      const plan = await applyServers(here, servers);
      const began = Date.now();
      await expect(awaitPodDeployment(kubernetes, plan, { timeoutMs: 150_000 })).rejects.toThrow(
        /the cluster has no storage class nope/,
      );
      expect(Date.now() - began).toBeLessThan(60_000);
    });

    it("a StatefulSet that is not there is bad input", async () => {
      const missing = awaitPodDeployment(kubernetes, planOf(testServers({ name: "missing" }), here.namespace));
      await expect(missing).rejects.toThrow(
        `missing: namespace ${here.namespace} of context ${kubernetes.context} has no StatefulSet of this name`,
      );
      await expect(missing).rejects.toBeInstanceOf(BadInput);
    });

    it("too few zones for the plan are bad input, before anything is formed", async () => {
      const [machine] = (await kubernetes.core.listNode()).items;
      const zone = machine?.metadata?.labels?.["topology.kubernetes.io/zone"] ?? "";
      const servers = testServers({ name: "zones", zone });
      const deployment = await awaitPodDeployment(kubernetes, await applyServers(here, servers), {
        timeoutMs: 120_000,
      });
      const formed = form(deployment, servers.shape);
      await expect(formed).rejects.toThrow(/zones would not survive the loss of a zone/);
      await expect(formed).rejects.toBeInstanceOf(BadInput);
    });

    it("a stop is obeyed while pods are awaited", async () => {
      const servers = testServers({ name: "stopped", shape: few, cpu: "1000" });
      const plan = await applyServers(here, servers);
      const stop = new AbortController();
      setTimeout(() => {
        stop.abort(new Error("stopped by the test"));
      }, 1_000);
      await expect(awaitPodDeployment(kubernetes, plan, { timeoutMs: 60_000, signal: stop.signal })).rejects.toThrow(
        "stopped by the test",
      );
    });

    describe("with an account that may look and not reach", () => {
      const servers = testServers({ name: "guarded", shape: few });
      const clusterRole = (): string => `${here.namespace}-machines`;
      let rbac: RbacAuthorizationV1Api;

      async function accountWith(name: string, rules: NonNullable<Plain<V1Role>["rules"]>): Promise<KubernetesClient> {
        const { core, config } = kubernetes;
        const metadata = { name };
        const subjects = [{ kind: "ServiceAccount", name, namespace: here.namespace }];
        const account: Plain<V1ServiceAccount> = { metadata };
        const token: Plain<AuthenticationV1TokenRequest> = { spec: { audiences: [], expirationSeconds: 600 } };
        const role: Plain<V1Role> = { metadata, rules };
        const binding: Plain<V1RoleBinding> = {
          metadata,
          subjects,
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
        };
        await core.createNamespacedServiceAccount({ namespace: here.namespace, body: account });
        await rbac.createNamespacedRole({ namespace: here.namespace, body: role });
        await rbac.createNamespacedRoleBinding({ namespace: here.namespace, body: binding });
        const { status } = await core.createNamespacedServiceAccountToken({
          namespace: here.namespace,
          name,
          body: token,
        });
        const cluster = config.getCurrentCluster();
        const kubeconfig = {
          apiVersion: "v1",
          kind: "Config",
          "current-context": name,
          clusters: [
            { name: "c", cluster: { server: cluster?.server, "certificate-authority-data": cluster?.caData } },
          ],
          users: [{ name, user: { token: status?.token } }],
          contexts: [{ name, context: { cluster: "c", user: name } }],
        };
        return KubernetesClient.open({ kubeconfig: JSON.stringify(kubeconfig) });
      }

      beforeAll(async () => {
        const { RbacAuthorizationV1Api } = await import("@kubernetes/client-node");
        rbac = kubernetes.config.makeApiClient(RbacAuthorizationV1Api);
        await applyServers(here, servers);
        await awaitPodDeployment(kubernetes, planOf(servers, here.namespace), { timeoutMs: 120_000 });
      });
      afterAll(async () => {
        await Promise.allSettled([
          rbac.deleteClusterRole({ name: clusterRole() }),
          rbac.deleteClusterRoleBinding({ name: clusterRole() }),
        ]);
      });

      const looking = [
        { apiGroups: ["apps"], resources: ["statefulsets"], verbs: ["get", "list"] },
        { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
      ];

      it("names each right that is missing, one after the other", async () => {
        const blind = await accountWith("blind", []);
        await expect(awaitPodDeployment(blind, planOf(servers, here.namespace))).rejects.toThrow(
          /reading StatefulSet guarded of namespace \S+: system:serviceaccount:\S+:blind may not get statefulsets in namespace \S+; grant this user a Role with apiGroups \["apps"\], resources \["statefulsets"\], verbs \["get"\]$/,
        );
        const looker = await accountWith("looker", looking);
        await expect(awaitPodDeployment(looker, planOf(servers, here.namespace))).rejects.toThrow(
          /:looker may not get nodes; grant this user a ClusterRole with apiGroups \[""\], resources \["nodes"\], verbs \["get"\]$/,
        );
        const role: Plain<V1ClusterRole> = {
          metadata: { name: clusterRole() },
          rules: [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }],
        };
        const binding: Plain<V1ClusterRoleBinding> = {
          metadata: { name: clusterRole() },
          subjects: [{ kind: "ServiceAccount", name: "looker", namespace: here.namespace }],
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole() },
        };
        await rbac.createClusterRole({ body: role });
        await rbac.createClusterRoleBinding({ body: binding });
        await expect(awaitPodDeployment(looker, planOf(servers, here.namespace))).rejects.toThrow(
          /^guarded-\d \(\S+\) cannot be reached: a port-forward to guarded-\d: system:serviceaccount:\S+:looker may not (create|get) pods\/portforward in namespace \S+; grant this user a Role with apiGroups \[""\], resources \["pods\/portforward"\], verbs \["create", "get"\]$/,
        );
      });
    });
  },
);

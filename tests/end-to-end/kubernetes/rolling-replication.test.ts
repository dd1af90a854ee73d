/** Rolling changes of servers that are compared with Valkey in replication mode: how soon every replica has its primary again. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineServersArgs, EngineServers } from "../../../components/engine-deployment";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import { awaitCondition } from "../../../lib/polling";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { openDeployment, openKubernetesClient } from "../../../platforms/deployment-reference";
import { awaitRollout } from "../../../platforms/kubernetes/pods/await-rollout";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { type KubernetesObject, renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { isReady, KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { plainServers } from "../../support/kubernetes/server-args";

const LABELS = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "followers" };
const SHAPE = { primaries: 1, replicasPerPrimary: 2 };
const PASSWORD = "known to three";
const SETTINGS = { save: "3600 1", "repl-diskless-sync-delay": 0 } as const;
const ROUNDS = 3;
/** From a primary that is ready to replicas that are linked, milliseconds. */
const LINKED_MS = 5_000;

describe.skipIf(KUBECONFIG === undefined)(`rolling changes in replication mode${WHERE}`, { timeout: 600_000 }, () => {
  let here: ThrowAway;
  let target: KubernetesReference;

  const rendered = async (changes: Partial<EngineServersArgs>): Promise<KubernetesObject[]> => {
    const objects = await renderObjects(() => {
      new EngineServers("followers", {
        ...plainServers,
        namespace: here.namespace,
        imagePullPolicy: "IfNotPresent",
        password: PASSWORD,
        engine: "redis",
        replicas: SHAPE.replicasPerPrimary,
        settings: SETTINGS,
        placement: { zones: target.zones, hostAntiAffinity: "preferred" },
        ...changes,
      });
    });
    return JSON.parse(JSON.stringify(objects).replaceAll(/redis-(server|cli)/g, "valkey-$1")) as KubernetesObject[];
  };
  const link = (pod: string): Promise<string> =>
    here.run(pod, "valkey", ". /valkey/scripts/node.sh; look; echo $role $link");
  const isPrimaryReady = async (old: string | undefined): Promise<boolean> =>
    (await here.pods({ ...LABELS, "apps.kubernetes.io/pod-index": "0" })).some(
      (pod) => pod.metadata?.uid !== old && isReady(pod),
    );

  beforeAll(async () => {
    here = await ThrowAway.open();
    const zones = (await here.zones()).slice(0, 3);
    const location = { namespace: here.namespace, zones, settings: SETTINGS };
    target = {
      ...podReference("followers", { engine: "redis", mode: "replication", shape: SHAPE }, location),
      kubeconfig: KUBECONFIG,
    };
    await here.apply(await rendered({}));
    await here.untilReady(LABELS, 3, 180);
  }, 200_000);
  afterAll(() => here.close(), 200_000);

  it.each(Array.from({ length: ROUNDS }, (_, round) => round))(
    "links every replica within five seconds after the primary is ready, and passes verification (change %i)",
    async (round) => {
      const [primary] = await here.pods({ ...LABELS, "apps.kubernetes.io/pod-index": "0" });
      await here.apply(await rendered({ settings: { ...SETTINGS, databases: 16 + round + 1 } }));
      const waiting = { timeoutMs: 180_000, intervalMs: 100 };
      await awaitCondition("the new primary is ready", () => isPrimaryReady(primary?.metadata?.uid), waiting);
      const ready = Date.now();
      await awaitCondition(
        "both replicas are linked",
        async () =>
          (await Promise.all([link("followers-1"), link("followers-2")])).every((each) => each.includes("slave up")),
        waiting,
      );
      const linked = Date.now() - ready;
      const { namespace, statefulSet, container } = target;
      await awaitRollout(await openKubernetesClient(target), { namespace, statefulSet, container, nodes: 3 });
      const deployment = await openDeployment(target, PASSWORD);
      const { verdict } = await verifyUntilPass(deployment, { settlingMs: 30_000 });
      expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
      expect(linked).toBeLessThan(LINKED_MS);
    },
  );

  it("waits for a server that does not answer for longer than one command may take", async () => {
    // Of CPU time, of which a pod has half a second per second.
    const seconds = 7;
    const script = `local began = os.clock(); while os.clock() - began < ${seconds} do end`;
    const busy = here.run(
      "followers-2",
      "valkey",
      `. /valkey/scripts/node.sh; tell() { { cat "$VALKEY_PASSWORD_FILE" && echo && cat; } | valkey-cli --askpass --no-auth-warning; }
      printf '%s\\n' 'CONFIG SET busy-reply-threshold 0' "EVAL \\"${script}\\" 0" | tell`,
    );
    await awaitCondition("the server is busy", async () => !(await link("followers-2")).includes("slave"), {
      timeoutMs: 20_000,
    });
    const began = Date.now();
    const deployment = await openDeployment(target, PASSWORD, { timeoutMs: 120_000 });
    expect(Date.now() - began).toBeGreaterThan(8_000);
    expect(deployment.nodes).toHaveLength(3);
    await busy;
  });
});

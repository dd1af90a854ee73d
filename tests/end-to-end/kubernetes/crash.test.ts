/** A server process that dies in its pod: the container starts again at once, before anybody fails over. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDeployment } from "../../../platforms/deployment-reference";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import type { ThrowAway } from "../../support/kubernetes/throw-away";
import { KUBECONFIG, WHERE } from "../../support/kubernetes/throw-away";

const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
const SETTINGS = { save: "", "cluster-node-timeout": 5000, "repl-diskless-sync-delay": 0 } as const;
const LABELS = podLabels("crash");
const PODS = [0, 1, 2, 3, 4, 5].map((index) => `crash-${index}`);
const KEYS = 300;

describe.skipIf(KUBECONFIG === undefined)(`a crash of a server${WHERE}`, { timeout: 120_000 }, () => {
  let here: ThrowAway;
  let cluster: DeployedPods;
  const run = (pod: string, script: string): Promise<string> =>
    here.run(pod, "valkey", `. /valkey/scripts/node.sh; ${script}`);
  const tell = (pod: string, command: string): Promise<string> => run(pod, `echo '${command}' | tell localhost 5`);
  const keys = async (): Promise<number> => {
    const sizes = await Promise.all(PODS.map(async (pod) => Number(await tell(pod, "DBSIZE"))));
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  const restarts = async (pod: string): Promise<number> => {
    const { status } = await here.core.readNamespacedPod({ namespace: here.namespace, name: pod });
    return status?.containerStatuses?.[0]?.restartCount ?? 0;
  };

  beforeAll(async () => {
    cluster = await DeployedPods.open(
      "crash",
      { mode: "cluster", shape: SHAPE },
      { settings: SETTINGS, ephemeral: true },
    );
    here = cluster.here;
  }, 200_000);
  afterAll(() => cluster.close(), 200_000);

  it("leaves every key that a replica had, without persistence, and the deployment passes verification", async () => {
    const [pod = ""] = PODS;
    await run(
      pod,
      `{ cat "$VALKEY_PASSWORD_FILE" && echo && seq -f 'SET key:%g kept' ${KEYS}; } | valkey-cli -c --askpass --no-auth-warning`,
    );
    await here.until(20, async () => ((await keys()) === 2 * KEYS ? undefined : `${await keys()} keys and copies`));
    expect(await tell(pod, "ROLE")).toContain("master");
    // The process ends without saving, as one that is killed; the container's runtime sees no difference.
    await tell(pod, "SHUTDOWN NOSAVE NOW FORCE").catch(() => undefined);
    await here.until(30, async () => ((await restarts(pod)) > 0 ? undefined : `${pod} has not restarted`));
    await here.untilReady(LABELS, PODS.length, 60);
    const { verdict } = await verifyUntilPass(await openDeployment(cluster.target, cluster.password), {
      settlingMs: 30_000,
    });
    expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
    expect(await keys()).toBe(2 * KEYS);
    expect(await tell(pod, "ROLE")).toContain("slave");
  });
});

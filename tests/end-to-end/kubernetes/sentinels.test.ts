/** Sentinels and proxies in pods, with TLS: they fail over, lose nothing that a replica had, and follow certificates and passwords. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessFiles, PASSWORD_FILE } from "../../../components/kubernetes/server-config";
import { openDeployment } from "../../../platforms/deployment-reference";
import { handler as rollout } from "../../../provider/handlers/rollout";
import type { Credentials } from "../../../valkey/access/users";
import { addAccess, retireOtherPasswords } from "../../../valkey/access/apply-access";
import { formSentinels } from "../../../valkey/sentinel/form-sentinels";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { CertificateAuthority } from "../../support/kubernetes/certificates";
import { podLabels } from "../../support/kubernetes/deployed-pods";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import { ObserverPod } from "../../support/kubernetes/observer-pod";
import { ReplicatedPods } from "../../support/kubernetes/replicated-pods";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";

const PROXY_LABELS = { "app.kubernetes.io/name": "valkey-proxy" };
const SENTINEL_LABELS = { "app.kubernetes.io/name": "valkey-sentinel" };

describe.skipIf(KUBECONFIG === undefined)(`Sentinels in pods${WHERE}`, { timeout: 300_000 }, () => {
  const authority = new CertificateAuthority();
  let watched: ReplicatedPods;
  /** Another certificate, of the authority that stays in the Secret or of another one. */
  let renew: (issuer?: CertificateAuthority) => Promise<void>;
  beforeAll(async () => {
    const here = await ThrowAway.open();
    const suffix = `${here.namespace}.svc.cluster.local`;
    const hosts = [`watched.${suffix}`, `*.watched-headless.${suffix}`, `*.watched-sentinel.${suffix}`];
    renew = (issuer = authority) => {
      const head = { apiVersion: "v1", kind: "Secret", metadata: { name: "certificate", namespace: here.namespace } };
      return here.apply([
        { ...head, data: { ...issuer.issue(hosts), "ca.crt": authority.certificate } } as KubernetesObject,
      ]);
    };
    await renew();
    const sentinel = { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 };
    watched = await ReplicatedPods.open("watched", { sentinel, tls: { secretName: "certificate" } }, here);
  }, 200_000);
  afterAll(() => watched.deployed.close(), 200_000);

  it("promotes no replica that has less than another one", async () => {
    await watched.fill("watched");
    const [primary = ""] = await watched.primaries();
    const [lesser = ""] = watched.pods.filter((pod) => pod !== primary);
    // Sentinels prefer it once they know. A Sentinel that has just started knows no replica yet.
    await watched.tell(lesser, "CONFIG SET replica-priority 10");
    await watched.deployed.here.until(60, async () => {
      for (const index of [0, 1, 2])
        if (!(await watched.tellSentinel(index, "SENTINEL REPLICAS watched")).includes("slave-priority\n10\n"))
          return `Sentinel ${index} does not know the priority`;
      return undefined;
    });
    await watched.tell(lesser, "REPLICAOF 127.0.0.1 1");
    await watched.write("watched");
    await watched.crash(primary);
    await watched.isWhole();
    await watched.tell(lesser, "CONFIG SET replica-priority 100");
  });

  it("loses no key that a replica had when the primary's process dies, twice", async () => {
    for (let time = 0; time < 2; time++) {
      const [primary = ""] = await watched.primaries();
      await watched.crash(primary);
      await watched.isWhole();
    }
  });

  it("leaves no second primary that Sentinels do not know", async () => {
    const [primary = ""] = await watched.primaries();
    const [second = ""] = watched.pods.filter((pod) => pod !== primary);
    await watched.tell(second, "CONFIG SET replica-announced no");
    for (const index of [0, 1, 2]) await watched.tellSentinel(index, "SENTINEL RESET watched");
    await watched.tell(second, "REPLICAOF NO ONE");
    expect(await watched.primaries()).toHaveLength(2);
    await watched.deployed.here.until(60, async () => {
      const found = await watched.primaries();
      return found.join(", ") === primary ? undefined : `primaries: ${found.join(", ")}`;
    });
    await watched.tell(second, "CONFIG SET replica-announced yes");
    await watched.isWhole();
  });

  it("has Sentinels that load another certificate when the Secret changes, but none that clients would refuse", async () => {
    const { here } = watched.deployed;
    const { namespace } = here;
    const names = ["watched-sentinel-0", "watched-sentinel-1", "watched-sentinel-2"];
    /** Until every Sentinel has other files, or has loaded those that it has. The change of a pod makes its kubelet look. */
    const until = async (state: "loaded" | "other", label: string): Promise<void> => {
      const body = [{ op: "add", path: "/metadata/labels/look", value: label }];
      for (const name of names) await here.core.patchNamespacedPod({ namespace, name, body });
      const script =
        '. "/valkey/scripts/sentinels.sh"; [ "$(certificate)" = "$(cat /data/certificate)" ] && echo loaded || echo other';
      await here.until(120, async () => {
        for (const name of names)
          if (!(await here.run(name, "sentinel", script).catch(String)).startsWith(state))
            return `${name} is not ${state}`;
        return undefined;
      });
    };
    const restarts = async (): Promise<string> =>
      (await here.pods(SENTINEL_LABELS)).map(({ status }) => status?.containerStatuses?.[0]?.restartCount).join();
    await renew(new CertificateAuthority());
    await until("other", "foreign");
    // For two probes of each.
    await sleep(25_000);
    expect(await restarts()).toBe("0,0,0");
    await renew();
    await here.until(120, async () => ((await restarts()) === "1,1,1" ? undefined : `restarts: ${await restarts()}`));
    await until("loaded", "own");
    await watched.isWhole();
  });

  it("has no Sentinel for long that watches a replica", async () => {
    const [primary = ""] = await watched.primaries();
    const [replica = ""] = watched.pods.filter((pod) => pod !== primary);
    await watched.tellSentinel(1, "SENTINEL REMOVE watched");
    await watched.tellSentinel(1, `SENTINEL MONITOR watched ${replica}$SERVERS 6379 2`);
    await watched.tellSentinel(1, "SENTINEL SET watched auth-pass $(cat $VALKEY_PASSWORD_FILE)");
    await watched.isWhole();
  });

  it("has Sentinels that know the primary by its host name when they are told again", async () => {
    const { target, password } = watched.deployed;
    const [primary = ""] = await watched.primaries();
    await watched.tellSentinel(0, "SENTINEL REMOVE watched");
    const { sentinels, ...deployment } = await openDeployment(target, password);
    if (sentinels === undefined) throw new Error("there are no Sentinels");
    await formSentinels(deployment, sentinels);
    const named = await watched.tellSentinel(0, "SENTINEL GET-MASTER-ADDR-BY-NAME watched");
    expect(named).toMatch(new RegExp(`^${primary}\\.watched-headless\\.`));
  });

  it("finds the primary again when all Sentinels have lost their memory, and hands over when its pod stops", async () => {
    const [primary = ""] = await watched.primaries();
    await watched.delete(undefined, "watched-sentinel-0", "watched-sentinel-1", "watched-sentinel-2");
    await watched.deployed.here.untilReady(SENTINEL_LABELS, 3, 60);
    await watched.isWhole();
    expect(await watched.primaries()).toEqual([primary]);
    await watched.delete(undefined, primary);
    await watched.isWhole();
    expect(await watched.primaries()).not.toEqual([primary]);
  });

  it("lets a client that asks the Sentinels go on writing while its primary's pod stops", async () => {
    const { here } = watched.deployed;
    const host = `watched-sentinel.${here.namespace}.svc.cluster.local`;
    const client = await ObserverPod.start(
      ...([here, "sentinel-client", "ioredis-main.ts"] as const),
      {
        at: {
          sentinels: [0, 1, 2].map((index) => ({ host: `watched-sentinel-${index}.${host}`, port: 26_379 })),
          name: "watched",
        },
        ca: Buffer.from(authority.certificate, "base64").toString(),
      },
      { secret: "watched-password", key: "password" },
    );
    const [primary = ""] = await watched.primaries();
    const writes = await client.during(() => watched.delete(undefined, primary), 15_000);
    expect(writes).toMatchObject({ failed: [], lost: 0 });
    expect(writes.acknowledged).toBeGreaterThan(100);
    expect(await watched.primaries()).not.toEqual([primary]);
  });

  const clientOfProxies = (): Promise<ObserverPod<"observer-main.ts">> => {
    const { here } = watched.deployed;
    const host = `watched.${here.namespace}.svc.cluster.local`;
    return ObserverPod.start(
      ...([here, "client-of-proxies", "observer-main.ts"] as const),
      {
        ...{ mode: "replication", endpoints: [{ host, port: 6379 }] },
        ...{ ca: Buffer.from(authority.certificate, "base64").toString(), rate: 200 },
      },
      { secret: "watched-password", key: "password" },
    );
  };

  it("has proxies that cut no connection while the primary does not answer for 1.5 s", async () => {
    const client = await clientOfProxies();
    const [primary = ""] = await watched.primaries();
    const writes = await client.during(() => watched.tell(primary, "DEBUG SLEEP 1.5"), 3000);
    await watched.includeKeysOfOthers();
    expect(writes, writes.log.slice(0, 4).join("; ")).toMatchObject({ failed: 0, lost: 0, errors: {} });
    // The server has not answered for this time.
    expect(writes.pauseMs).toBeGreaterThan(1300);
  });

  it("has proxies that follow another password, and cut no connection for it", async () => {
    const { here, target, password } = watched.deployed;
    const { namespace } = here;
    const proxies = async (): Promise<string> =>
      (await here.pods(PROXY_LABELS))
        .map(({ metadata, status }) => `${metadata?.uid} ${status?.containerStatuses?.[0]?.restartCount}`)
        .join();
    /** Until every pod has the password in its file. The change of a pod makes its kubelet look. */
    const untilRead = async (wanted: string): Promise<void> => {
      for (const [labels, container, file] of [
        [PROXY_LABELS, "proxy", "/valkey/secret/password"],
        [podLabels("watched"), "valkey", "/valkey/secret/password"],
        [{ observer: "client-of-proxies" }, "observer", "/secret/password"],
      ] as const) {
        for (const { metadata } of await here.pods(labels)) {
          const name = metadata?.name ?? "";
          const body = [{ op: "add", path: "/metadata/labels/password", value: wanted }];
          await here.core.patchNamespacedPod({ namespace, name, body });
          await here.until(120, async () =>
            (await here.run(name, container, `cat ${file}`)) === wanted ? undefined : `${name} has the former password`,
          );
        }
      }
    };
    const rotate = async (from: string, to: string): Promise<void> => {
      const deployment = await openDeployment(target, from);
      const credentials = { password: to, users: {} };
      await addAccess(deployment, credentials, []);
      const files = Object.entries<(access: Credentials) => string>({ ...accessFiles(), [PASSWORD_FILE]: () => to });
      const body = files.map(([file, text]) => ({
        ...{ op: "replace", path: `/data/${file}`, value: Buffer.from(text(credentials)).toString("base64") },
      }));
      await here.core.patchNamespacedSecret({ namespace, name: "watched-password", body });
      await untilRead(to);
      // The proxies look once a second, on a busy machine later.
      await sleep(5000);
      await retireOtherPasswords(await openDeployment(target, to), credentials);
    };
    const client = await clientOfProxies();
    const before = await proxies();
    const writes = await client.during(async () => {
      await rotate(password, "another-one");
      await rotate("another-one", password);
    }, 5000);
    // First, since the tests that follow count keys, too.
    await watched.includeKeysOfOthers();
    expect(writes, writes.log.slice(0, 4).join("; ")).toMatchObject({ failed: 0, lost: 0, errors: {} });
    expect(writes.acknowledged).toBeGreaterThan(1000);
    expect(await proxies()).toBe(before);
    await watched.isWhole();
  });

  it("does not pass verification while proxies are missing", async () => {
    const { here, target, password } = watched.deployed;
    const scale = (replicas: number): Promise<unknown> =>
      here.apps.patchNamespacedDeployment({
        ...{ namespace: here.namespace, name: "watched-proxy" },
        body: [{ op: "replace", path: "/spec/replicas", value: replicas }],
      });
    await scale(1);
    await here.until(30, async () => {
      const failing = JSON.stringify(await watched.failing());
      return failing.includes("Service watched has 1 of 2 proxies") ? undefined : failing;
    });
    await scale(2);
    const { verdict } = await verifyUntilPass(await openDeployment(target, password), { settlingMs: 60_000 });
    expect(verdict.pass).toBe(true);
  });

  it("chooses no older copy when the Sentinels and the primary go at once", async () => {
    const [primary = ""] = await watched.primaries();
    await watched.delete(0, "watched-sentinel-0", "watched-sentinel-1", "watched-sentinel-2", primary);
    await watched.isWhole();
  });

  it("has Sentinels that forget a replica which a smaller shape has taken away", async () => {
    const { here, target, password } = watched.deployed;
    const smaller = { ...target, shape: { primaries: 1, replicasPerPrimary: 1 } };
    await here.apps.patchNamespacedStatefulSet({
      ...{ namespace: here.namespace, name: target.statefulSet },
      body: [{ op: "replace", path: "/spec/replicas", value: 2 }],
    });
    const storage = { size: "1Gi", template: "data", ephemeral: false, onDestroy: "delete" } as const;
    const inputs = { target, password, revision: "same", storage, timeoutSeconds: 180 };
    await rollout.update?.("", inputs, { ...inputs, target: smaller }, HANDLER_CONTEXT);
    const { verdict } = await verifyUntilPass(await openDeployment(smaller, password), { settlingMs: 20_000 });
    expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
  });
});

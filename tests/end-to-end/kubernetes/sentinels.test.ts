/** Replication with Sentinels and proxies, TLS and a controller that only watches: Sentinels decide who is the primary. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { watchControllers } from "../../../cli/commands/watch-controllers";
import { objectNames, proxyLabels } from "../../../components/kubernetes/names";
import type { Look } from "../../../operations/inspection/look";
import { openDeployment } from "../../../platforms/deployment-reference";
import { formSentinels } from "../../../valkey/sentinel/form-sentinels";
import { captured } from "../../support/captured";
import { CertificateAuthority, serverHosts } from "../../support/kubernetes/certificates";
import { ControllerPod } from "../../support/kubernetes/controller-pod";
import type { LiveDeployment } from "../../support/kubernetes/live-deployment";
import { ObserverPod } from "../../support/kubernetes/observer-pod";
import { story } from "../../support/kubernetes/story";
import { never } from "../../support/valkey/real";

const NAME = "watched";
const authority = new CertificateAuthority();
const WANTED = {
  platform: { tls: { secretName: "certificate" } },
  deployment: {
    mode: "replication",
    replicas: 2,
    sentinel: { quorum: 2, downAfterMs: 10_000, failoverTimeoutMs: 10_000 },
    controller: { everySeconds: 120, repair: false },
    passwordOverlapSeconds: 90,
    settings: { save: "", "repl-diskless-sync-delay": 0, "enable-debug-command": "local" },
  },
};
const SENTINELS = { "app.kubernetes.io/name": "valkey-sentinel" };

const publish = (live: LiveDeployment, issuer = authority): Promise<void> => {
  const { namespace } = live.here;
  const data = { ...issuer.issue(serverHosts(namespace, NAME)), "ca.crt": authority.certificate };
  const object = { apiVersion: "v1", kind: "Secret", metadata: { name: "certificate", namespace }, data };
  return live.here.apply([object]);
};
const roles = async (live: LiveDeployment): Promise<{ primary: string; replica: string }> => {
  const [primary = ""] = await live.primaries();
  const [replica = ""] = await live.replicas();
  return { primary, replica };
};
const eachSentinel = async (live: LiveDeployment, command: string): Promise<void> => {
  for (const index of [0, 1, 2]) await live.tellSentinel(index, command);
};
const identities = async (live: LiveDeployment): Promise<string> =>
  (await live.here.pods(proxyLabels(NAME)))
    .map(({ metadata, status }) => `${metadata?.uid} ${status?.containerStatuses?.[0]?.restartCount}`)
    .sort()
    .join();
let before = "";
const notePrimary = async (live: LiveDeployment): Promise<void> => {
  before = (await roles(live)).primary;
};

story(
  "replication with Sentinels",
  NAME,
  WANTED,
  [
    {
      title: "no replica is promoted that has less than another one",
      client: "is not asked",
      change: async (live) => {
        const { primary, replica } = await roles(live);
        // Sentinels prefer it once they know. A Sentinel that has just started knows no replica yet.
        await live.tell(replica, "CONFIG SET replica-priority 10");
        await live.here.until(60, async () => {
          for (const index of [0, 1, 2])
            if (!(await live.tellSentinel(index, `SENTINEL REPLICAS ${NAME}`)).includes("slave-priority\n10\n"))
              return `Sentinel ${index} does not know the priority`;
          return undefined;
        });
        const verification = await live.verified();
        await live.tell(replica, "REPLICAOF 127.0.0.1 1");
        await live.write(verification, 1);
        await live.crash(primary);
        await live.isWhole();
        await live.tell(replica, "CONFIG SET replica-priority 100");
      },
    },
    {
      title: "a crash of the primary's process loses nothing that a replica had",
      client: "is not asked",
      change: async (live) => live.crash((await roles(live)).primary),
    },
    {
      title: "a second primary that Sentinels do not know becomes a replica",
      client: "is not asked",
      change: async (live) => {
        const { primary, replica } = await roles(live);
        await live.tell(replica, "CONFIG SET replica-announced no");
        await eachSentinel(live, `SENTINEL RESET ${NAME}`);
        await live.tell(replica, "REPLICAOF NO ONE");
        expect(await live.primaries()).toHaveLength(2);
        await live.here.until(60, async () => {
          const found = await live.primaries();
          return found.join(", ") === primary ? undefined : `primaries: ${found.join(", ")}`;
        });
        await live.tell(replica, "CONFIG SET replica-announced yes");
      },
    },
    {
      title: "Sentinels load a new certificate, but none that clients would refuse",
      client: "is not asked",
      change: async (live) => {
        const { here, sentinels } = live;
        const until = async (state: "loaded" | "other"): Promise<void> => {
          await live.refreshFiles(...sentinels);
          const script =
            '. "/valkey/scripts/sentinels.sh"; [ "$(certificate)" = "$(cat /data/certificate)" ] && echo loaded || echo other';
          await here.until(120, async () => {
            for (const name of sentinels)
              if (!(await here.run(name, "sentinel", script).catch(String)).startsWith(state))
                return `${name} is not ${state}`;
            return undefined;
          });
        };
        const restarts = async (): Promise<string> =>
          (await here.pods(SENTINELS)).map(({ status }) => status?.containerStatuses?.[0]?.restartCount).join();
        await publish(live, new CertificateAuthority());
        await until("other");
        // For two probes of each, every 10 s.
        await sleep(21_000);
        expect(await restarts()).toBe("0,0,0");
        await publish(live);
        await live.refreshFiles(...sentinels);
        await here.until(120, async () =>
          (await restarts()) === "1,1,1" ? undefined : `restarts: ${await restarts()}`,
        );
        await until("loaded");
      },
    },
    {
      title: "a Sentinel that watches a replica is told the primary",
      client: "is not asked",
      change: async (live) => {
        const { replica } = await roles(live);
        await live.tellSentinel(1, `SENTINEL REMOVE ${NAME}`);
        await live.tellSentinel(1, `SENTINEL MONITOR ${NAME} ${replica}$SERVERS 6379 2`);
        await live.tellSentinel(1, `SENTINEL SET ${NAME} auth-pass $(cat $VALKEY_PASSWORD_FILE)`);
      },
    },
    {
      title: "a Sentinel that knows nothing is told the primary's host name",
      client: "is not asked",
      change: async (live) => {
        const { primary } = await roles(live);
        await live.tellSentinel(0, `SENTINEL REMOVE ${NAME}`);
        const { sentinels, ...deployment } = await openDeployment(live.target, live.password);
        if (sentinels === undefined) throw new Error("there are no Sentinels");
        await formSentinels(deployment, sentinels);
        const named = await live.tellSentinel(0, `SENTINEL GET-MASTER-ADDR-BY-NAME ${NAME}`);
        expect(named).toMatch(new RegExp(`^${primary}\\.${NAME}-headless\\.`));
      },
    },
    {
      title: "Sentinels that have all lost their memory find the primary again",
      precondition: notePrimary,
      client: "no failed write",
      change: async (live) => {
        await live.delete(undefined, ...live.sentinels);
        await live.here.untilReady(SENTINELS, 3, 60);
      },
      verdict: async (live) => {
        expect(await live.primaries()).toEqual([before]);
      },
    },
    {
      title: "the primary hands over when its pod stops, and a client that asks Sentinels goes on",
      precondition: notePrimary,
      client: "failed writes",
      change: async (live) => {
        const { here } = live;
        const host = `${objectNames(NAME).sentinel}.${here.namespace}.svc.cluster.local`;
        const client = await ObserverPod.start(
          ...([here, "sentinel-client", "ioredis-main.ts"] as const),
          {
            at: { sentinels: live.sentinels.map((pod) => ({ host: `${pod}.${host}`, port: 26_379 })), name: NAME },
            ca: Buffer.from(authority.certificate, "base64").toString(),
          },
          { secret: objectNames(NAME).secret, key: "password" },
        );
        const writes = await client.during(() => live.delete(undefined, before), 10_000);
        expect(writes).toMatchObject({ failed: [], lost: 0 });
        expect(writes.acknowledged).toBeGreaterThan(10);
      },
      verdict: async (live) => {
        expect(await live.primaries()).not.toEqual([before]);
      },
    },
    {
      title: "proxies cut no connection while the primary does not answer for 1.5 s",
      client: "no failed write",
      change: async (live) => live.tell((await roles(live)).primary, "DEBUG SLEEP 1.5"),
      verdict: (_live, seen) => {
        expect(seen?.pauseMs).toBeGreaterThan(1300);
        return Promise.resolve();
      },
    },
    {
      title: "proxies follow a new password and cut no connection",
      precondition: async (live) => {
        before = await identities(live);
      },
      client: "no failed write",
      change: (live) => live.up({ deployment: { passwordVersion: 2 } }),
      verdict: async (live) => {
        expect(await identities(live)).toBe(before);
      },
      leaves: "the second password",
    },
    {
      title: "the deployment does not pass while a proxy is missing",
      client: "is not asked",
      change: async (live) => {
        const { here } = live;
        const scale = (replicas: number): Promise<unknown> =>
          here.apps.patchNamespacedDeployment({
            ...{ namespace: here.namespace, name: objectNames(NAME).proxy },
            body: [{ op: "replace", path: "/spec/replicas", value: replicas }],
          });
        await scale(1);
        await here.until(30, async () => {
          const failing = JSON.stringify(await live.failing());
          return failing.includes(`Service ${NAME} has 1 of 2 proxies`) ? undefined : failing;
        });
        await scale(2);
      },
    },
    {
      title: "no older copy is chosen when the Sentinels and the primary go at once",
      client: "is not asked",
      change: async (live) => live.delete(0, ...live.sentinels, (await roles(live)).primary),
    },
    {
      title: "status --watch shows what the controller finds when a pod goes",
      client: "is not asked",
      change: async (live) => {
        const { target, password } = live;
        const controller = new ControllerPod(live);
        const stop = new AbortController();
        const shown = captured({}, () => watchControllers([{ target, password }], true, stop.signal));
        await sleep(3000);
        const release = await live.deleteAndHold((await roles(live)).replica);
        await controller.untilLook(60, ({ pass }) => !pass);
        await release();
        await controller.untilLook(90, ({ pass }) => pass);
        await sleep(2000);
        stop.abort();
        const { status, output } = await shown;
        const looks = output
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as Look);
        expect(looks.map(({ pass }) => pass)).toContain(false);
        expect(looks.at(-1)).toMatchObject({ deployment: NAME, pass: true });
        expect(status).toBe(0);
        const held = looks.at(-1)?.assertions.map(({ id }) => id) ?? [];
        expect(held).toEqual(expect.arrayContaining(["clients-led", "sentinels-know", "links-up"]));
        const [, end = "0"] =
          /certificate_expires_timestamp_seconds\{deployment="\w+"\} (\d+)/.exec(await controller.ask("/metrics")) ??
          [];
        const days = (Number(end) - Date.now() / 1000) / 86_400;
        expect(days).toBeGreaterThan(0.9);
        expect(days).toBeLessThan(1);
        await expect(
          watchControllers([{ target: { ...target, name: "others" }, password }], false, never),
        ).rejects.toThrow("others has no controller");
      },
    },
    {
      title: "a replica comes and leaves again, and Sentinels forget it",
      client: "failed writes",
      change: async (live) => {
        for (const replicas of [3, 2]) await live.up({ deployment: { passwordVersion: 2, replicas } });
      },
    },
  ],
  (live) => publish(live),
);

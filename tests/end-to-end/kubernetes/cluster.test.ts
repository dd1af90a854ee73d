/** A cluster with volumes, TLS and a password from a Secret, through the changes that a stack file asks for. */
import { setTimeout as sleep } from "node:timers/promises";
import type { V1PodDisruptionBudget } from "@kubernetes/client-node";
import { expect } from "vitest";
import { injectFault } from "../../support/faults/fault-subject";
import { type TlsFiles, CertificateAuthority, serverHosts } from "../../support/kubernetes/certificates";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import type { LiveDeployment } from "../../support/kubernetes/live-deployment";
import { type Row, story } from "../../support/kubernetes/story";
import { isStaying } from "../../support/kubernetes/throw-away";

const NAME = "shop";
const OLDER = "docker.io/valkey/valkey:8.1.1";
const NEWER = "docker.io/valkey/valkey:9.1.2";
/** As hard to quote as a password can be. */
const PASSWORD = `a "hard" one\\'s #1 $HOME`;
const SETTINGS = {
  ...{ maxmemory: "64mb", appendonly: true, appendfsync: "always", save: "" },
  ...{ "cluster-node-timeout": 5000, "repl-diskless-sync-delay": 0 },
};
const WANTED = {
  platform: { tls: { secretName: "certificate" }, storage: { size: "1Gi" } },
  deployment: {
    ...{ mode: "cluster", primaries: 3, replicasPerPrimary: 1, pods: { image: OLDER }, settings: SETTINGS },
    ...{ passwordSecret: { name: "password", key: "password" }, controller: { everySeconds: 10 } },
  },
};
const GROWN = { platform: { ...WANTED.platform, storage: { size: "2Gi" } } };
const UPGRADED = { deployment: { pods: { image: NEWER } } };

const secret = (live: LiveDeployment, name: string, data: object): Promise<void> => {
  const metadata = { name, namespace: live.here.namespace };
  return live.here.apply([{ apiVersion: "v1", kind: "Secret", metadata, data } as KubernetesObject]);
};
const issue = (live: LiveDeployment): TlsFiles =>
  new CertificateAuthority().issue(serverHosts(live.here.namespace, NAME));
const publishCertificate = async (live: LiveDeployment): Promise<string> => {
  const files = issue(live);
  await secret(live, "certificate", files);
  return Buffer.from(files["ca.crt"], "base64").toString().split("\n")[5] ?? "none";
};
const publishPassword = (live: LiveDeployment, password: string): Promise<void> =>
  secret(live, "password", { password: Buffer.from(password).toString("base64") });

let identities: readonly string[] = [];
const note = async (live: LiveDeployment): Promise<void> => {
  identities = await live.identities();
};
const noneRestarted = async (live: LiveDeployment): Promise<void> => {
  expect(await live.identities()).toEqual(identities);
};
async function mostAway(live: LiveDeployment, change: Promise<unknown>): Promise<number> {
  let most = 0;
  const state = { hasEnded: false };
  const ending = change.finally(() => (state.hasEnded = true));
  while (!state.hasEnded) {
    const pods = await live.here.pods(live.labels);
    const running = pods.filter((pod) => isStaying(pod) && pod.status?.phase === "Running");
    most = Math.max(most, live.pods.length - running.length);
    await Promise.race([ending, sleep(250)]);
  }
  await ending;
  return most;
}
const hasCounted = ({ metadata, status }: V1PodDisruptionBudget): boolean =>
  status?.observedGeneration === metadata?.generation && status?.disruptionsAllowed === 1;
/** Only newer servers could watch their files by themselves. */
const certificateRow = (version: string): Row => ({
  title: `servers of the ${version} version load a certificate of a new authority, and none restarts`,
  precondition: note,
  client: "is not asked",
  change: async (live) => {
    const authority = await publishCertificate(live);
    await live.refreshFiles(...live.pods);
    await live.here.until(120, async () => {
      const said = await Promise.all(
        live.pods.map((pod) => live.run(pod, "cat /valkey/tls/ca.crt; echo PING | tell localhost 5").catch(String)),
      );
      const loaded = said.filter((each) => each.includes(authority) && each.includes("PONG")).length;
      return loaded === live.pods.length ? undefined : `${loaded} servers have the files`;
    });
    // With the authority of the Secret only.
    await live.here.until(60, () => live.failing().then(() => undefined, String));
  },
  verdict: noneRestarted,
});

story(
  "a cluster with volumes and TLS",
  NAME,
  WANTED,
  [
    {
      title: "restricted pods are let in and no others, and no list of processes shows the password",
      client: "is not asked",
      change: async (live) => {
        const metadata = { name: "root", namespace: live.here.namespace };
        const root = {
          apiVersion: "v1",
          kind: "Pod",
          metadata,
          spec: { containers: [{ name: "root", image: OLDER }] },
        };
        await expect(live.here.apply([root])).rejects.toThrow(/violates PodSecurity/);
        const [pod = ""] = live.pods;
        const seen = await live.run(pod, "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'");
        expect(seen).toContain("valkey-server");
        expect(seen).not.toContain("hard");
        const zones = await live.here.zonesOf(await live.here.pods(live.labels));
        const counts = live.stack.zones.map((zone) => zones.filter((each) => each === zone).length);
        expect(counts).toEqual([2, 2, 2]);
      },
    },
    certificateRow("older"),
    {
      title: "the next version and a new setting restart one pod at a time",
      client: "no failed write",
      change: async (live) => {
        expect(await mostAway(live, live.up(UPGRADED))).toBe(1);
      },
      verdict: async (live) => {
        const said = await Promise.all(live.pods.map((pod) => live.tell(pod, "INFO server")));
        expect(said.filter((each) => !each.includes("valkey_version:9.1.2"))).toEqual([]);
        const { problems, lines } = await live.stack.preview(live.file());
        expect([...problems, ...lines].join("\n")).toMatch(
          /^image: .*may be unable to read the data files of Valkey 9\.1\.2/m,
        );
      },
      leaves: "Valkey 9.1.2",
    },
    certificateRow("newer"),
    {
      title: "a certificate that servers could not use is refused by a preview",
      client: "is not asked",
      change: async (live) => {
        const [files, others] = [issue(live), issue(live)];
        await secret(live, "damaged", { ...files, "tls.key": others["tls.key"] });
        const platform = { ...WANTED.platform, tls: { secretName: "damaged" } };
        expect((await live.stack.preview({ ...live.file(UPGRADED), platform })).problems).toEqual([
          "tls: Secret damaged: tls.key is not the key of tls.crt",
        ]);
        await secret(live, "elsewhere", new CertificateAuthority().issue(["elsewhere"]));
        const there = { ...WANTED.platform, tls: { secretName: "elsewhere" } };
        expect((await live.stack.preview({ ...live.file(UPGRADED), platform: there })).problems.join()).toContain(
          "it names DNS:elsewhere",
        );
      },
    },
    {
      title: "running servers take a different limit of memory, also after a restart, and none below what they use",
      precondition: note,
      client: "no failed write",
      change: async (live) => {
        const limit = (maxmemory: string) => ({
          deployment: { ...UPGRADED.deployment, settings: { ...SETTINGS, maxmemory } },
        });
        await expect(live.up(limit("1000"))).rejects.toThrow(/more than the new maxmemory of 1000/);
        await live.up(limit("66mb"));
        await noneRestarted(live);
        await live.delete(undefined, `${NAME}-5`);
        await live.here.untilReady(live.labels, 6, 60);
        for (const pod of live.pods)
          expect(await live.tell(pod, "CONFIG GET maxmemory")).toContain(String(66 * 2 ** 20));
      },
      back: (live) => live.up(UPGRADED),
    },
    {
      title: "what somebody changed by hand is shown by a refresh and set again by the next update",
      precondition: note,
      client: "no failed write",
      change: async (live) => {
        expect(await live.tell(`${NAME}-4`, "CONFIG SET maxmemory 1gb")).toContain("OK");
        await live.stack.refresh();
        expect(JSON.stringify(live.stack.state("Preparation", NAME))).toContain(
          `${NAME}-4: maxmemory is 1073741824, not 67108864`,
        );
        expect((await live.up(UPGRADED)).done).toContain(`update Preparation ${NAME}`);
        expect(await live.tell(`${NAME}-4`, "CONFIG GET maxmemory")).toContain("67108864");
      },
      verdict: noneRestarted,
    },
    {
      title: "a password that is new in its Secret is accepted by all servers, and none restarts",
      precondition: note,
      client: "no failed write",
      change: async (live) => {
        const wrong = { ...UPGRADED.deployment, passwordSecret: { name: "password", key: "none" } };
        await expect(live.stack.preview(live.file({ deployment: wrong }))).rejects.toThrow(
          "the Secret password has no key none; it has password",
        );
        await publishPassword(live, "the second password of these servers");
        await live.up({ deployment: { ...UPGRADED.deployment, passwordOverlapSeconds: 90 } });
        expect(live.password).toBe("the second password of these servers");
      },
      verdict: noneRestarted,
      leaves: "the second password",
    },
    {
      title: "all pods that are lost at once return with new addresses and every write that a replica had",
      client: "is not asked",
      change: async (live) => {
        const subject = await live.subject();
        const before = subject.injector.nodes().map(({ endpoint }) => endpoint.host);
        // The first node of a shard that is back may become its primary, so a write is safe only if a replica has it.
        const load = { rate: 100, bytes: 64, timeoutMs: 5000, acknowledgement: { replicas: 1, timeoutMs: 2000 } };
        const record = await injectFault(
          subject,
          { kind: "kill-all", newAddresses: true },
          { load, recoveryTimeoutSeconds: 180 },
        );
        expect(record.lost.count).toBe(0);
        expect(record.recoveryFailure).toBeNull();
        expect(record.okMs, JSON.stringify(record.events)).not.toBeNull();
        expect(subject.injector.nodes().filter(({ endpoint }) => before.includes(endpoint.host))).toEqual([]);
        expect(record.events.map(({ what }) => what).join()).not.toContain("meet again");
      },
    },
    {
      title: "a rolling restart by the program loses no write",
      client: "is not asked",
      change: async (live) => {
        const load = { rate: 50, bytes: 64, timeoutMs: 10_000, acknowledgement: { replicas: 0, timeoutMs: 0 } };
        const record = await injectFault(
          await live.subject(),
          { kind: "rolling-restart" },
          { load, recoveryTimeoutSeconds: 180 },
        );
        expect(record.lost.count).toBe(0);
      },
    },
    {
      title: "volumes grow around their pods, also after an update that was killed, and never shrink",
      precondition: note,
      client: "no failed write",
      change: async (live) => {
        const { problems, lines } = await live.stack.preview(live.file({ ...GROWN, ...UPGRADED }));
        expect(problems).toEqual([]);
        expect(lines.join("\n")).toContain(
          "6 volumes grow from 1Gi to 2Gi in about half a minute; no node restarts, no effect on clients",
        );
        await expect(live.up({ ...GROWN, ...UPGRADED }, `update Preparation ${NAME}`)).rejects.toThrow("killed");
        await live.up({ ...GROWN, ...UPGRADED });
        const smaller = { platform: { ...WANTED.platform, storage: { size: "512Mi" } }, ...UPGRADED };
        expect((await live.stack.preview(live.file(smaller))).problems.join()).toMatch(
          /volumes of 2Gi cannot shrink to 512Mi: .*volumes of shop .* hold the data/,
        );
      },
      verdict: async (live) => {
        await noneRestarted(live);
        const { items } = await live.here.core.listNamespacedPersistentVolumeClaim({ namespace: live.here.namespace });
        expect(items.map(({ status }) => status?.capacity?.["storage"])).toEqual(live.pods.map(() => "2Gi"));
      },
      leaves: "volumes of 2Gi",
    },
    {
      title: "more primaries come and go, and one pod of each group of shards may be evicted",
      client: "is not asked",
      change: async (live) => {
        for (const primaries of [5, 3]) {
          const wanted = { ...GROWN, deployment: { ...UPGRADED.deployment, primaries } };
          if (primaries === 5) await expect(live.up(wanted, `update Formation ${NAME}`)).rejects.toThrow("killed");
          await live.up(wanted);
          await live.here.until(30, async () =>
            (await live.here.budgets()).every(hasCounted) ? undefined : "pods are not counted",
          );
          expect(await live.here.budgets()).toHaveLength(primaries === 5 ? 2 : 1);
          expect((await live.here.pods(live.labels)).filter(isStaying)).toHaveLength(2 * primaries);
          if (primaries === 3) continue;
          const [first, second] = (await live.verified()).verdict.shards;
          await live.here.evict(first?.primary ?? "");
          await expect(live.here.evict(first?.replicas[0] ?? "")).rejects.toThrow(/disruption budget/);
          await live.here.evict(second?.primary ?? "");
          await live.here.untilReady(live.labels, 10, 120);
        }
      },
    },
    {
      title: "nodes move out of a zone and back into it, with new volumes",
      client: "no failed write",
      change: async (live) => {
        const { zones, here } = live.stack;
        for (const wanted of [zones.slice(0, 2), zones]) {
          await live.up({ platform: { ...GROWN.platform, zones: wanted }, ...UPGRADED });
          const found = await here.zonesOf(await here.pods(live.labels));
          const each = live.pods.length / wanted.length;
          expect(wanted.map((zone) => found.filter((own) => own === zone).length)).toEqual(wanted.map(() => each));
        }
      },
    },
    {
      title: "TLS goes off and on with consent, and all data stay",
      client: "is not asked",
      change: async (live) => {
        const { tls: _tls, ...plain } = WANTED.platform;
        const off = { ...live.file(UPGRADED), platform: { ...plain, storage: { size: "2Gi" } } };
        expect((await live.stack.preview(off)).problems.join("\n")).toMatch(
          /TLS cannot be switched off while clients of shop work/,
        );
        const { lines } = await live.stack.up({ ...off, platform: { ...off.platform, allowDowntime: true } });
        expect(lines.join("\n")).toContain("6 nodes restart at once; clients are cut off until the nodes run again");
        expect(await live.tell(`${NAME}-0`, "CONFIG GET tls-cluster")).toContain("no");
        await live.isWhole();
        await live.up({ platform: { ...GROWN.platform, allowDowntime: true }, ...UPGRADED });
        expect(await live.tell(`${NAME}-0`, "CONFIG GET tls-cluster")).toContain("yes");
      },
    },
  ],
  async (live) => {
    await publishCertificate(live);
    await publishPassword(live, PASSWORD);
  },
);

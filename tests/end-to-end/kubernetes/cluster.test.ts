/** A cluster with volumes, TLS and a password from a Secret, through the changes that a stack file asks for. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { injectFault } from "../../support/faults/fault-subject";
import type { TlsFiles } from "../../support/kubernetes/certificates";
import { CertificateAuthority, serverHosts } from "../../support/kubernetes/certificates";
import type { LiveDeployment } from "../../support/kubernetes/live-deployment";
import type { Row } from "../../support/kubernetes/story";
import { story } from "../../support/kubernetes/story";
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
const UPGRADED = { deployment: { pods: { image: NEWER } } };

const issue = (live: LiveDeployment): TlsFiles =>
  new CertificateAuthority().issue(serverHosts(live.here.namespace, NAME));
const publishCertificate = async (live: LiveDeployment): Promise<string> => {
  const files = issue(live);
  await live.publishSecret("certificate", files);
  return Buffer.from(files["ca.crt"], "base64").toString().split("\n")[5] ?? "none";
};
const publishPassword = (live: LiveDeployment, password: string): Promise<void> =>
  live.publishSecret("password", { password: Buffer.from(password).toString("base64") });

/** The most pods that are away at once until the change has ended. */
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
/** Only newer servers could watch their files by themselves. */
const certificateRow = (version: string): Row => ({
  title: `servers of the ${version} version load a certificate of a new authority, and none restarts`,
  client: "is not asked",
  restartsNothing: true,
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
        const { problems } = await live.stack.preview(live.file());
        expect(problems.join("\n")).toMatch(/may be unable to read the data files of Valkey 9\.1\.2/);
      },
      leaves: "Valkey 9.1.2",
    },
    certificateRow("newer"),
    {
      title: "a certificate that servers could not use is refused by a preview",
      client: "is not asked",
      change: async (live) => {
        const [files, others] = [issue(live), issue(live)];
        await live.publishSecret("damaged", { ...files, "tls.key": others["tls.key"] });
        const platform = { ...WANTED.platform, tls: { secretName: "damaged" } };
        expect((await live.stack.preview({ ...live.file(UPGRADED), platform })).problems).toEqual([
          "tls: Secret damaged: tls.key is not the key of tls.crt",
        ]);
        await live.publishSecret("elsewhere", new CertificateAuthority().issue(["elsewhere"]));
        const there = { ...WANTED.platform, tls: { secretName: "elsewhere" } };
        expect((await live.stack.preview({ ...live.file(UPGRADED), platform: there })).problems.join()).toContain(
          "it names DNS:elsewhere",
        );
      },
    },
    {
      title: "running servers take a different limit of memory, also after a restart, and none below what they use",
      client: "no failed write",
      change: async (live) => {
        const identities = await live.identities();
        const limit = (maxmemory: string) => ({
          deployment: { ...UPGRADED.deployment, settings: { ...SETTINGS, maxmemory } },
        });
        await expect(live.up(limit("1000"))).rejects.toThrow(/more than the new maxmemory of 1000/);
        await live.up(limit("66mb"));
        expect(await live.identities()).toEqual(identities);
        await live.delete(undefined, `${NAME}-5`);
        await live.here.untilReady(live.labels, 6, 60);
        for (const pod of live.pods)
          expect(await live.tell(pod, "CONFIG GET maxmemory")).toContain(String(66 * 2 ** 20));
      },
      back: (live) => live.up(UPGRADED),
    },
    {
      title: "what somebody changed by hand is shown by a refresh and set again by the next update",
      client: "no failed write",
      restartsNothing: true,
      change: async (live) => {
        expect(await live.tell(`${NAME}-4`, "CONFIG SET maxmemory 1gb")).toContain("OK");
        await live.stack.refresh();
        expect(JSON.stringify(live.stack.state("Settings", NAME))).toContain(
          `${NAME}-4: maxmemory is 1073741824, not 67108864`,
        );
        expect((await live.up(UPGRADED)).done).toContain(`update Settings ${NAME}`);
        expect(await live.tell(`${NAME}-4`, "CONFIG GET maxmemory")).toContain("67108864");
      },
    },
    {
      title: "a password that is new in its Secret is accepted by all servers, and none restarts",
      client: "no failed write",
      restartsNothing: true,
      change: async (live) => {
        const wrong = { ...UPGRADED.deployment, passwordSecret: { name: "password", key: "none" } };
        await expect(live.stack.preview(live.file({ deployment: wrong }))).rejects.toThrow(
          "the Secret password has no key none; it has password",
        );
        await publishPassword(live, "the second password of these servers");
        await live.up({ deployment: { ...UPGRADED.deployment, passwordOverlapSeconds: 90 } });
        expect(live.password).toBe("the second password of these servers");
      },
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
        expect(record.okMs).not.toBeNull();
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
          { kind: "rolling-restart", home: undefined },
          { load, recoveryTimeoutSeconds: 180 },
        );
        expect(record.lost.count).toBe(0);
      },
    },
  ],
  async (live) => {
    await publishCertificate(live);
    await publishPassword(live, PASSWORD);
  },
);

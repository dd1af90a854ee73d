/** A cluster with volumes and TLS that changes its size, its zones and its encryption. */
import type { V1PodDisruptionBudget } from "@kubernetes/client-node";
import { expect } from "vitest";
import { CertificateAuthority, serverHosts } from "../../support/kubernetes/certificates";
import { story } from "../../support/kubernetes/story";
import { isStaying } from "../../support/kubernetes/throw-away";

const NAME = "moving";
const WANTED = {
  platform: { tls: { secretName: "certificate" }, storage: { size: "1Gi" } },
  deployment: {
    ...{ mode: "cluster", primaries: 3, replicasPerPrimary: 1, controller: { everySeconds: 10 } },
    settings: {
      ...{ maxmemory: "64mb", appendonly: true, appendfsync: "always", save: "" },
      ...{ "cluster-node-timeout": 5000, "repl-diskless-sync-delay": 0 },
    },
  },
};
const GROWN = { platform: { ...WANTED.platform, storage: { size: "2Gi" } } };

/** Whether Kubernetes has counted its pods since it was made or changed. */
const hasCounted = ({ metadata, status }: V1PodDisruptionBudget): boolean =>
  status?.observedGeneration === metadata?.generation && status?.disruptionsAllowed === 1;

story(
  "a cluster with volumes and TLS that moves",
  NAME,
  WANTED,
  [
    {
      title: "volumes grow around their pods, also after an update that was killed, and never shrink",
      client: "no failed write",
      restartsNothing: true,
      change: async (live) => {
        const { problems, lines } = await live.stack.preview(live.file(GROWN));
        expect(problems).toEqual([]);
        expect(lines.join("\n")).toContain(
          "6 volumes grow from 1Gi to 2Gi in about half a minute; no node restarts, no effect on clients",
        );
        await expect(live.up(GROWN, `update Volumes ${NAME}`)).rejects.toThrow("killed");
        await live.up(GROWN);
        const smaller = { platform: { ...WANTED.platform, storage: { size: "512Mi" } } };
        expect((await live.stack.preview(live.file(smaller))).problems.join()).toMatch(
          /volumes of 2Gi cannot shrink to 512Mi: .*volumes of moving .* hold the data/,
        );
      },
      verdict: async (live) => {
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
          const wanted = { ...GROWN, deployment: { primaries } };
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
          await live.up({ platform: { ...GROWN.platform, zones: wanted } });
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
        const off = { ...live.file(), platform: { ...plain, storage: { size: "2Gi" } } };
        expect((await live.stack.preview(off)).problems.join("\n")).toMatch(
          /TLS cannot be switched off while clients of moving work/,
        );
        const { lines } = await live.stack.up({ ...off, platform: { ...off.platform, allowDowntime: true } });
        expect(lines.join("\n")).toContain("6 nodes restart at once; clients are cut off until the nodes run again");
        expect(await live.tell(`${NAME}-0`, "CONFIG GET tls-cluster")).toContain("no");
        await live.isWhole();
        await live.up({ platform: { ...GROWN.platform, allowDowntime: true } });
        expect(await live.tell(`${NAME}-0`, "CONFIG GET tls-cluster")).toContain("yes");
      },
    },
  ],
  (live) => live.publishSecret("certificate", new CertificateAuthority().issue(serverHosts(live.here.namespace, NAME))),
);

/** A deployment of pods with the pod that writes its backup, whose metrics and log can be read. */
import type { V1Job, V1Pod } from "@kubernetes/client-node";
import { once } from "node:events";
import { type Server, connect, createServer, type AddressInfo } from "node:net";
import { ARCHIVER_PORT } from "../../../backup/archiver/pod-settings";
import { createArchive } from "../../../components/kubernetes/archive/archive";
import { createDrill } from "../../../components/kubernetes/restoring/drill";
import type { BackupArgs } from "../../../components/kubernetes/backup-arguments";
import { archiveLabels, drillLabels, objectNames } from "../../../components/kubernetes/names";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import type { DeployedPods } from "./deployed-pods";
import { type KubernetesObject, renderObjects } from "./kubernetes-objects";
import { plainServers } from "./server-args";
import { isReady } from "./throw-away";

export class ArchivedPods {
  private constructor(
    private readonly pods: DeployedPods,
    private readonly objects: readonly KubernetesObject[],
  ) {}

  static async open(pods: DeployedPods, backup: BackupArgs): Promise<ArchivedPods> {
    const { target, here } = pods;
    const { name, namespace, zones } = target;
    const context = {
      deployment: name,
      names: objectNames(name),
      args: {
        ...{ ...plainServers, namespace, imagePullPolicy: "IfNotPresent" as const, backup },
        ...{ tls: target.tls, placement: { zones, hostAntiAffinity: "preferred" as const } },
      },
      options: {},
    };
    const objects = await renderObjects(() => {
      const access = createArchive(context, target, target, backup);
      if (backup.drill !== undefined) createDrill(context, backup.drill, backup, access);
    });
    await here.apply(objects);
    return new ArchivedPods(pods, objects);
  }

  async startDrill(name: string): Promise<void> {
    const { namespace, batch } = this.pods.here;
    const { spec } = await batch.readNamespacedCronJob({ namespace, name: objectNames(this.pods.target.name).drill });
    const job = { metadata: { name, labels: spec?.jobTemplate.metadata?.labels ?? {} }, spec: spec?.jobTemplate.spec };
    await batch.createNamespacedJob({ namespace, body: job as Plain<V1Job> });
  }

  /** Termination messages of the ended pods of a Job, oldest first. */
  async drillMessages(job: string): Promise<string[]> {
    const pods = await this.pods.here.pods({ ...drillLabels(this.pods.target.name), "job-name": job });
    const ended = pods
      .map(({ status }) => status?.containerStatuses?.[0]?.state?.terminated)
      .filter((each) => each !== undefined)
      .toSorted((a, b) => Number(a.finishedAt) - Number(b.finishedAt));
    return ended.map(({ message }) => message ?? "");
  }

  async ready(): Promise<V1Pod[]> {
    return (await this.pods.here.pods(archiveLabels(this.pods.target.name))).filter(isReady);
  }

  /** Waits until a pod is ready that is not the given one. @returns its name */
  async untilReady(seconds: number, former?: string): Promise<string> {
    let name: string | undefined;
    await this.pods.here.until(seconds, async () => {
      name = (await this.ready()).map(({ metadata }) => metadata?.name).find((each) => each !== former);
      return name === undefined ? `the archive is not ready: ${await this.log()}` : undefined;
    });
    return name ?? "";
  }

  async deletePod(): Promise<string> {
    const { namespace, core } = this.pods.here;
    const [pod] = await this.ready();
    const name = pod?.metadata?.name ?? "";
    await core.deleteNamespacedPod({ namespace, name });
    return name;
  }

  async metrics(): Promise<string> {
    const [pod] = await this.ready();
    const fetching = `fetch("http://localhost:${ARCHIVER_PORT}/metrics").then((r) => r.text()).then(console.log)`;
    return this.pods.here.run(pod?.metadata?.name ?? "", "archive", `node -e '${fetching}'`);
  }

  /** Waits until all shards have data that are at most so old. @returns the highest age, seconds */
  async untilYoungerThan(seconds: number, timeoutSeconds: number): Promise<number> {
    let age = Infinity;
    await this.pods.here.until(timeoutSeconds, async () => {
      const text = await this.metrics().catch(() => "");
      const ages = [...text.matchAll(/^valkey_archive_rpo_seconds\{[^}]*\} (\S+)/gm)].map(([, each]) => Number(each));
      const hasBases = text.includes("valkey_archive_last_base_timestamp_seconds{") || text.includes("_sets{");
      age = ages.length === 0 ? Infinity : Math.max(...ages);
      return hasBases && age <= seconds ? undefined : `the archive is ${age} s old: ${await this.log()}`;
    });
    return age;
  }

  async log(): Promise<string> {
    const { namespace, core } = this.pods.here;
    const pods = await this.pods.here.pods(archiveLabels(this.pods.target.name));
    const createdAt = ({ metadata }: V1Pod): number => new Date(metadata?.creationTimestamp ?? 0).getTime();
    const name = pods.toSorted((a, b) => createdAt(a) - createdAt(b)).at(-1)?.metadata?.name ?? "";
    return core.readNamespacedPodLog({ namespace, name }).catch(String);
  }

  async apply(change: (object: KubernetesObject) => KubernetesObject): Promise<void> {
    await this.pods.here.apply(this.objects.map(change));
  }
}

const FOR_PODS = process.env["VALKEY_TEST_HOST_FOR_PODS"] ?? "10.244.0.1";

/** Lets pods connect to a port that is open only on this machine. @returns the address for pods, and a function that ends it */
export async function openToPods(local: string): Promise<{ readonly url: string; readonly close: () => void }> {
  const { port } = new URL(local);
  const server: Server = createServer((socket) => {
    const there = connect(Number(port), "127.0.0.1");
    for (const [from, to] of [
      [socket, there],
      [there, socket],
    ] as const) {
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
    }
  });
  server.listen(0, FOR_PODS);
  await once(server, "listening");
  return {
    url: `http://${FOR_PODS}:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
    },
  };
}

/** Volumes that only one machine can use, as local disks are. */
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubernetesObject } from "./kubernetes-objects";
import type { ThrowAway } from "./throw-away";

export class LocalVolumes {
  private constructor(
    private readonly here: ThrowAway,
    private readonly className: string,
    private readonly directory: string,
    private readonly names: readonly string[],
  ) {}

  /** @param perMachine number of volumes. A volume is used once, even if its claim is deleted */
  static async open(here: ThrowAway, perMachine: number): Promise<LocalVolumes> {
    const className = `valkey-lost-${process.pid}`;
    const directory = await mkdtemp(join(tmpdir(), "valkey-lost-"));
    const volumes = (await here.machines()).flatMap(({ name: host }) =>
      Array.from({ length: perMachine }, (_, i) => ({ host, name: `${className}-${host}-${i}` })),
    );
    const names = volumes.map(({ name }) => name);
    for (const name of names) {
      await mkdir(join(directory, name));
      await chmod(join(directory, name), 0o777);
    }
    const storageClass = {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: className } },
      ...{ provisioner: "kubernetes.io/no-provisioner", volumeBindingMode: "WaitForFirstConsumer" },
    } as KubernetesObject;
    await here.apply([storageClass, ...volumes.map(({ host, name }) => volume(host, name, className, directory))]);
    return new LocalVolumes(here, className, directory, names);
  }

  /** Lets the claims of a StatefulSet ask for these volumes. Other objects stay as they are. */
  readonly claimedBy = (object: KubernetesObject): KubernetesObject => {
    if (object.kind !== "StatefulSet") return object;
    const { spec } = object as unknown as { spec: { volumeClaimTemplates?: { spec: object }[] } };
    const volumeClaimTemplates = spec.volumeClaimTemplates?.map((each) => ({
      ...each,
      spec: { ...each.spec, storageClassName: this.className },
    }));
    return { ...object, spec: { ...spec, volumeClaimTemplates } };
  };

  async close(): Promise<void> {
    await this.here.storage.deleteStorageClass({ name: this.className });
    for (const name of this.names) await this.here.core.deletePersistentVolume({ name });
    await rm(this.directory, { recursive: true, force: true });
  }
}

function volume(host: string, name: string, className: string, directory: string): KubernetesObject {
  const term = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [host] }] };
  const spec = {
    ...{ capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], storageClassName: className },
    ...{ persistentVolumeReclaimPolicy: "Retain", local: { path: join(directory, name) } },
    nodeAffinity: { required: { nodeSelectorTerms: [term] } },
  };
  return { apiVersion: "v1", kind: "PersistentVolume", metadata: { name }, spec };
}

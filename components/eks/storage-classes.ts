/** Storage classes of a cluster on EKS. */
import * as k8s from "../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import type { StorageClassName } from "../../platforms/eks/offers/storage-classes";
import {
  DEFAULT_STORAGE_CLASS,
  STORAGE_CLASS_NAMES,
  STORAGE_CLASSES,
} from "../../platforms/eks/offers/storage-classes";

/**
 * Encrypted gp3 volumes at every configured speed. A volume is created after its pod has a machine, in the machine's
 * zone, and is deleted with its claim. Pass the CSI driver as `dependsOn`: it has to outlive the volumes.
 */
export class StorageClasses extends pulumi.ComponentResource {
  /** Classes by name. A claim depends on its class. */
  readonly classes: Readonly<Record<StorageClassName, k8s.storage.v1.StorageClass>>;

  /** @param tags of every volume */
  constructor(
    name: string,
    { tags }: { readonly tags: Readonly<Record<string, string>> },
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super("valkey:eks:Storage", name, {}, opts);
    const made = STORAGE_CLASS_NAMES.map(
      (storageClass) => [storageClass, this.storageClass(name, storageClass, tags)] as const,
    );
    this.classes = Object.fromEntries(made) as Record<StorageClassName, k8s.storage.v1.StorageClass>;
    this.registerOutputs({});
  }

  private storageClass(
    name: string,
    storageClass: StorageClassName,
    tags: Readonly<Record<string, string>>,
  ): k8s.storage.v1.StorageClass {
    const { iops, throughput } = STORAGE_CLASSES[storageClass];
    const tagged = Object.entries(tags).map(
      ([key, value], index) => [`tagSpecification_${index + 1}`, `${key}=${value}`] as const,
    );
    return new k8s.storage.v1.StorageClass(
      `${name}-${storageClass}`,
      {
        metadata: {
          name: storageClass,
          annotations:
            storageClass === DEFAULT_STORAGE_CLASS ? { "storageclass.kubernetes.io/is-default-class": "true" } : {},
        },
        provisioner: "ebs.csi.aws.com",
        volumeBindingMode: "WaitForFirstConsumer",
        reclaimPolicy: "Delete",
        allowVolumeExpansion: true,
        parameters: {
          type: "gp3",
          encrypted: "true",
          iops: String(iops),
          throughput: String(throughput),
          "csi.storage.k8s.io/fstype": "ext4",
          ...Object.fromEntries(tagged),
        },
      },
      { parent: this },
    );
  }
}

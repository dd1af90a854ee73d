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
 * Storage classes of encrypted gp3 volumes, one for each configured speed. A volume is created in the zone of its pod's
 * machine, once the pod has a machine, and is deleted with its claim. Pass the CSI driver as `dependsOn`, because it
 * must outlive the volumes.
 */
export class StorageClasses extends pulumi.ComponentResource {
  /** Classes by name. Resources with claims depend on the class. */
  readonly classes: Readonly<Record<StorageClassName, k8s.storage.v1.StorageClass>>;

  /** Storage classes of a cluster. @param tags AWS tags of every volume */
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

import type { RestoreFromArgs } from "../../components/kubernetes/backup-arguments";
import { BUCKET_FIELDS, RESTORE_FIELDS, RESTORE_POD_FIELDS } from "../../model/backup";
import { pickFields } from "../../model/fields";
import type { RestoreFromConfig } from "../config/schema/backup";
import type { PodPlatform } from "./pod-settings";

export type PodRestore = RestoreFromArgs & { readonly bucket: string; readonly prefix: string };

/** On EKS, the region of the bucket is by default that of the platform. */
export function podRestore(
  { from, region, ...restoreFrom }: Omit<RestoreFromConfig, "pathStyle">,
  platform: PodPlatform,
): PodRestore {
  const [bucket = "", ...prefix] = from.replace(/^s3:\/\//, "").split("/");
  const usual = platform.type === "eks" && restoreFrom.endpoint === undefined ? platform.region : undefined;
  const { credentials, role } = restoreFrom;
  return {
    ...{ bucket, prefix: prefix.join("/").replace(/\/$/, ""), region: region ?? usual, credentials, role },
    ...pickFields({ ...BUCKET_FIELDS, ...RESTORE_FIELDS, ...RESTORE_POD_FIELDS }, restoreFrom),
  };
}

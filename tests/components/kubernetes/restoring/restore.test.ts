/** The restore with which a new deployment begins, as the component declares it. */
import { describe, expect, it } from "vitest";
import type { BackupArgs } from "../../../../components/kubernetes/backup-arguments";
import type { RestoreFromArgs } from "../../../../components/kubernetes/restore-arguments";
import { restoreProblems, restoredBucket } from "../../../../components/kubernetes/restoring/restore-problems";
import { ValkeyCluster } from "../../../../components/valkey-cluster";
import { checksum } from "../../../../lib/checksum";
import { readRestorerSettings } from "../../../../restorer/pod-settings";
import type { DeclaredResource } from "../../../support/pulumi/pulumi-mocks";
import { evaluateProgram } from "../../../support/pulumi/pulumi-mocks";

const FROM: RestoreFromArgs = {
  ...{ bucket: "backups", prefix: "shop/former", endpoint: "http://10.244.0.1:4568" },
  credentials: { secretName: "minio" },
  ...{ at: "2026-11-24T08:00:00Z", keys: ["app:*"], ttl: "remaining" as const, memory: "2Gi", scratchSize: "20Gi" },
};

const declared = (
  restoreFrom: RestoreFromArgs | undefined,
  backup?: BackupArgs,
): Promise<readonly DeclaredResource[]> =>
  evaluateProgram(
    () =>
      new ValkeyCluster("orders", {
        ...{ namespace: "shop", shape: { primaries: 3, replicasPerPrimary: 1 }, zones: ["a", "b", "c"] },
        ...{ tls: { secretName: "certificate" }, controller: false, restoreFrom, backup },
      }),
  );

interface RestorePod {
  readonly automountServiceAccountToken: boolean;
  readonly serviceAccountName: string;
  readonly initContainers: readonly {
    readonly name: string;
    readonly restartPolicy: string;
    readonly resources: unknown;
  }[];
  readonly containers: readonly { readonly name: string; readonly command: readonly string[] }[];
  readonly volumes: readonly { readonly name: string; readonly emptyDir?: unknown }[];
}

function only(resources: readonly DeclaredResource[], type: string, name?: string): DeclaredResource {
  const found = resources.filter((each) => each.type === type && (name === undefined || each.name === name));
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} of ${type} ${name ?? ""}`);
  return found[0];
}

describe("restoreFrom of a component", () => {
  it("is a pod without rights in Kubernetes, with staging servers in a second container", async () => {
    const resources = await declared(FROM);
    const { inputs } = only(resources, "valkey:index:Restore");
    expect(inputs["source"]).toBe(
      "s3://backups/shop/former as of 2026-11-24T08:00:00Z, only keys app:*, with the TTLs that were left at this time",
    );
    const pod = inputs["pod"] as RestorePod;
    expect(pod).toMatchObject({ automountServiceAccountToken: false, serviceAccountName: "orders-restore" });
    expect(pod.containers.map(({ name }) => name)).toEqual(["restore"]);
    expect(pod.initContainers).toMatchObject([
      {
        name: "staging",
        restartPolicy: "Always",
        resources: { limits: { memory: "2Gi" }, requests: { memory: "2Gi" } },
      },
    ]);
    expect(pod.volumes.find(({ name }) => name === "scratch")?.emptyDir).toEqual({ sizeLimit: "20Gi" });
  });

  it("is checked before the servers by a pod without their password, which only reads the archive", async () => {
    const resources = await declared(FROM);
    const check = only(resources, "valkey:index:ArchiveCheck");
    const place = (type: string): number => resources.findIndex((each) => each.type === type);
    expect(place(check.type)).toBeLessThan(place("kubernetes:apps/v1:StatefulSet"));
    expect(check.dependsOn).toContain("kubernetes:core/v1:ServiceAccount orders-restore");
    expect(only(resources, "valkey:index:ScaleIn").dependsOn).toContain("valkey:index:ArchiveCheck orders");
    const pod = check.inputs["pod"] as RestorePod;
    expect(pod.volumes.map(({ name }) => name).sort()).toEqual(["credentials", "program", "scratch", "settings"]);
    expect(pod.containers).toMatchObject([{ env: [{}, { name: "RESTORE_CHECK", value: "yes" }] }]);
    const filling = only(resources, "valkey:index:Restore").inputs["pod"] as RestorePod;
    expect(filling.volumes.map(({ name }) => name)).toEqual(expect.arrayContaining(["secret", "tls"]));
    expect(JSON.stringify(filling)).not.toContain("RESTORE_CHECK");
  });

  it("has settings that its program reads, with the time, the keys and the servers", async () => {
    const resources = await declared(FROM);
    const { inputs } = only(resources, "kubernetes:core/v1:ConfigMapPatch", "orders-restore");
    const text = (inputs["data"] as { readonly "settings.json": string })["settings.json"];
    expect(readRestorerSettings(text, checksum(text))).toEqual({
      place: { bucket: "backups", prefix: "shop/former", endpoint: "http://10.244.0.1:4568" },
      credentialsDirectory: "/restore/credentials",
      directory: "/scratch",
      task: {
        ...{ kind: "fill", deployment: "orders", mode: "cluster", ttl: "remaining", keys: ["app:*"] },
        at: Date.UTC(2026, 10, 24, 8),
        servers: "_valkey._tcp.orders-headless.shop.svc.cluster.local",
        ...{ passwordFile: "/valkey/secret/password", caFile: "/valkey/tls/ca.crt" },
      },
    });
  });

  it("is filled before it is verified, and its pod reaches servers that let it in", async () => {
    const resources = await declared(FROM);
    const place = (type: string): number => resources.findIndex((each) => each.type === type);
    expect(place("valkey:index:Formation")).toBeLessThan(place("valkey:index:Restore"));
    expect(place("valkey:index:Restore")).toBeLessThan(place("valkey:index:DeploymentVerification"));
    const label = {
      matchLabels: { "app.kubernetes.io/instance": "orders", "app.kubernetes.io/name": "valkey-restore" },
    };
    const policyOf = (name: string): string =>
      JSON.stringify(only(resources, "kubernetes:networking.k8s.io/v1:NetworkPolicy", name).inputs["spec"]);
    expect(policyOf("orders")).toContain(JSON.stringify(label));
    expect(policyOf("orders-restore")).toContain('"ingress":[]');
    expect(policyOf("orders-restore")).toContain('"port":4568');
  });

  it("declares nothing for a restore without the argument", async () => {
    const resources = await declared(undefined);
    expect(
      resources.filter(({ type, name }) => /:(Restore|ArchiveCheck)$/.test(type) || name.includes("restore")),
    ).toEqual([]);
  });
});

describe("arguments of restoreFrom", () => {
  it("are refused with every problem at once, each with its path", async () => {
    const wrong: RestoreFromArgs = {
      ...{ bucket: "My_Bucket", region: "eu-central-1", at: "yesterday", keys: [""], memory: "1Mi", timeoutSeconds: 5 },
      ttl: "later" as "absolute",
    };
    expect(restoreProblems(wrong, undefined).map(({ field }) => field)).toEqual([
      ...["bucket", "at", "keys", "ttl", "memory", "timeoutSeconds"],
    ]);
    await expect(declared(wrong)).rejects.toThrow(
      /restoreFrom\.bucket: it is "My_Bucket".*restoreFrom\.at: it is "yesterday"; expected a time with a time zone/s,
    );
    await expect(declared({})).rejects.toThrow("restoreFrom.bucket: it is missing, and the deployment has no backup");
  });

  it("mean the bucket of the backup without a bucket of their own", () => {
    const backup: BackupArgs = {
      bucket: "backups",
      endpoint: "https://minio:9000",
      credentials: { secretName: "minio" },
    };
    expect(restoredBucket({ prefix: "shop/former" }, backup)).toMatchObject({ ...backup, prefix: "shop/former" });
    expect(restoredBucket({ role: "arn:aws:iam::123456789012:role/read" }, backup)).toMatchObject({
      bucket: "backups",
      credentials: undefined,
      role: "arn:aws:iam::123456789012:role/read",
    });
    expect(restoredBucket({ bucket: "other" }, backup)).toMatchObject({ bucket: "other", endpoint: undefined });
  });
});

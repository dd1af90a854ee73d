/** The CronJob of an archive's drills, as the component declares it. */
import * as pulumi from "@pulumi/pulumi";
import { expect, it } from "vitest";
import { readArchiverSettings } from "../../../../archiver/pod-settings";
import { backupProblems } from "../../../../components/kubernetes/archive/backup-problems";
import { drillSchedule } from "../../../../components/kubernetes/restoring/drill";
import type { BackupArgs } from "../../../../components/kubernetes/backup-arguments";
import { ValkeyCluster } from "../../../../components/valkey-cluster";
import { checksum } from "../../../../lib/checksum";
import { readRestorerSettings } from "../../../../restorer/pod-settings";
import type { KubernetesObject } from "../../../support/kubernetes/kubernetes-objects";
import { renderObjects } from "../../../support/kubernetes/kubernetes-objects";

const BACKUP: BackupArgs = {
  bucket: "backups",
  endpoint: "http://10.244.0.1:4568",
  credentials: { accessKeyId: pulumi.secret("key"), secretAccessKey: pulumi.secret("never in a plain object") },
};

function objectsOf(backup: BackupArgs): Promise<KubernetesObject[]> {
  const resources = { requests: { cpu: "1", memory: "2Gi" }, limits: { cpu: "2", memory: "3Gi" } };
  return renderObjects(
    () =>
      new ValkeyCluster("orders", {
        ...{ namespace: "shop", shape: { primaries: 3, replicasPerPrimary: 1 }, zones: ["a", "b", "c"] },
        ...{ tls: { secretName: "certificate" }, controller: false, resources, backup },
      }),
  );
}

function named(objects: readonly KubernetesObject[], kind: string, name: string): unknown {
  const found = objects.find((each) => each.kind === kind && each.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

const settingsIn = (objects: readonly KubernetesObject[], name: string): string =>
  (named(objects, "ConfigMap", name) as { readonly data: { readonly "settings.json": string } }).data["settings.json"];

interface CronJob {
  readonly spec: {
    readonly jobTemplate: {
      readonly metadata: { readonly labels: unknown };
      readonly spec: {
        readonly template: {
          readonly metadata: { readonly labels: unknown };
          readonly spec: {
            readonly serviceAccountName: string;
            readonly restartPolicy: string;
            readonly automountServiceAccountToken: boolean;
            readonly initContainers: readonly unknown[];
            readonly containers: readonly unknown[];
          };
        };
      };
    };
  };
}

it("never runs twice at a time, and has a server of the deployment's image and memory", async () => {
  const cronJob = named(await objectsOf({ ...BACKUP, drill: "weekly" }), "CronJob", "orders-drill") as CronJob;
  expect(cronJob.spec).toMatchObject({
    ...{ schedule: drillSchedule("orders", "weekly"), concurrencyPolicy: "Forbid", startingDeadlineSeconds: 3600 },
    ...{ successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1 },
    jobTemplate: {
      spec: {
        ...{ backoffLimit: 1, activeDeadlineSeconds: 86_400, ttlSecondsAfterFinished: 604_800 },
        // The program of a drill that fails ends with status 1.
        podFailurePolicy: {
          rules: [{ action: "FailJob", onExitCodes: { containerName: "drill", operator: "In", values: [1] } }],
        },
      },
    },
  });
  const { template } = cronJob.spec.jobTemplate.spec;
  expect(template.spec).toMatchObject({
    ...{ serviceAccountName: "orders-archive", restartPolicy: "Never", automountServiceAccountToken: false },
    initContainers: [
      {
        name: "staging",
        resources: { requests: { memory: "3Gi" }, limits: { memory: "3Gi" } },
        restartPolicy: "Always",
      },
    ],
    containers: [{ name: "drill", securityContext: { readOnlyRootFilesystem: true } }],
  });
  const other = named(
    await objectsOf({ ...BACKUP, drill: "daily", drillMemory: "5Gi" }),
    "CronJob",
    "orders-drill",
  ) as CronJob;
  expect(other.spec.jobTemplate.spec.template.spec.initContainers).toMatchObject([
    { resources: { requests: { memory: "5Gi" }, limits: { memory: "5Gi" } } },
  ]);
});

it("reaches only the bucket and DNS, with the access of the archive's pod", async () => {
  const objects = await objectsOf({ ...BACKUP, drill: "weekly" });
  const labels = { "app.kubernetes.io/name": "valkey-drill", "app.kubernetes.io/instance": "orders" };
  const cronJob = named(objects, "CronJob", "orders-drill") as CronJob;
  expect(cronJob.spec.jobTemplate.spec.template.metadata.labels).toEqual(labels);
  const policy = named(objects, "NetworkPolicy", "orders-drill") as { readonly spec: unknown };
  expect(policy.spec).toEqual({
    podSelector: { matchLabels: labels },
    policyTypes: ["Ingress", "Egress"],
    ingress: [],
    egress: [
      { ports: [{ protocol: "TCP", port: 4568 }] },
      {
        ports: [
          { protocol: "UDP", port: 53 },
          { protocol: "TCP", port: 53 },
        ],
      },
    ],
  });
  const text = settingsIn(objects, "orders-drill");
  expect(readRestorerSettings(text, checksum(text))).toEqual({
    place: { bucket: "backups", prefix: "shop/orders", endpoint: "http://10.244.0.1:4568" },
    credentialsDirectory: "/archive/credentials",
    directory: "/scratch",
    task: { kind: "drill", deployment: "orders" },
  });
  expect(JSON.stringify(objects.filter(({ kind }) => kind !== "Secret"))).not.toContain("never in a plain object");
});

it("is there only with the argument, whose interval the archive's pod knows", async () => {
  const [without, weekly] = [await objectsOf(BACKUP), await objectsOf({ ...BACKUP, drill: "weekly" })];
  const isDrill = ({ metadata }: KubernetesObject): boolean => metadata.name.startsWith("orders-drill");
  expect(without.filter(isDrill)).toEqual([]);
  expect(
    weekly
      .filter(isDrill)
      .map(({ kind }) => kind)
      .sort(),
  ).toEqual(["ConfigMap", "ConfigMap", "CronJob", "NetworkPolicy"]);
  const every = (objects: readonly KubernetesObject[]): number | undefined => {
    const text = settingsIn(objects, "orders-archive");
    return readArchiverSettings(text, checksum(text)).drillEverySeconds;
  };
  expect([every(without), every(weekly)]).toEqual([undefined, 604_800]);
});

it("starts at different times for different deployments, at a time that each month has", () => {
  const names = Array.from({ length: 200 }, (_, index) => `deployment-${index}`);
  const monthly = names.map((name) => drillSchedule(name, "monthly"));
  expect(new Set(monthly).size).toBeGreaterThan(190);
  for (const schedule of monthly) {
    const [minute, hour, day, ...others] = schedule.split(" ");
    expect([Number(minute) < 60, Number(hour) < 24, Number(day) >= 1, Number(day) <= 28]).toEqual(Array(4).fill(true));
    expect(others).toEqual(["*", "*"]);
  }
  const days = new Set(names.map((name) => drillSchedule(name, "weekly").split(" ")[4]));
  expect([...days].sort()).toEqual(["0", "1", "2", "3", "4", "5", "6"]);
  expect(drillSchedule("orders", "daily")).toMatch(/^\d+ \d+ \* \* \*$/);
  expect(drillSchedule("orders", "daily")).toBe(drillSchedule("orders", "daily"));
});

it("needs a known interval, and memory only with an interval", () => {
  const problems = (args: object): unknown => backupProblems({ ...BACKUP, ...args });
  expect(problems({ drill: "hourly" })).toEqual([
    { field: "drill", reason: 'it is "hourly"; expected daily, weekly or monthly' },
  ]);
  expect(problems({ drillMemory: "4Gi" })).toMatchObject([
    { field: "drillMemory", reason: "needs drill, the interval of drills" },
  ]);
  expect(problems({ drill: "daily", drillMemory: "1Mi" })).toMatchObject([{ field: "drillMemory" }]);
  expect(problems({ drill: "daily", drillMemory: "4Gi" })).toEqual([]);
});

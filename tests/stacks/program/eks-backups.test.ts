/** A stack on EKS whose deployments write their backups to the bucket of the platform, or begin with an archive. */
import * as pulumi from "@pulumi/pulumi";
import { beforeAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../../stacks/config/parse";
import type { Deployed } from "../../../stacks/program/platforms/deployed";
import { accountCalls, awsOutputs } from "../../support/pulumi/eks";
import { type ProgramRun, outputValue, runProgram } from "../../support/pulumi/pulumi-mocks";
import { MACHINE } from "../../support/stack-config";

const ROLE = "arn:aws:iam::123456789012:role/restores";
const CONFIG = parseConfig(
  "stack shop",
  {
    platform: { type: "eks", clusterName: "shop", namespace: "data", backups: { bucketName: "our-backups" } },
    deployments: {
      orders: { mode: "cluster", primaries: 3, backup: { keepSeconds: 864_000 } },
      carts: { mode: "cluster", primaries: 3, backup: { bucket: "theirs", region: "eu-central-1" } },
      copy: { mode: "cluster", primaries: 3, restoreFrom: { from: "s3://our-backups/data/orders" } },
      own: { mode: "cluster", primaries: 3, restoreFrom: { from: "s3://theirs/a", role: ROLE } },
    },
  },
  MACHINE,
);

let program: ProgramRun;
beforeAll(async () => {
  const { deployOnEks } = await import("../../../stacks/program/platforms/eks.js");
  const { platform } = CONFIG;
  if (platform.type !== "eks") throw new Error(platform.type);
  program = await runProgram(() => deployOnEks("shop", platform, CONFIG), awsOutputs, accountCalls, "shop");
}, 120_000);

const settingsOf = (deployment: string): unknown => {
  const { data } = program.one("kubernetes:core/v1:ConfigMapPatch", `${deployment}-archive`).inputs as {
    readonly data: { readonly "settings.json": string };
  };
  return JSON.parse(data["settings.json"]);
};

describe("a deployment with a backup and without a bucket", () => {
  it("writes to its part of the platform's bucket, in the platform's region", () => {
    expect(settingsOf("orders")).toMatchObject({
      place: { bucket: "our-backups", prefix: "data/orders", region: "us-west-2", encryption: "none" },
      keepSeconds: 864_000,
    });
  });

  it("has an association for its service account, and the pod waits until this account gives pods credentials", () => {
    const association = program.one(
      "aws:eks/podIdentityAssociation:PodIdentityAssociation",
      "shop-data-orders-orders-archive",
    );
    expect(association.inputs).toMatchObject({
      clusterName: "shop",
      namespace: "data",
      serviceAccount: "orders-archive",
    });
    const trial = program.one("valkey:index:PodCredentials", "orders-archive");
    expect(trial.inputs).toMatchObject({
      ...{ namespace: "data", serviceAccount: "orders-archive", purpose: "access to our-backups" },
    });
    const pod = program.one("kubernetes:apps/v1:Deployment", "orders-archive");
    const account = program.one("kubernetes:core/v1:ServiceAccount", "orders-archive");
    expect(program.isDeletedBefore(trial, account)).toBe(true);
    expect(program.isDeletedBefore(pod, trial)).toBe(true);
  });
});

describe("a deployment with a bucket of its own", () => {
  it("uses this bucket, and gets no access from the platform", () => {
    expect(settingsOf("carts")).toMatchObject({ place: { bucket: "theirs", region: "eu-central-1" } });
    const associations = program.ofType("aws:eks/podIdentityAssociation:PodIdentityAssociation");
    const accounts = associations.map(({ inputs }) => inputs["serviceAccount"]);
    expect(accounts.sort()).toEqual(["copy-restore", "karpenter", "orders-archive"]);
  });
});

describe("a deployment that begins with an archive of a different deployment", () => {
  it("has a role that can read this archive, and the pod waits until EKS gives its account credentials", () => {
    const { policy } = program.one("aws:iam/rolePolicy:RolePolicy", "shop-data-copy-restore").inputs;
    expect(String(policy)).toContain(":s3:::our-backups/data/orders/*");
    const trial = program.one("valkey:index:PodCredentials", "copy-restore");
    expect(trial.inputs).toMatchObject({ serviceAccount: "copy-restore", purpose: "access to our-backups" });
    const restore = program.one("valkey:index:Restore", "copy");
    expect(program.isDeletedBefore(restore, trial)).toBe(true);
  });

  it("uses the role of the user if there is one", () => {
    expect(program.ofType("valkey:index:PodCredentials").map(({ name }) => name)).not.toContain("own-restore");
    const account = program.one("kubernetes:core/v1:ServiceAccount", "own-restore");
    expect(account.inputs["metadata"]).toMatchObject({ annotations: { "eks.amazonaws.com/role-arn": ROLE } });
  });
});

describe("the stack", () => {
  it("has the name of the bucket as an output, for restores", async () => {
    const { backupBucket } = program.returned as Deployed;
    expect(await outputValue(pulumi.output(backupBucket))).toBe("our-backups");
  });
});

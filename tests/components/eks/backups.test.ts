/** The bucket for backups of a platform, and what a deployment's pod may do in it. */
import type * as pulumi from "@pulumi/pulumi";
import { beforeAll, describe, expect, it } from "vitest";
import { BadInput } from "../../../lib/errors";
import type { EksPlatform } from "../../../components/eks/platform";
import type { BackupBucketArgs } from "../../../platforms/eks/backup-bucket";
import type { PolicyDocument } from "../../../components/eks/karpenter/karpenter-policies";
import { tlsOnly } from "../../../components/eks/backup-policies";
import { isAllowed } from "../../support/aws/policy-simulation";
import { ACCOUNT_ID, awsCalls, awsOutputs, plainArn, platformArgs, VALKEY_ON_EKS_PLAN } from "../../support/pulumi/eks";
import { type DeclaredResource, type ProgramRun, outputValue, runProgram } from "../../support/pulumi/pulumi-mocks";

const KEY = `arn:aws:kms:us-west-2:${ACCOUNT_ID}:key/1234abcd-12ab-34cd-56ef-1234567890ab`;
const ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation";

/** Policy that AWS gives a new key: the policies of the account's roles decide. */
const KEY_POLICY = {
  Version: "2012-10-17",
  Statement: [
    {
      ...{ Sid: "Account", Effect: "Allow", Action: "kms:*", Resource: "*" },
      Principal: { AWS: `arn:aws:iam::${ACCOUNT_ID}:root` },
    },
  ],
} as unknown as PolicyDocument;

/** A resource with its type, which the SDK keeps to itself. */
interface Typed {
  readonly __pulumiType: string;
}

type Use = (platform: EksPlatform) => unknown;

async function platform(backups: BackupBucketArgs | undefined, use: Use = () => undefined): Promise<ProgramRun> {
  const { EksPlatform: Platform } = await import("../../../components/eks/platform.js");
  return runProgram(
    () => use(new Platform("valkey", platformArgs(VALKEY_ON_EKS_PLAN, { backups }))),
    (type, name, inputs) =>
      type === "aws:s3/bucket:Bucket" ? { bucket: inputs["bucket"] ?? "generated" } : awsOutputs(type, name, inputs),
    awsCalls,
  );
}

const ofS3 = (program: ProgramRun): DeclaredResource[] =>
  program.resources.filter(({ type }) => type.startsWith("aws:s3/"));
const s3 = (program: ProgramRun, kind: string): DeclaredResource =>
  program.one(`aws:s3/${kind.charAt(0).toLowerCase()}${kind.slice(1)}:${kind}`);
const document = ({ inputs }: DeclaredResource): PolicyDocument =>
  JSON.parse(plainArn(String(inputs["policy"] ?? inputs["assumeRolePolicy"]))) as PolicyDocument;

describe("the bucket for backups", () => {
  let program: ProgramRun;
  beforeAll(async () => {
    program = await platform({});
  }, 120_000);

  it("exists only if it is wanted, and without it a deployment gets no access", async () => {
    const without = await platform(undefined);
    expect(ofS3(without)).toEqual([]);
    const refused = platform(undefined, (made) => made.backupFor("orders"));
    await expect(refused).rejects.toThrow(BadInput);
    await expect(refused).rejects.toThrow("the backup of orders needs a bucket; set backups: {}");
    await expect(platform(undefined, (made) => made.restoreFor("carts", { prefix: "shop/orders" }))).rejects.toThrow(
      "the restore of carts needs a bucket; set backups: {}, or name a bucket",
    );
  }, 60_000);

  it("stays with all of its settings when the stack is destroyed, unless its deletion is asked for", async () => {
    expect(ofS3(program)).toHaveLength(7);
    for (const { name, options } of ofS3(program)) expect(options.retainOnDelete, name).toBe(true);
    const deleted = await platform({ onDestroy: "delete" });
    for (const { name, options } of ofS3(deleted)) expect(options.retainOnDelete, name).toBe(false);
    expect(s3(deleted, "Bucket").inputs["forceDestroy"]).toBe(true);
  }, 60_000);

  it("refuses every request without TLS, and no request with TLS", async () => {
    const policy = document(s3(program, "BucketPolicy"));
    expect(policy).toEqual(tlsOnly("arn:aws:s3:::generated"));
    const everything = {
      name: "all",
      policy: {
        Version: "2012-10-17",
        Statement: [{ Sid: "All", Effect: "Allow", Action: "s3:*", Resource: "*" }],
      } satisfies PolicyDocument,
    };
    const by = `arn:aws:iam::${ACCOUNT_ID}:role/any`;
    const get = (secure: string): Promise<boolean> =>
      isAllowed(
        { action: "s3:GetObject", resource: "arn:aws:s3:::generated/a", context: { "aws:SecureTransport": secure } },
        by,
        [everything],
        policy,
      );
    expect([await get("true"), await get("false")]).toEqual([true, false]);
  });

  it("gets a configured name, and a key of the user, asked for a key of the bucket", async () => {
    const own = await platform({ bucketName: "our-backups", encryption: `aws:kms:${KEY}`, keepDeletedDays: 30 });
    expect(s3(own, "Bucket").inputs).toMatchObject({ bucket: "our-backups" });
    expect(s3(own, "BucketServerSideEncryptionConfiguration").inputs["rules"]).toEqual([
      { applyServerSideEncryptionByDefault: { sseAlgorithm: "aws:kms", kmsMasterKeyId: KEY }, bucketKeyEnabled: true },
    ]);
  }, 60_000);

  it("is not created or changed if it exists already", async () => {
    const existing = await platform({ existingBucket: "theirs" }, (made) => made.backupFor("orders").bucket);
    expect(ofS3(existing)).toEqual([]);
    expect(await outputValue(existing.returned as Parameters<typeof outputValue>[0])).toBe("theirs");
  }, 60_000);
});

describe("the access of a deployment", () => {
  let program: ProgramRun;
  beforeAll(async () => {
    program = await platform({ encryption: `aws:kms:${KEY}` }, (made) => {
      made.backupFor("orders", "shop");
      made.backupFor("orders-2", "shop");
      made.restoreFor("copy", { prefix: "shop/orders" }, "trial");
      made.restoreFor("whole", { bucket: "theirs", prefix: "" });
      return made.backupFor("odd", "shop", "a*b").bucket;
    });
  }, 120_000);

  const may = (
    deployment: string,
    action: string,
    object: string,
    context: Readonly<Record<string, string>> = {},
    name = `valkey-shop-${deployment}-backup`,
  ): Promise<boolean> => {
    const role = program.one("aws:iam/role:Role", name);
    const policy = document(program.one("aws:iam/rolePolicy:RolePolicy", name));
    return isAllowed(
      { action, resource: object.startsWith("arn:") ? object : `arn:aws:s3:::generated${object}`, context },
      `arn:aws:iam::${ACCOUNT_ID}:role/${String(role.inputs["name"])}`,
      [{ name, policy }],
      object === KEY ? KEY_POLICY : undefined,
    );
  };

  /** Requests of the archive: `backup/archive/bucket/`. */
  it.each<[string, string, Record<string, string>?]>([
    ["s3:ListBucket", "", { "s3:prefix": "shop/orders/" }],
    ["s3:ListBucket", "", { "s3:prefix": "shop/orders/1/shard-0/", "s3:delimiter": "/" }],
    ["s3:ListBucketMultipartUploads", ""],
    ["s3:PutObject", "/shop/orders/.lease.json"],
    ["s3:GetObject", "/shop/orders/.lease.json"],
    ["s3:PutObject", "/shop/orders/1/shard-0/base.rdb"],
    ["s3:AbortMultipartUpload", "/shop/orders/1/shard-0/base.rdb"],
    ["s3:DeleteObject", "/shop/orders/1/shard-0/base.rdb"],
    ["kms:GenerateDataKey", KEY, { "kms:ViaService": "s3.us-west-2.amazonaws.com" }],
    ["kms:Decrypt", KEY, { "kms:ViaService": "s3.us-west-2.amazonaws.com" }],
  ])("allows its archive %s on %j with %j", async (action, object, context) => {
    expect(await may("orders", action, object, context)).toBe(true);
  });

  it.each<[string, string, Record<string, string>?]>([
    ["s3:ListBucket", ""],
    ["s3:ListBucket", "", { "s3:prefix": "" }],
    ["s3:ListBucket", "", { "s3:prefix": "shop/" }],
    ["s3:ListBucket", "", { "s3:prefix": "shop/orders" }],
    ["s3:ListBucket", "", { "s3:prefix": "shop/orders-2/" }],
    ["s3:GetObject", "/shop/orders-2/archive.json"],
    ["s3:PutObject", "/shop/orders-2/archive.json"],
    ["s3:DeleteObject", "/shop/orders-2/archive.json"],
    ["s3:DeleteObjectVersion", "/shop/orders/1/shard-0/base.rdb"],
    ["s3:PutBucketPolicy", ""],
    ["s3:PutLifecycleConfiguration", ""],
    ["s3:DeleteBucket", ""],
    ["kms:Decrypt", KEY],
    ["kms:Decrypt", KEY, { "kms:ViaService": "ec2.us-west-2.amazonaws.com" }],
  ])("refuses its archive %s on %j with %j", async (action, object, context) => {
    expect(await may("orders", action, object, context)).toBe(false);
  });

  it("reads a prefix with a wildcard of IAM as plain text", async () => {
    expect(await may("odd", "s3:GetObject", "/a*b/archive.json")).toBe(true);
    expect(await may("odd", "s3:GetObject", "/a-b/archive.json")).toBe(false);
  });

  /** Requests of the program in `backup/restorer/`. */
  it.each<[boolean, string, string, Record<string, string>?]>([
    [true, "s3:ListBucket", "", { "s3:prefix": "shop/orders/" }],
    [true, "s3:GetObject", "/shop/orders/1/shard-0/base.rdb"],
    [false, "s3:ListBucket", "", { "s3:prefix": "trial/copy/" }],
    [false, "s3:GetObject", "/shop/orders-2/archive.json"],
    [false, "s3:PutObject", "/shop/orders/archive.json"],
    [false, "s3:DeleteObject", "/shop/orders/1/shard-0/base.rdb"],
  ])("answers %s to a restore that asks for %s on %j with %j", async (expected, action, object, context) => {
    expect(await may("copy", action, object, context, "valkey-trial-copy-restore")).toBe(expected);
  });

  // The simulation does not know condition keys of the encryption context.
  it("lets a restore decrypt what encrypts the objects of its archive, with any key, and nothing else", () => {
    const { Statement } = document(program.one("aws:iam/rolePolicy:RolePolicy", "valkey-trial-copy-restore"));
    expect(Statement.filter(({ Action }) => String(Action).includes("kms"))).toEqual([
      {
        ...{ Sid: "AllowKeyOfTheObjects", Effect: "Allow", Action: "kms:Decrypt", Resource: "*" },
        Condition: {
          StringLike: {
            "kms:ViaService": "s3.*.amazonaws.com",
            "kms:EncryptionContext:aws:s3:arn": ["arn:aws:s3:::generated", "arn:aws:s3:::generated/shop/orders/*"],
          },
        },
      },
    ]);
  });

  it("lets a restore from a bucket without a prefix read all of this bucket, and no other bucket", async () => {
    const reads = (object: string, context?: Record<string, string>): Promise<boolean> =>
      may("whole", context ? "s3:ListBucket" : "s3:GetObject", object, context, "valkey-default-whole-restore");
    expect(await reads("arn:aws:s3:::theirs/archive.json")).toBe(true);
    expect(await reads("arn:aws:s3:::theirs", { "s3:prefix": "" })).toBe(true);
    expect(await reads("arn:aws:s3:::generated/archive.json")).toBe(false);
  });

  it("is a role of the restore's own pod, whose rights exist before the name of its bucket is known", () => {
    const association = program.one(ASSOCIATION, "valkey-trial-copy-copy-restore");
    expect(association.inputs).toMatchObject({ namespace: "trial", serviceAccount: "copy-restore" });
    const role = program.one("aws:iam/role:Role", "valkey-trial-copy-restore");
    expect(String(association.inputs["roleArn"])).toContain(`role/${String(role.inputs["name"])}`);
    const accounts = program.ofType(ASSOCIATION).map(({ inputs }) => inputs["serviceAccount"]);
    expect(accounts).not.toContain("orders-restore");
    const rights = program.one("aws:iam/rolePolicy:RolePolicy", "valkey-trial-copy-restore");
    expect(program.isDeletedBefore(association, rights)).toBe(true);
  });

  it("is a role that only the pod of the archive in its namespace can take", async () => {
    const role = program.one("aws:iam/role:Role", "valkey-shop-orders-backup");
    expect(String(role.inputs["name"])).toMatch(/^valkey-backup-[0-9a-f]{10}$/);
    const trust = document(role);
    const association = program.one(ASSOCIATION, "valkey-shop-orders-orders-archive");
    expect(association.inputs).toMatchObject({
      clusterName: "valkey",
      namespace: "shop",
      serviceAccount: "orders-archive",
    });
    expect(String(association.inputs["roleArn"])).toContain(`role/${String(role.inputs["name"])}`);
    const tags = {
      "aws:RequestTag/eks-cluster-arn": `arn:aws:eks:us-west-2:${ACCOUNT_ID}:cluster/valkey`,
      "aws:RequestTag/kubernetes-namespace": "shop",
      "aws:RequestTag/kubernetes-service-account": "orders-archive",
    };
    const takes = (changes: Partial<typeof tags>): Promise<boolean> =>
      isAllowed(
        {
          action: "sts:AssumeRole",
          resource: `arn:aws:iam::${ACCOUNT_ID}:role/${String(role.inputs["name"])}`,
          context: { ...tags, ...changes },
        },
        "pods.eks.amazonaws.com",
        [],
        trust,
      );
    expect(await takes({})).toBe(true);
    expect(await takes({ "aws:RequestTag/kubernetes-namespace": "other" })).toBe(false);
    expect(await takes({ "aws:RequestTag/kubernetes-service-account": "orders-2-archive" })).toBe(false);
  });

  it("exists before the name of its bucket is known, and is removed before the cluster", async () => {
    const cluster = program.one("eks:index:Cluster");
    for (const each of program.ofType(ASSOCIATION)) expect(program.isDeletedBefore(each, cluster)).toBe(true);
    for (const deployment of ["orders", "orders-2", "odd"]) {
      const association = program.one(ASSOCIATION, `valkey-shop-${deployment}-${deployment}-archive`);
      const rights = program.one("aws:iam/rolePolicy:RolePolicy", `valkey-shop-${deployment}-backup`);
      expect(program.isDeletedBefore(association, rights)).toBe(true);
    }
    const bucket = program.returned as pulumi.Output<string> & {
      allResources(): Promise<ReadonlySet<pulumi.Resource>>;
    };
    expect(await outputValue(bucket)).toBe("generated");
    // What uses the name of the bucket waits for these resources.
    const kinds = [...(await bucket.allResources())].map((each) => (each as unknown as Typed).__pulumiType);
    expect(kinds).toContain(ASSOCIATION);
    expect(kinds).toContain("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration");
  });
});

/**
 * The rights that a platform on EKS gives to a deployment's archive, against the requests that the archive sends to a
 * real S3 server.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { backupRights } from "../../../components/eks/backup-policies";
import { BucketStore } from "../../../valkey/archive/bucket/bucket-store";
import type { PolicyRequest } from "../../support/aws/policy-simulation";
import { isAllowed } from "../../support/aws/policy-simulation";
import { ACCOUNT_ID } from "../../support/pulumi/eks";
import { BUCKET, CREDENTIALS, S3Server } from "../../support/valkey/s3-server";

const BUCKET_ARN = `arn:aws:s3:::${BUCKET}`;
const LARGE = Buffer.alloc(9 * 1024 ** 2, "x");
let directory: string;
let server: S3Server;

beforeAll(async () => {
  for (const [name, value] of Object.entries(CREDENTIALS)) vi.stubEnv(name, value);
  directory = mkdtempSync(join(tmpdir(), "rights-"));
  server = await S3Server.start(directory);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.close();
  rmSync(directory, { recursive: true });
});

/** Everything that an archive, its retention and a restore do with a bucket. */
async function useBucket(prefix: string): Promise<void> {
  const { signal } = new AbortController();
  const place = { bucket: BUCKET, prefix, endpoint: server.endpoint, region: undefined, pathStyle: true };
  const store = await BucketStore.open({ ...place, encryption: { kind: "none" } }, signal);
  const lease = await store.lease(signal);
  await store.put("archive.json", [Buffer.from("{}")]);
  const large = await store.create("1/shard-0/base.rdb", 1);
  await large.write(LARGE);
  await large.commit();
  const discarded = await store.create("1/shard-0/base-2.rdb", LARGE.length);
  await discarded.write(LARGE);
  await discarded.discard();
  expect(await store.list("1/shard-0")).toEqual(["base.rdb"]);
  for await (const piece of store.read("1/shard-0/base.rdb")) expect(piece.length).toBeGreaterThan(0);
  await store.removePending("1");
  await store.removeFolder("1", "shard-0/base.rdb", signal);
  await store.remove("archive.json");
  await lease?.release();
}

/** The action and the resource by which IAM decides on a request to S3 ("Required permissions for S3 API operations"). */
function actionOf(line: string): PolicyRequest {
  const [method = "", target = ""] = line.split(" ");
  const { pathname, searchParams } = new URL(target, "http://localhost");
  const key = decodeURIComponent(pathname).replace(`/${BUCKET}`, "").replace(/^\//, "");
  const object = `${BUCKET_ARN}/${key}`;
  if (key === "") {
    if (searchParams.has("uploads")) return { action: "s3:ListBucketMultipartUploads", resource: BUCKET_ARN };
    const context = { "s3:prefix": searchParams.get("prefix") ?? "" };
    return { action: "s3:ListBucket", resource: BUCKET_ARN, context };
  }
  if (method === "DELETE")
    return { action: searchParams.has("uploadId") ? "s3:AbortMultipartUpload" : "s3:DeleteObject", resource: object };
  return { action: method === "GET" || method === "HEAD" ? "s3:GetObject" : "s3:PutObject", resource: object };
}

describe("the rights of a deployment's archive", () => {
  const decide = async (prefix: string): Promise<{ readonly allowed: Set<string>; readonly refused: Set<string> }> => {
    const scope = { partition: "aws", region: "us-west-2", bucket: BUCKET, prefix, keyArn: undefined };
    const policies = [{ name: "backup", policy: backupRights(scope) }];
    const [allowed, refused] = [new Set<string>(), new Set<string>()];
    for (const request of server.requests.map(actionOf)) {
      const isIn = await isAllowed(request, `arn:aws:iam::${ACCOUNT_ID}:role/backup`, policies);
      (isIn ? allowed : refused).add(request.action);
    }
    return { allowed, refused };
  };

  it("allow every request that it sends, have no action that it does not need, and refuse those of a different one", async () => {
    await useBucket("shop/orders");
    const own = await decide("shop/orders");
    expect([...own.refused]).toEqual([]);
    const [listing, uploads, objects] = backupRights({
      ...{ partition: "aws", region: "us-west-2", bucket: BUCKET, prefix: "shop/orders", keyArn: undefined },
    }).Statement.map(({ Action }) => [Action].flat());
    expect([...own.allowed].sort()).toEqual([listing, uploads, objects].flatMap((each) => each ?? []).sort());
    const other = await decide("shop/orders-2");
    expect([...other.allowed]).toEqual(["s3:ListBucketMultipartUploads"]);
  });
});

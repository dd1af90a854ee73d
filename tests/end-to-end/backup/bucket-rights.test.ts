/**
 * The rights that a platform on EKS gives to a deployment's archive, against the requests that the archive sends to a
 * real S3 s3.server. backup-bucket.test.ts does the same with a restore.
 */
import { describe, expect, it } from "vitest";
import { backupRights } from "../../../components/eks/backup-policies";
import { BucketStore } from "../../../backup/archive/bucket/bucket-store";
import { isAllowed } from "../../support/aws/policy-simulation";
import { requestToS3 } from "../../support/aws/requests-to-s3";
import { ACCOUNT_ID } from "../../support/pulumi/eks";
import { useS3 } from "../../support/valkey/hooks";
import { BUCKET } from "../../support/valkey/s3-server";

const LARGE = Buffer.alloc(9 * 1024 ** 2, "x");
const { signal } = new AbortController();
const s3 = useS3();

function open(prefix: string): Promise<BucketStore> {
  const place = { bucket: BUCKET, prefix, endpoint: s3.server.endpoint, region: undefined, pathStyle: true };
  return BucketStore.open({ ...place, encryption: { kind: "none" } }, signal);
}

async function useBucket(prefix: string): Promise<void> {
  const store = await open(prefix);
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

describe("the rights of a deployment's archive", () => {
  const decide = async (prefix: string): Promise<{ readonly allowed: Set<string>; readonly refused: Set<string> }> => {
    const scope = { partition: "aws", region: "us-west-2", bucket: BUCKET, prefix, keyArn: undefined };
    const policies = [{ name: "backup", policy: backupRights(scope) }];
    const [allowed, refused] = [new Set<string>(), new Set<string>()];
    for (const request of s3.server.requests.map(requestToS3)) {
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

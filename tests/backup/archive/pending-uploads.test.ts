/** Uploads that earlier calls left in a bucket: those of all pages of the server's list. */
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BucketStore } from "../../../backup/archive/bucket/bucket-store";

const KEYS = ["shop/p1/shard-0/s/base.rdb", "shop/p1/shard-1/s/base.rdb", "shop/p2/shard-0/s/base.rdb"];
const environment = { ...process.env };
let server: Server;
/** Uploads that the server has, by ID. */
let uploads: Map<string, string>;
/** ID of an upload that has ended before it is removed. */
let ended: string | undefined;

/** One upload of the list, as S3 servers write it. */
function page(url: URL): string {
  const prefix = url.searchParams.get("prefix") ?? "";
  const marker = url.searchParams.get("upload-id-marker") ?? "";
  const left = [...uploads].filter(([id, key]) => id > marker && key.startsWith(prefix));
  const [first] = left;
  const found = first === undefined ? "" : `<Upload><Key>${first[1]}</Key><UploadId>${first[0]}</UploadId></Upload>`;
  const next =
    first === undefined
      ? ""
      : `<NextKeyMarker>${first[1]}</NextKeyMarker><NextUploadIdMarker>${first[0]}</NextUploadIdMarker>`;
  const truncated = `<IsTruncated>${left.length > 1}</IsTruncated>`;
  return `<ListMultipartUploadsResult>${found}${next}${truncated}</ListMultipartUploadsResult>`;
}

beforeEach(async () => {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" });
  uploads = new Map(KEYS.map((key, index) => [`upload-${index}`, key]));
  ended = undefined;
  server = createServer(({ method, url = "" }, response) => {
    const parsed = new URL(url, "http://localhost");
    const id = parsed.searchParams.get("uploadId") ?? "";
    response.setHeader("content-type", "application/xml");
    if (method === "DELETE" && id === ended) {
      response.statusCode = 404;
      response.end("<Error><Code>NoSuchUpload</Code><Message>none</Message></Error>");
    } else if (method === "DELETE") {
      uploads.delete(id);
      response.statusCode = 204;
      response.end();
    } else if (parsed.searchParams.has("uploads")) response.end(page(parsed));
    else response.end("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
  process.env = { ...environment };
});

async function open(): Promise<BucketStore> {
  const { port } = server.address() as AddressInfo;
  const place = { bucket: "backups", prefix: "shop", endpoint: `http://127.0.0.1:${port}`, region: undefined };
  return BucketStore.open({ ...place, encryption: { kind: "none" }, pathStyle: true }, new AbortController().signal);
}

it("removes the uploads of one folder, or of all", async () => {
  const store = await open();
  await store.removePending("p1");
  expect([...uploads.values()]).toEqual([KEYS[2]]);
  await store.removePending("");
  expect(uploads.size).toBe(0);
});

it("goes on after an upload that has ended meanwhile", async () => {
  ended = "upload-1";
  await (await open()).removePending("");
  expect([...uploads.keys()]).toEqual(["upload-1"]);
});

import { createHash } from "node:crypto";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { Failure } from "../../../lib/errors";
import type { PendingFile } from "../store";
import type { Encryption } from "./location";
import { isMissing } from "./refusals";
import type { Requests } from "./requests";

const MIB = 1024 ** 2;
const SMALLEST_PART = 8 * MIB;
const MOST_PARTS = 10_000;
const AT_ONCE = 3;
const ABORT_MS = 5_000;

/** Bytes. All parts but the last have the same size, because some servers require this. */
export function partSize(expectedBytes = 0): number {
  return Math.max(SMALLEST_PART, Math.ceil((2 * expectedBytes) / MOST_PARTS / MIB) * MIB);
}

export function encryptionOf(encryption: Encryption): {
  ServerSideEncryption?: "AES256" | "aws:kms";
  SSEKMSKeyId?: string;
} {
  if (encryption.kind === "none") return {};
  const key = encryption.kind === "aws:kms" ? encryption.key : undefined;
  return { ServerSideEncryption: encryption.kind, ...(key === undefined ? {} : { SSEKMSKeyId: key }) };
}

export const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("base64");

interface SentPart {
  readonly PartNumber: number;
  readonly ETag: string | undefined;
  readonly ChecksumSHA256: string;
}

export async function putObject(requests: Requests, key: string, body: Buffer): Promise<void> {
  const input = { ...target(requests, key), ...encryptionOf(requests.location.encryption) };
  const checksum = sha256(body);
  await requests.send(
    (options) =>
      requests.client.send(new PutObjectCommand({ ...input, Body: body, ChecksumSHA256: checksum }), options),
    { bytes: body.length },
  );
}

export function target({ location }: Requests, key: string): { Bucket: string; Key: string } {
  return { Bucket: location.bucket, Key: key };
}

export class Upload implements PendingFile {
  readonly #partSize: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #size = 0;
  #parts = 0;
  #id: string | undefined;
  readonly #sent: SentPart[] = [];
  readonly #sending = new Set<Promise<void>>();
  #failed: { readonly error: unknown } | undefined;

  constructor(
    private readonly requests: Requests,
    private readonly key: string,
    expectedBytes: number | undefined,
  ) {
    this.#partSize = partSize(expectedBytes);
  }

  async write(bytes: Buffer): Promise<void> {
    this.#throwFailed();
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#size += bytes.length;
    if (this.#waitingBytes < this.#partSize) return;
    let all = Buffer.concat(this.#waiting);
    for (; all.length >= this.#partSize; all = all.subarray(this.#partSize))
      await this.#sendPart(all.subarray(0, this.#partSize));
    this.#waiting = all.length === 0 ? [] : [Buffer.from(all)];
    this.#waitingBytes = all.length;
  }

  async commit(): Promise<void> {
    this.#throwFailed();
    const rest = Buffer.concat(this.#waiting);
    this.#waiting = [];
    if (this.#id === undefined) {
      await putObject(this.requests, this.key, rest);
      return;
    }
    if (rest.length > 0) await this.#sendPart(rest);
    await Promise.all(this.#sending);
    this.#throwFailed();
    await this.#complete(this.#id);
    this.#id = undefined;
  }

  async discard(): Promise<void> {
    this.#failed ??= { error: new Failure(`the upload of ${this.key} has ended`) };
    await Promise.all(this.#sending);
    const id = this.#id;
    this.#id = undefined;
    if (id === undefined) return;
    // The next call of the command removes what is left.
    await abortUpload(this.requests, this.key, id).catch(() => undefined);
  }

  async #sendPart(body: Buffer): Promise<void> {
    this.#id ??= await this.#begin();
    if (this.#parts === MOST_PARTS)
      throw new Failure(
        `${this.key} is larger than expected: more than ${MOST_PARTS} parts of ${this.#partSize} bytes`,
      );
    const PartNumber = ++this.#parts;
    while (this.#sending.size >= AT_ONCE) await Promise.race(this.#sending);
    this.#throwFailed();
    const sending: Promise<void> = this.#upload(this.#id, PartNumber, body)
      .catch((error: unknown) => {
        this.#failed ??= { error };
      })
      .finally(() => {
        this.#sending.delete(sending);
      });
    this.#sending.add(sending);
  }

  async #begin(): Promise<string> {
    const input = { ...target(this.requests, this.key), ...encryptionOf(this.requests.location.encryption) };
    const { UploadId } = await this.requests.send((options) =>
      this.requests.client.send(new CreateMultipartUploadCommand({ ...input, ChecksumAlgorithm: "SHA256" }), options),
    );
    if (UploadId === undefined) throw new Failure(`${this.requests.label} began an upload without an ID`);
    return UploadId;
  }

  async #upload(UploadId: string, PartNumber: number, Body: Buffer): Promise<void> {
    const ChecksumSHA256 = sha256(Body);
    const { ETag } = await this.requests.send(
      (options) => {
        // The time for requests that wait may be long, and an upload that was discarded needs no further part.
        this.#throwFailed();
        const input = { ...target(this.requests, this.key), UploadId, PartNumber, Body, ChecksumSHA256 };
        return this.requests.client.send(new UploadPartCommand(input), options);
      },
      { bytes: Body.length * AT_ONCE },
    );
    this.#sent.push({ PartNumber, ETag, ChecksumSHA256 });
  }

  async #complete(UploadId: string): Promise<void> {
    const Parts = this.#sent.toSorted((a, b) => a.PartNumber - b.PartNumber);
    const input = { ...target(this.requests, this.key), UploadId, MultipartUpload: { Parts } };
    try {
      await this.requests.send((options) =>
        this.requests.client.send(new CompleteMultipartUploadCommand(input), options),
      );
    } catch (error) {
      // The reply to a first request may have been lost.
      if (!isMissing(error) || !(await this.#isThere())) throw error;
    }
  }

  async #isThere(): Promise<boolean> {
    const input = target(this.requests, this.key);
    const { ContentLength } = await this.requests.send((options) =>
      this.requests.client.send(new HeadObjectCommand(input), options),
    );
    return ContentLength === this.#size;
  }

  #throwFailed(): void {
    if (this.#failed !== undefined) throw this.#failed.error;
  }
}

export async function abortUpload(requests: Requests, key: string, UploadId: string): Promise<void> {
  const input = { ...target(requests, key), UploadId };
  await requests.send((options) => requests.client.send(new AbortMultipartUploadCommand(input), options), {
    patienceMs: ABORT_MS,
  });
}

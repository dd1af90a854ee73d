import type { ListMultipartUploadsCommandOutput, MultipartUpload } from "@aws-sdk/client-s3";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { BadInput, Failure, messageOf } from "../../../lib/errors";
import { Semaphore } from "../../../lib/semaphore";
import { type Lease, type LeaseCondition, type LeaseFile, LEASE, takeLease } from "../lease";
import type { PendingFile, Place } from "../store";
import type { BucketLocation } from "./location";
import { BucketRefused, isMissing, refusalOf } from "./refusals";
import { type RequestOptions, Requests, isConditionFailure } from "./requests";
import { abortUpload, putObject, target, Upload, encryptionOf, sha256 } from "./upload";

/** Time for which a failed request is repeated, milliseconds. A renewal must not take longer than the lease. */
const PATIENCE_MS = 8_000;

const isUnknownCondition = (error: unknown): boolean => error instanceof Error && error.name === "NotImplemented";

const FIRST_MS = 15_000;
const PAGE = 1_000;
const REMOVALS = 16;

export interface BucketStoreOptions {
  /** Receives a sentence with the reason when requests fail for a longer time. @default no reports */
  readonly report?: ((sentence: string) => void) | undefined;
  /** @default 1000 */
  readonly pageSize?: number | undefined;
}

export class BucketStore implements Place {
  readonly hasNamedIncrements = true;
  readonly isRemote = true;

  private constructor(
    private readonly requests: Requests,
    private readonly pageSize: number,
  ) {}

  /** Failed requests are repeated shortly after `signal`. @throws BadInput if the bucket cannot be used */
  static async open(
    location: BucketLocation,
    signal: AbortSignal,
    options: BucketStoreOptions = {},
  ): Promise<BucketStore> {
    const { report = () => undefined, pageSize = PAGE } = options;
    const store = new BucketStore(new Requests(location, signal, report), pageSize);
    try {
      await store.#page("", "", 1, { patienceMs: FIRST_MS });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Failure)) throw error;
      throw BadInput.of("bucket", "bucket-refused", messageOf(error));
    }
    return store;
  }

  get label(): string {
    return this.requests.label;
  }

  create(name: string, expectedBytes?: number): Promise<PendingFile> {
    return Promise.resolve(new Upload(this.requests, this.#key(name), expectedBytes));
  }

  async put(name: string, pieces: readonly Buffer[]): Promise<void> {
    const [first] = pieces;
    await putObject(
      this.requests,
      this.#key(name),
      first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces),
    );
  }

  async list(folder: string, most = Infinity): Promise<string[]> {
    const prefix = this.#key(folder === "" ? "" : `${folder}/`);
    const names: string[] = [];
    for await (const { keys, folders } of this.#pages(prefix, "/", most)) {
      names.push(...keys.map((key) => key.slice(prefix.length)));
      names.push(...folders.map((each) => each.slice(prefix.length, -1)));
      if (names.length >= most) break;
    }
    return [...new Set(names)].filter((name) => name !== "").sort();
  }

  async removePending(folder: string): Promise<void> {
    const prefix = this.#key(folder === "" ? "" : `${folder}/`);
    try {
      for await (const { Key = "", UploadId = "" } of this.#uploads(prefix))
        await abortUpload(this.requests, Key, UploadId).catch((error: unknown) => {
          if (!isMissing(error)) throw error;
        });
    } catch (error) {
      // Not every server can list uploads, and not every user may. A lifecycle rule of the bucket removes them too.
      if (!(error instanceof BucketRefused) && !isMissing(error)) throw error;
    }
  }

  async *#uploads(prefix: string): AsyncGenerator<MultipartUpload, void, undefined> {
    const { client, location } = this.requests;
    let markers: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined = {};
    while (markers !== undefined) {
      const input = { Bucket: location.bucket, Prefix: prefix, MaxUploads: this.pageSize, ...markers };
      const page: ListMultipartUploadsCommandOutput = await this.requests.send((options) =>
        client.send(new ListMultipartUploadsCommand(input), options),
      );
      yield* page.Uploads ?? [];
      const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
      markers = page.IsTruncated === true && KeyMarker !== undefined ? { KeyMarker, UploadIdMarker } : undefined;
    }
  }

  async *read(name: string): AsyncGenerator<Buffer, void, undefined> {
    const { client } = this.requests;
    const input = target(this.requests, this.#key(name));
    let offset = 0;
    let etag: string | undefined;
    for (let failures = 0; ; failures++) {
      const range = offset === 0 ? {} : { Range: `bytes=${offset}-`, ...(etag === undefined ? {} : { IfMatch: etag }) };
      const { Body, ETag } = await this.requests.send((options) =>
        client.send(new GetObjectCommand({ ...input, ...range }), options),
      );
      etag ??= ETag;
      try {
        for await (const piece of (Body ?? []) as AsyncIterable<Uint8Array>) {
          const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
          offset += bytes.length;
          failures = 0;
          yield bytes;
        }
        return;
      } catch (error) {
        if (failures >= MOST_BROKEN || refusalOf(error, true) !== undefined)
          throw new Failure(`${this.label}: ${name} cannot be read: ${messageOf(error)}`, { cause: error });
      }
    }
  }

  async remove(name: string): Promise<void> {
    await this.#delete(this.#key(name));
  }

  async removeFolder(name: string, last: string, signal: AbortSignal): Promise<void> {
    const folder = this.#key(`${name}/`);
    const final = folder + last;
    const limit = new Semaphore(REMOVALS);
    for await (const { keys } of this.#pages(folder, "", Infinity))
      await Promise.all(
        keys
          .filter((key) => key !== final)
          .map((key) =>
            limit.run(() => {
              signal.throwIfAborted();
              return this.#delete(key);
            }),
          ),
      );
    await this.#delete(final);
  }

  async lease(signal: AbortSignal): Promise<Lease | undefined> {
    return takeLease(new LeaseObject(this.requests, this.#key(LEASE)), signal);
  }

  async #delete(key: string): Promise<void> {
    await this.requests.send((options) =>
      this.requests.client.send(new DeleteObjectCommand(target(this.requests, key)), options),
    );
  }

  /** @param delimiter `/` for the first level of folders; empty for all levels */
  async *#pages(
    prefix: string,
    delimiter: string,
    most: number,
  ): AsyncGenerator<{ readonly keys: string[]; readonly folders: string[] }, void, undefined> {
    // Not by the server's token, because a key works at every server.
    for (let after: string | undefined = ""; after !== undefined;) {
      const page = await this.#page(prefix, delimiter, Math.min(this.pageSize, most), {}, after);
      yield page;
      const [key = "", folder = ""] = [page.keys.at(-1), page.folders.at(-1)];
      // All keys in a folder come before this key.
      const next = key > folder ? key : `${folder}\u{10ffff}`;
      after = page.isTruncated ? next : undefined;
    }
  }

  async #page(
    prefix: string,
    delimiter: string,
    maxKeys: number,
    options: RequestOptions,
    after = "",
  ): Promise<{ readonly keys: string[]; readonly folders: string[]; readonly isTruncated: boolean }> {
    const { client, location } = this.requests;
    const command = new ListObjectsV2Command({
      Bucket: location.bucket,
      Prefix: prefix === "" ? this.#key("") : prefix,
      MaxKeys: maxKeys,
      ...(delimiter === "" ? {} : { Delimiter: delimiter }),
      ...(after === "" ? {} : { StartAfter: after }),
    });
    const {
      Contents = [],
      CommonPrefixes = [],
      IsTruncated,
    } = await this.requests.send((sending) => client.send(command, sending), options);
    return {
      keys: Contents.flatMap(({ Key }) => Key ?? []),
      folders: CommonPrefixes.flatMap(({ Prefix }) => Prefix ?? []),
      isTruncated: IsTruncated === true,
    };
  }

  #key(name: string): string {
    const { prefix } = this.requests.location;
    return prefix === "" ? name : `${prefix}/${name}`;
  }
}

/** Connections in succession that may break without delivering a byte, before reading a file fails. */
const MOST_BROKEN = 5;

type Tagged = Awaited<ReturnType<LeaseFile["write"]>>;

export class LeaseObject implements LeaseFile {
  constructor(
    private readonly requests: Requests,
    private readonly key: string,
  ) {}

  get label(): string {
    return this.requests.label;
  }

  async read(): ReturnType<LeaseFile["read"]> {
    try {
      return await this.requests.send(
        async (options) => {
          const reply = await this.requests.client.send(new GetObjectCommand(target(this.requests, this.key)), options);
          return { text: (await reply.Body?.transformToString()) ?? "", tag: reply.ETag };
        },
        { patienceMs: PATIENCE_MS },
      );
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async write(text: string, condition?: LeaseCondition): Promise<Tagged> {
    const Body = Buffer.from(text);
    const input = {
      ...target(this.requests, this.key),
      ...encryptionOf(this.requests.location.encryption),
      Body,
      ChecksumSHA256: sha256(Body),
    };
    const put = async (given: { IfMatch?: string; IfNoneMatch?: string }): Promise<Tagged> => {
      const command = new PutObjectCommand({ ...input, ...given });
      const { ETag } = await this.requests.send((options) => this.requests.client.send(command, options), {
        patienceMs: PATIENCE_MS,
      });
      return { tag: ETag };
    };
    if (condition === undefined) return put({});
    try {
      return await put(condition === "missing" ? { IfNoneMatch: "*" } : { IfMatch: condition.tag });
    } catch (error) {
      // With If-Match, some servers say that the object does not exist.
      if (isConditionFailure(error) || isMissing(error)) return false;
      if (!(error instanceof BucketRefused) || !isUnknownCondition(error.cause)) throw error;
    }
    return put({});
  }

  async end(): Promise<void> {
    // An object without a holder. Deleting cannot have a condition everywhere, and this object may not be ours any more.
    await this.write("{}\n");
  }
}

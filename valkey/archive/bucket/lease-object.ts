/** The object of an archive's lease in a bucket. */
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import type { LeaseCondition, LeaseFile } from "../lease";
import { BucketRefused, isMissing } from "./refusals";
import type { Requests } from "./requests";
import { isConditionFailure } from "./requests";
import { encryptionOf, sha256, target } from "./upload";

/** Time for which a failed request is repeated, milliseconds. A renewal must not take longer than the lease. */
const PATIENCE_MS = 8_000;

type Tagged = Awaited<ReturnType<LeaseFile["write"]>>;

export class LeaseObject implements LeaseFile {
  /** @param key the object's key */
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

const isUnknownCondition = (error: unknown): boolean => error instanceof Error && error.name === "NotImplemented";

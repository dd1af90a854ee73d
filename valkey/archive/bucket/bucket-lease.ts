/**
 * The lease of a bucket: an object that names the process that may write to the archive. This process renews the
 * object. A process on a different machine takes over when the object has not changed for 30 s.
 *
 * A server with conditional writes lets only one of several processes create or replace the object. On other servers,
 * the last write wins: each process reads the object again after a pause, and gives up if it finds the name of a
 * different process. So two processes could write at the same time if a request takes longer than the pause.
 */
import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { z } from "zod";
import { Failure } from "../../../lib/errors";
import { pause } from "../../../lib/polling";
import { identifyProcess, isProcessAlive } from "../../../lib/system/process-identity";
import type { Lease } from "../store";
import { BucketRefused, isMissing } from "./refusals";
import type { Requests } from "./requests";
import { isConditionFailure } from "./requests";
import { encryptionOf, putObject, sha256, target } from "./upload";

/** Name of the lease's object. Objects whose names begin with a dot are not part of the archived data. */
const NAME = ".lease.json";

export interface LeaseTimes {
  /** Time without a renewal after which a lease has ended, milliseconds. */
  readonly ttlMs: number;
  readonly renewMs: number;
  /**
   * Pause after which a process reads the object that it has written, to see whether a different process has replaced
   * it, milliseconds.
   */
  readonly settleMs: number;
}
const TIMES: LeaseTimes = { ttlMs: 30_000, renewMs: 10_000, settleMs: 1_500 };
/** Time for which a failed renewal of the lease is repeated, milliseconds. */
const RENEWAL_MS = 8_000;
/** An ETag that no object has. A server that accepts a write on condition of this ETag ignores conditions. */
const NO_ETAG = '"00000000000000000000000000000000"';

const holderSchema = z.object({
  id: z.string(),
  host: z.string(),
  /** PID namespace of the process that has the lease. Undefined on systems without PID namespaces. */
  space: z.string().optional(),
  process: z.object({ pid: z.int(), started: z.string() }).optional(),
  renewals: z.int(),
});
type Holder = z.infer<typeof holderSchema>;

interface Found {
  readonly holder: Holder | undefined;
  readonly etag: string | undefined;
}

/**
 * Takes the lease of an archive in a bucket.
 * @param keyOf returns the object's key for a name in the archive
 * @returns undefined if a different process that still runs has the lease
 * @throws the signal's reason, and the errors of `Requests.send`
 */
export async function takeBucketLease(
  requests: Requests,
  keyOf: (name: string) => string,
  signal: AbortSignal,
  times: LeaseTimes = TIMES,
): Promise<Lease | undefined> {
  const lease = new BucketLease(requests, keyOf(NAME), times);
  return (await lease.take(signal)) ? lease : undefined;
}

class BucketLease implements Lease {
  readonly #lost = new AbortController();
  #holder: Holder;
  #etag: string | undefined;
  #hasConditions = false;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();

  constructor(
    private readonly requests: Requests,
    private readonly key: string,
    private readonly times: LeaseTimes,
  ) {
    this.#holder = { id: randomUUID(), host: hostname(), ...ownProcess(), renewals: 0 };
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async take(signal: AbortSignal): Promise<boolean> {
    const found = await this.#read();
    if (found !== undefined && !(await this.#hasEnded(found, signal))) return false;
    const condition = found?.etag === undefined ? { IfNoneMatch: "*" } : { IfMatch: found.etag };
    if (!(await this.#write(condition))) return false;
    this.#hasConditions = !(await this.#write({ IfMatch: NO_ETAG }));
    if (!this.#hasConditions) await pause(this.times.settleMs, signal);
    const written = await this.#read();
    if (written?.holder?.id !== this.#holder.id) return false;
    this.#etag = written.etag;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renew();
    }, this.times.renewMs);
    this.#timer.unref();
    return true;
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
    if (this.lost.aborted) return;
    // An object without a holder. Deleting cannot have a condition everywhere, and this object may not be ours any more.
    try {
      if ((await this.#read())?.holder?.id !== this.#holder.id) return;
      await putObject(this.requests, this.key, Buffer.from("{}\n"));
    } catch {
      // The lease ends by itself.
    }
  }

  /** Whether the process that has the lease has ended, so that this process may take over. */
  async #hasEnded({ holder, etag }: Found, signal: AbortSignal): Promise<boolean> {
    if (holder === undefined) return true;
    const own = this.#holder;
    const { process: other } = holder;
    const isHere =
      other !== undefined &&
      holder.space === own.space &&
      holder.host === own.host &&
      bootOf(other.started) === bootOf(own.process?.started);
    if (isHere) return !isProcessAlive(other);
    const began = performance.now();
    while (performance.now() - began < this.times.ttlMs) {
      await pause(Math.min(this.times.renewMs / 5, this.times.ttlMs), signal);
      const now = await this.#read();
      if (now?.holder === undefined) return true;
      if (now.etag !== etag || now.holder.renewals !== holder.renewals) return false;
    }
    return true;
  }

  async #renew(): Promise<void> {
    if (this.lost.aborted) return;
    try {
      const next = { ...this.#holder, renewals: this.#holder.renewals + 1 };
      if (!this.#hasConditions && (await this.#read())?.holder?.id !== next.id) {
        this.#lose();
        return;
      }
      this.#holder = next;
      const isWritten = await this.#write(this.#hasConditions ? { IfMatch: this.#etag ?? NO_ETAG } : {});
      if (isWritten) return;
      // The reply to a first request may have been lost.
      const found = await this.#read();
      if (found?.holder?.id === next.id) this.#etag = found.etag;
      else this.#lose();
    } catch {
      // While the bucket does not answer, nobody can take over. If it refuses, the archive ends with the reason.
    }
  }

  #lose(): void {
    clearInterval(this.#timer);
    this.#lost.abort(new Failure(`${this.requests.label}: a different process has taken over the archive`));
  }

  /** Writes the object of the lease. @returns false if the object does not meet the condition, so nothing is written */
  async #write(condition: { IfMatch?: string; IfNoneMatch?: string }): Promise<boolean> {
    const Body = Buffer.from(`${JSON.stringify(this.#holder)}\n`);
    const input = {
      ...target(this.requests, this.key),
      ...encryptionOf(this.requests.location.encryption),
      Body,
      ChecksumSHA256: sha256(Body),
    };
    const put = (given: typeof condition): Promise<{ ETag?: string | undefined }> =>
      this.requests.send(
        (options) => this.requests.client.send(new PutObjectCommand({ ...input, ...given }), options),
        { patienceMs: RENEWAL_MS },
      );
    try {
      this.#etag = (await put(condition)).ETag;
      return true;
    } catch (error) {
      // With If-Match, some servers say that the object does not exist.
      if (isConditionFailure(error) || isMissing(error)) return false;
      if (!(error instanceof BucketRefused) || !isUnknownCondition(error.cause)) throw error;
    }
    this.#etag = (await put({})).ETag;
    return true;
  }

  async #read(): Promise<Found | undefined> {
    try {
      const { text, etag } = await this.requests.send(
        async (options) => {
          const reply = await this.requests.client.send(new GetObjectCommand(target(this.requests, this.key)), options);
          return { text: (await reply.Body?.transformToString()) ?? "", etag: reply.ETag };
        },
        { patienceMs: RENEWAL_MS },
      );
      return { holder: holderSchema.safeParse(parseJson(text)).data, etag };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}

const isUnknownCondition = (error: unknown): boolean => error instanceof Error && error.name === "NotImplemented";

/**
 * Returns the boot ID, which is a part of the start time of a process. On systems without boot IDs, returns the whole
 * start time. Then a process counts as ended only when it no longer renews the lease.
 */
const bootOf = (started: string | undefined): string | undefined => started?.split("/")[0];

function ownProcess(): Pick<Holder, "process" | "space"> {
  const own = identifyProcess(process.pid);
  try {
    return { process: own, space: readlinkSync("/proc/self/ns/pid") };
  } catch {
    return {};
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

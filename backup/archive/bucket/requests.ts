import { S3Client } from "@aws-sdk/client-s3";
import { Failure, messageOf } from "../../../lib/errors";
import { pause } from "../../../lib/polling";
import { formatDuration } from "../../../lib/units";
import { type BucketLocation, bucketLabel } from "./location";
import { BucketRefused, isMissing, refusalOf, statusOf } from "./refusals";

/** In this time, data for the archive are buffered on disk. */
const PATIENCE_MS = 30 * 60_000;
/** Time for which a failed request is repeated after the user has stopped the command, milliseconds. */
const STOPPING_MS = 30_000;
/** Time after which a request that fails again and again is reported, and time between two such reports, milliseconds. */
const SILENT_MS = 10_000;
const REPORT_MS = 60_000;
const RETRY_MS = 200;
const MAX_RETRY_MS = 5_000;
const CONNECT_MS = 10_000;
const IDLE_MS = 30_000;
const REQUEST_MS = 60_000;
/** Lowest speed of a connection that is assumed, bytes per millisecond. */
const SLOWEST = 256;
const SOCKETS = 64;
const ANY_REGION = "us-east-1";

export const isConditionFailure = (error: unknown): boolean => statusOf(error) === 412;

export interface RequestOptions {
  readonly patienceMs?: number | undefined;
  readonly bytes?: number | undefined;
}

let hadCredentials = false;

export class Requests {
  readonly client: S3Client;
  #stoppedAt = Infinity;
  #reportedAt = -Infinity;

  constructor(
    readonly location: BucketLocation,
    signal: AbortSignal,
    private readonly report: (sentence: string) => void,
  ) {
    const { endpoint, region, pathStyle } = location;
    const { AWS_REGION: own, AWS_DEFAULT_REGION: usual } = process.env;
    const fallback = endpoint !== undefined && own === undefined && usual === undefined ? ANY_REGION : undefined;
    const wanted = region ?? fallback ?? own ?? usual;
    // The versions of this program decide which Node.js it runs on.
    process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
    this.client = new S3Client({
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(wanted === undefined ? {} : { region: wanted }),
      forcePathStyle: pathStyle,
      // Requests are repeated here, because only this program knows for how long.
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: CONNECT_MS,
        socketTimeout: IDLE_MS,
        httpAgent: { maxSockets: SOCKETS },
        httpsAgent: { maxSockets: SOCKETS },
      },
      // Each request with data has its own SHA-256. Some servers refuse other checksums.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      logger: { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing },
    });
    const onAbort = (): void => {
      this.#stoppedAt = performance.now();
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  }

  get label(): string {
    return bucketLabel(this.location);
  }

  /** The request must be safe to send twice. @throws BucketRefused; Failure when the time is up */
  async send<T>(
    send: (options: { abortSignal: AbortSignal }) => Promise<T>,
    { patienceMs = PATIENCE_MS, bytes = 0 }: RequestOptions = {},
  ): Promise<T> {
    const began = performance.now();
    for (let failures = 0; ; failures++) {
      try {
        const reply = await send({ abortSignal: AbortSignal.timeout(Math.ceil(REQUEST_MS + bytes / SLOWEST)) });
        hadCredentials = true;
        return reply;
      } catch (error) {
        if (error instanceof Failure || isConditionFailure(error) || isMissing(error)) throw error;
        // An error of this program would come again.
        if (error instanceof TypeError || error instanceof RangeError) throw error;
        const refusal = refusalOf(error, hadCredentials);
        if (refusal !== undefined) throw new BucketRefused(`${this.label}: ${refusal}`, { cause: error });
        const deadline = Math.min(began + patienceMs, Math.max(began, this.#stoppedAt) + STOPPING_MS);
        const now = performance.now();
        if (now - began >= SILENT_MS) this.#reportTrouble(now, error);
        if (now >= deadline)
          throw new Failure(
            `${this.label} has not answered for ${formatDuration((now - began) / 1000)}: ${reasonOf(error)}`,
            { cause: error },
          );
        await pause(Math.min(RETRY_MS * 2 ** failures, MAX_RETRY_MS, deadline - now));
      }
    }
  }

  #reportTrouble(now: number, error: unknown): void {
    if (now - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = now;
    this.report(`${this.label}: requests fail and are repeated: ${reasonOf(error)}`);
  }
}

const nothing = (): void => undefined;

/** For several failed connections, Node.js throws an error with an empty message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return messageOf(error);
}

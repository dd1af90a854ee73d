/**
 * The lease of an archive names the process that may write to it. A process elsewhere takes over when it has not
 * changed for 30 s. Without conditional writes, the last write wins: each process reads the lease again after a pause,
 * so two processes could write at the same time if a write takes longer than the pause.
 */
import { randomUUID } from "node:crypto";
import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { z } from "zod";
import { Failure } from "../../lib/errors";
import { pause } from "../../lib/polling";
import { identifyProcess, isProcessAlive } from "../../lib/system/process-identity";

/** Files and objects whose names begin with a dot are not part of the archived data. */
export const LEASE = ".lease.json";

export interface Lease {
  /** Aborted with a Failure as its reason when a different process has taken over. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

export type LeaseCondition = "missing" | { readonly tag: string };

export interface LeaseFile {
  readonly label: string;
  /** The tag changes with each write; undefined if the place has no tags. */
  read(): Promise<{ readonly text: string; readonly tag: string | undefined } | undefined>;
  /** Places without conditional writes ignore it. @returns the new tag; false if the condition is not met */
  write(text: string, condition?: LeaseCondition): Promise<{ readonly tag: string | undefined } | false>;
  end(): Promise<void>;
}

export interface LeaseTimes {
  /** Time without a renewal after which a lease has ended, milliseconds. */
  readonly ttlMs: number;
  readonly renewMs: number;
  /** Pause after which a process reads its lease again, to see whether a different process has replaced it. */
  readonly settleMs: number;
}
const TIMES: LeaseTimes = { ttlMs: 30_000, renewMs: 10_000, settleMs: 1_500 };
/** A place that accepts a write on condition of this tag ignores conditions. */
const NO_TAG = '"00000000000000000000000000000000"';

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
  readonly tag: string | undefined;
}

export async function takeLease(
  file: LeaseFile,
  signal: AbortSignal,
  times: LeaseTimes = TIMES,
): Promise<Lease | undefined> {
  const lease = new RenewedLease(file, times);
  return (await lease.take(signal)) ? lease : undefined;
}

class RenewedLease implements Lease {
  readonly #lost = new AbortController();
  #holder: Holder;
  #tag: string | undefined;
  #hasConditions = false;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();

  constructor(
    private readonly file: LeaseFile,
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
    if (!(await this.#write(found?.tag === undefined ? "missing" : { tag: found.tag }))) return false;
    this.#hasConditions = !(await this.#write({ tag: NO_TAG }));
    if (!this.#hasConditions) await pause(this.times.settleMs, signal);
    const written = await this.#read();
    if (written?.holder?.id !== this.#holder.id) return false;
    this.#tag = written.tag;
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
    try {
      if ((await this.#read())?.holder?.id === this.#holder.id) await this.file.end();
    } catch {
      // The lease ends by itself.
    }
  }

  async #hasEnded({ holder, tag }: Found, signal: AbortSignal): Promise<boolean> {
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
      const isSame = now.holder.id === holder.id && now.holder.renewals === holder.renewals;
      if (now.tag !== tag || !isSame) return false;
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
      if (await this.#write(this.#hasConditions ? { tag: this.#tag ?? NO_TAG } : undefined)) return;
      // The reply to a first request may have been lost.
      const found = await this.#read();
      if (found?.holder?.id === next.id) this.#tag = found.tag;
      else this.#lose();
    } catch {
      // While the place does not answer, nobody can take over. If it refuses, the archive ends with the reason.
    }
  }

  #lose(): void {
    clearInterval(this.#timer);
    this.#lost.abort(new Failure(`${this.file.label}: a different process has taken over the archive`));
  }

  async #write(condition?: LeaseCondition): Promise<boolean> {
    const written = await this.file.write(`${JSON.stringify(this.#holder)}\n`, condition);
    if (written === false) return false;
    this.#tag = written.tag;
    return true;
  }

  async #read(): Promise<Found | undefined> {
    const found = await this.file.read();
    return found && { holder: holderSchema.safeParse(parseJson(found.text)).data, tag: found.tag };
  }
}

/** On systems without boot IDs, the whole start time: a process then ends only when it stops renewing. */
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

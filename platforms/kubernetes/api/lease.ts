/**
 * A Lease of Kubernetes. Only the process that holds the Lease changes the deployment. If this process dies, other
 * processes can take the Lease after LEASE_SECONDS. Each process measures this time on its own machine, so the clocks
 * of machines may differ.
 */
import type { V1Lease, V1MicroTime, V1OwnerReference } from "@kubernetes/client-node";
import { Failure } from "../../../lib/errors";
import { poll } from "../../../lib/polling";
import type { ReportProgress } from "../../../lib/progress";
import { statusInError } from "./api-errors";
import type { KubernetesClient } from "./client";
import type { Plain } from "./plain";

/** Seconds without a renewal after which a Lease is free. */
export const LEASE_SECONDS = 60;
const RENEW_MS = 5_000;
/**
 * Milliseconds without a renewal after which the holder stops its work. This is shorter than LEASE_SECONDS, so that the
 * holder has stopped before another process takes the Lease.
 */
const STOP_MS = 40_000;
const POLL_MS = 2_000;

interface LeaseName {
  readonly namespace: string;
  readonly lease: string;
}

/** Annotations of a Lease, by key. They stay when the holder changes. */
export type LeaseNotes = Readonly<Record<string, string>>;

/** A Lease, as one process sees it. The process can take, renew and free the Lease. */
export class Lease {
  /** The last renewal by a different process, and the time at which this process first saw that renewal. */
  #foreign: { readonly renewal: string; readonly seenAt: number } | undefined;
  #notes: LeaseNotes = {};

  /**
   * @param name a service account of the same name owns the Lease, so that Kubernetes deletes both together
   * @param holder identity of this process
   * @param mayTakeFrom whether the Lease may be taken from a holder before the holder's time has passed
   * @param seconds time without a renewal after which the Lease is free
   */
  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly name: LeaseName,
    private readonly holder: string,
    private readonly mayTakeFrom: (holder: string) => boolean = () => false,
    private readonly seconds = LEASE_SECONDS,
  ) {}

  /** Annotations of the Lease when it was last read or written. */
  get notes(): LeaseNotes {
    return this.#notes;
  }

  /**
   * The other process that holds the Lease, if there is one. Call this method at intervals, long before the Lease is
   * needed. The first call starts to measure the time without renewal, so that a dead holder's Lease can be taken as
   * soon as it is needed.
   * @throws the errors of `acquire`
   */
  async otherHolder(): Promise<string | undefined> {
    const found = await this.#read();
    return found && this.#otherHolder(found);
  }

  /**
   * Takes or renews the Lease.
   * @param notes annotations to add or to change
   * @returns the other holder; undefined if this process holds the Lease
   * @throws Failure when the API server does not answer, or the permission is missing
   */
  async acquire(notes: LeaseNotes = {}): Promise<string | undefined> {
    const found = await this.#read();
    const other = found && this.#otherHolder(found);
    if (other !== undefined) return other;
    const isWritten = await this.#write(found, this.holder, notes);
    // A different process has written the Lease first.
    return isWritten ? undefined : "another process";
  }

  /**
   * Renews an existing Lease. A missing Lease is not created, because a Lease that was deleted together with its
   * service account must not come back.
   * @returns the other holder, or that the Lease is gone; undefined if this process holds the Lease
   * @throws the errors of `acquire`; Failure when the Lease changed meanwhile, perhaps because this process wrote an
   *   annotation
   */
  async renew(): Promise<{ readonly other: string } | "gone" | undefined> {
    const found = await this.#read();
    if (found === undefined) return "gone";
    const other = this.#otherHolder(found);
    if (other !== undefined) return { other };
    if (!(await this.#write(found, this.holder, {})))
      throw new Failure(`a different process has just changed Lease ${this.name.lease}`);
    return undefined;
  }

  /** Waits until this process holds the Lease. @throws the errors of `acquire`; Failure when the time is up */
  async await(notes: LeaseNotes, timeoutMs: number, signal: AbortSignal, report: ReportProgress): Promise<void> {
    const until = Date.now() + timeoutMs;
    const take = async (): Promise<true | undefined> => {
      const other = await this.acquire(notes);
      if (other === undefined) return true;
      const message = `${other} is changing the deployment (Lease ${this.name.lease} of namespace ${this.name.namespace})`;
      if (Date.now() > until) throw new Failure(message);
      report(`waiting: ${message}`, true);
      return undefined;
    };
    await poll(take, { intervalMs: POLL_MS, signal });
  }

  /**
   * Does the work, and renews the Lease until the work ends.
   * @param work gets a signal that is aborted if another process takes the Lease, or if the Lease is gone
   */
  async during<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const lost = new AbortController();
    const stop = this.keep((why) => {
      lost.abort(new Failure(why === "gone" ? "the Lease is gone" : why));
    });
    try {
      return await work(AbortSignal.any([signal, lost.signal]));
    } finally {
      stop();
    }
  }

  /**
   * Renews the Lease at intervals. The timer does not keep the process alive.
   * @param onLost called once with the reason: another process has the Lease, no renewal has succeeded for 40 s, or the
   *   Lease is `gone`
   * @returns a function that ends the renewals
   */
  keep(onLost: (why: string) => void): () => void {
    let renewedAt = performance.now();
    let isRenewing = false;
    const lose = (why: string): void => {
      stop();
      onLost(why);
    };
    const renew = async (): Promise<void> => {
      if (performance.now() - renewedAt > STOP_MS) {
        lose(`Lease ${this.name.lease} could not be renewed for ${STOP_MS / 1000} s`);
        return;
      }
      if (isRenewing) return;
      isRenewing = true;
      try {
        const began = performance.now();
        const renewal = await this.renew();
        if (renewal === undefined) renewedAt = began;
        else lose(renewal === "gone" ? renewal : `${renewal.other} has taken Lease ${this.name.lease}`);
      } catch {
        // The API server may not answer for a moment, or a note was written at the same time. The next renewal decides.
      } finally {
        isRenewing = false;
      }
    };
    const timer = setInterval(() => void renew(), RENEW_MS).unref();
    const stop = (): void => {
      clearInterval(timer);
    };
    return stop;
  }

  /**
   * Frees the Lease, if this process holds it.
   * @param notes annotations to add or to change
   * @throws the errors of `acquire`
   */
  async release(notes: LeaseNotes = {}): Promise<void> {
    const found = await this.#read();
    if (found?.spec?.holderIdentity === this.holder) await this.#write(found, "", notes);
  }

  async #read(): Promise<Plain<V1Lease> | undefined> {
    const { namespace, lease: name } = this.name;
    const found = await this.kubernetes.find(
      `reading Lease ${name} of namespace ${namespace}`,
      this.kubernetes.coordination.readNamespacedLease({ namespace, name }),
    );
    this.#notes = found?.metadata?.annotations ?? {};
    return found;
  }

  #otherHolder({ metadata, spec }: Plain<V1Lease>): string | undefined {
    const holder = spec?.holderIdentity ?? "";
    if (holder === "" || holder === this.holder || this.mayTakeFrom(holder)) return undefined;
    const renewal = `${holder} ${metadata?.resourceVersion ?? ""}`;
    if (this.#foreign?.renewal !== renewal) this.#foreign = { renewal, seenAt: performance.now() };
    const seconds = (performance.now() - this.#foreign.seenAt) / 1000;
    return seconds > this.seconds ? undefined : holder;
  }

  /** Writes the Lease. @returns false if another process has changed the Lease since it was read */
  async #write(found: Plain<V1Lease> | undefined, holderIdentity: string, added: LeaseNotes): Promise<boolean> {
    const { namespace, lease: name } = this.name;
    const { coordination } = this.kubernetes;
    // The library passes this field on as it is, whatever its type. The API server expects microseconds.
    const now = new Date().toISOString().replace("Z", "000Z") as unknown as V1MicroTime;
    const former = found?.spec?.holderIdentity === this.holder ? found.spec.acquireTime : undefined;
    const spec = {
      holderIdentity,
      leaseDurationSeconds: this.seconds,
      renewTime: now,
      acquireTime: former ?? now,
    };
    const annotations = { ...this.#notes, ...added };
    const written =
      found === undefined
        ? coordination.createNamespacedLease({
            namespace,
            body: { metadata: { name, annotations, ownerReferences: await this.#owners() }, spec },
          })
        : coordination.replaceNamespacedLease({
            namespace,
            name,
            body: { ...found, metadata: { ...found.metadata, annotations }, spec },
          });
    const known = written.then(
      () => true,
      (error: unknown) => {
        if (statusInError(error)?.code === 409) return false;
        throw error;
      },
    );
    const isWritten = await this.kubernetes.call(`writing Lease ${name} of namespace ${namespace}`, known);
    if (isWritten) this.#notes = annotations;
    return isWritten;
  }

  async #owners(): Promise<V1OwnerReference[]> {
    const uid = await serviceAccountUid(this.kubernetes, this.name);
    return uid === undefined ? [] : [{ apiVersion: "v1", kind: "ServiceAccount", name: this.name.lease, uid }];
  }
}

/**
 * UID of the service account that owns a Lease and has the same name; undefined if this account does not exist.
 * @throws Failure when the API server does not answer, or the permission is missing
 */
export async function serviceAccountUid(
  kubernetes: KubernetesClient,
  { namespace, lease: name }: LeaseName,
): Promise<string | undefined> {
  const found = await kubernetes.find(
    `reading service account ${name} of namespace ${namespace}`,
    kubernetes.core.readNamespacedServiceAccount({ namespace, name }),
  );
  return found?.metadata?.uid;
}

/**
 * Only its holder changes the deployment. Others can take it after LEASE_SECONDS without a renewal, which each measures
 * on its own machine, because clocks of machines may differ.
 */
import type { V1Lease, V1MicroTime, V1OwnerReference } from "@kubernetes/client-node";
import { Failure } from "../../../lib/errors";
import { poll } from "../../../lib/polling";
import type { ReportProgress } from "../../../lib/progress";
import { statusInError } from "./api-errors";
import type { KubernetesClient } from "./client";
import type { Plain } from "./plain";

export const LEASE_SECONDS = 60;
const RENEW_MS = 5_000;
/** Shorter than LEASE_SECONDS, so that the holder has stopped before another process takes the Lease. */
const STOP_MS = 40_000;
const POLL_MS = 2_000;

interface LeaseName {
  readonly namespace: string;
  readonly lease: string;
}

export type LeaseNotes = Readonly<Record<string, string>>;

export class Lease {
  /** The last renewal by a different process, and the time at which this process first saw that renewal. */
  #foreign: { readonly renewal: string; readonly seenAt: number } | undefined;
  #notes: LeaseNotes = {};

  /**
   * @param name the service account of this name owns the Lease: both are deleted together
   * @param mayTakeFrom takes it from a holder before its time has passed
   * @param seconds without a renewal after which it is free
   */
  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly name: LeaseName,
    private readonly holder: string,
    private readonly mayTakeFrom: (holder: string) => boolean = () => false,
    private readonly seconds = LEASE_SECONDS,
  ) {}

  get notes(): LeaseNotes {
    return this.#notes;
  }

  /** To call early and at intervals: the first call starts to measure the time without renewal. @throws */
  async otherHolder(): Promise<string | undefined> {
    const found = await this.#read();
    return found && this.#otherHolder(found);
  }

  /** Takes or renews. @returns the other holder; undefined if this process has it. @throws Failure */
  async acquire(notes: LeaseNotes = {}): Promise<string | undefined> {
    const found = await this.#read();
    const other = found && this.#otherHolder(found);
    if (other !== undefined) return other;
    const isWritten = await this.#write(found, this.holder, notes);
    // A different process has written the Lease first.
    return isWritten ? undefined : "another process";
  }

  /**
   * Never creates a Lease that was deleted with its service account.
   * @returns the other holder, or that it is gone
   * @throws the errors of `acquire`; Failure when it changed meanwhile, perhaps by an annotation of this process
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

  /** @throws the errors of `acquire`; Failure when the time is up */
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

  /** Renews it meanwhile. @param work its signal is aborted if the Lease is lost */
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
   * Does not keep the process alive.
   * @param onLost called once: another process has it, no renewal for 40 s, or it is `gone`
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

/** Locks that keep repairs and updates from changing a deployment at the same time. */
import * as z from "zod";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { type LeaseNotes, Lease } from "../../platforms/kubernetes/api/lease";
import { SETTINGS_NOTE, WANTED_NOTE, wantedNodes, wantedSettings } from "../changes/update-leases";
import type { RepairHistory } from "./healing";

const REPAIRS_NOTE = "valkey/repairs";

const historySchema = z.object({ repairs: z.array(z.number()), inVain: z.number().min(0), isUnfinished: z.boolean() });

/** One process uses one object for all its repairs. */
export interface RepairLock {
  /** Must follow every verification. @returns repairs by earlier processes, if recorded. @throws Failure */
  readonly observe: () => Promise<RepairHistory | undefined>;
  /** @param history includes the repair that begins @returns why nothing must be repaired now. @throws Failure */
  readonly begin: (history: RepairHistory) => Promise<string | undefined>;
  /** Whether the known settings are those of the last update. `observe` or `begin` must come first. */
  readonly hasCurrentSettings: () => boolean;
  /** @param work gets a signal that is aborted if the lock is lost */
  readonly during: <T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Never throws. @param history includes the repair that has ended */
  readonly end: (history: RepairHistory) => Promise<void>;
}

/** Updates hold the same Lease. */
export class LeaseLock implements RepairLock {
  // The object lives as long as the process, because it measures for how long a different holder has not renewed the
  // Lease.
  readonly #lease: Lease;

  /** @param target its Lease must stay the same @param identity unique among all processes that change it */
  constructor(
    kubernetes: KubernetesClient,
    private readonly target: () => KubernetesReference,
    identity: string,
  ) {
    const { namespace, lease = "" } = target();
    this.#lease = new Lease(kubernetes, { namespace, lease }, identity);
  }

  async observe(): Promise<RepairHistory | undefined> {
    await this.#lease.otherHolder();
    return historyIn(this.#lease.notes);
  }

  async begin(history: RepairHistory): Promise<string | undefined> {
    const outdated = "an update that changes the nodes of the deployment has not succeeded; run pulumi up again";
    // The same check runs before the Lease is taken, because taking the Lease counts as a repair.
    if (this.#isOutdated()) return outdated;
    const other = await this.#lease.acquire(historyNote(history));
    if (other !== undefined) return `${other} holds Lease ${this.target().lease ?? ""}`;
    return this.#isOutdated() ? outdated : undefined;
  }

  hasCurrentSettings(): boolean {
    const wanted = this.#lease.notes[SETTINGS_NOTE];
    return wanted === undefined || wanted === wantedSettings(this.target());
  }

  during<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#lease.during(signal, work);
  }

  async end(history: RepairHistory): Promise<void> {
    await this.#lease.release(historyNote(history)).catch(() => undefined);
  }

  #isOutdated(): boolean {
    const wanted = this.#lease.notes[WANTED_NOTE];
    return wanted !== undefined && wanted !== wantedNodes(this.target());
  }
}

/** As an annotation of the Lease, it outlives the process: a pod that restarts again and again gets no more repairs. */
export function historyNote({ repairs, inVain, isUnfinished }: RepairHistory): LeaseNotes {
  return { [REPAIRS_NOTE]: JSON.stringify({ repairs, inVain, isUnfinished }) };
}

/** Undefined also if it cannot be read. */
export function historyIn(notes: LeaseNotes): RepairHistory | undefined {
  try {
    return historySchema.parse(JSON.parse(notes[REPAIRS_NOTE] ?? "null"));
  } catch {
    return undefined;
  }
}

/** Looks at one deployment on Kubernetes, says what it finds, and repairs what is safe to repair. */
import { readFile } from "node:fs/promises";
import { messageOf } from "../lib/errors";
import type { ReportProgress } from "../lib/progress";
import type { KubernetesReference } from "../platforms/deployment-reference";
import type { KubernetesClient } from "../platforms/kubernetes/api/client";
import type { EventText } from "../platforms/kubernetes/api/events";
import { createEvent } from "../platforms/kubernetes/api/events";
import { Lease } from "../platforms/kubernetes/api/lease";
import { PodChanges } from "../platforms/kubernetes/pods/pod-changes";
import { findStatefulSet } from "../platforms/kubernetes/volumes/statefulset-volumes";
import type { Inspection } from "../provider/updates/drift";
import { inspectDeployment } from "../provider/updates/drift";
import { repairDeployment } from "../provider/updates/repair";
import { WANTED_NOTE, wantedNodes } from "../provider/updates/update-leases";
import { nodeCount } from "../valkey/topology/placement";
import { firstCertificateEnd } from "./certificates";
import type { LookEndpoint } from "./endpoint";
import type { HealingDecision, HealingMemory } from "./healing";
import { decide, NO_MEMORY, remember, rememberRepair, rememberRepairEnd } from "./healing";
import { changesOf } from "./look";
import type { Replacement } from "./lost-machines";
import { LostMachines } from "./lost-machines";
import { historyIn, historyNote } from "./repair-history";
import type { Look } from "./look";
import { LostShards } from "./lost-shards";
import type { RepairOutcome } from "./metrics";
import type { ControllerSettings } from "./pod-settings";
import { watch } from "./watch";

/** Time between two looks while the deployment does not pass, milliseconds. */
const FAILING_EVERY_MS = 5_000;
/**
 * Time limit for pods and servers to answer while the deployment does not pass, milliseconds. A shorter limit finds
 * shards without a primary earlier, but all connections must fit into it.
 */
const FAILING_LOOK_MS = { base: 5_000, perNode: 50 };
/** Time between two readings of the ends of the certificates, milliseconds. */
const CERTIFICATES_EVERY_MS = 600_000;
/** Time limit of a repair, milliseconds. */
const REPAIR_MS = 300_000;

type Repair = Extract<HealingDecision, { kind: "repair" }>;

export class Controller {
  // There may have been a failover while no controller ran.
  #memory: HealingMemory = { ...NO_MEMORY, failoverAt: Date.now() };
  /** Whether the memory has the repairs of former controllers of this deployment. */
  #isInformed = false;
  /** Time at which the ends of the certificates were last read, milliseconds since 1970. */
  #certificatesAt = 0;
  /** Whether the last look passed. */
  #passes = true;
  /** Reason why the last problem was not repaired, so that it is printed once. */
  #waiting = "";
  // One object for the life of the process: it measures for how long another holder has not renewed the Lease.
  readonly #lease: Lease;
  readonly #lostShards: LostShards;
  /** Replaces pods on lost machines; undefined without consent. */
  readonly #lost: LostMachines | undefined;

  /**
   * @param identity name of this process, unique among all that may change the deployment
   * @param log prints a line
   */
  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly settings: ControllerSettings,
    private readonly endpoint: LookEndpoint,
    identity: string,
    private readonly log: (line: string) => void,
  ) {
    const { target, replaceLostMachinesAfterSeconds: seconds } = settings;
    const { namespace, lease = "" } = target;
    this.#lease = new Lease(kubernetes, { namespace, lease }, identity);
    this.#lostShards = new LostShards({
      kubernetes,
      target,
      reaction: settings.onLostMajority,
      log: (line) => {
        log(`${settings.target.name}: ${line}`);
      },
      tell: (text) => this.#tell(text),
      withLease: (stop, work) => this.#withLease(this.#memory, stop, work),
    });
    this.#lost = seconds === undefined ? undefined : new LostMachines(kubernetes, target, seconds);
  }

  get #target(): KubernetesReference {
    return this.settings.target;
  }

  /** Looks until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { everySeconds } = this.settings;
    const { namespace, statefulSet } = this.#target;
    const say = (line: string): void => {
      this.log(`${this.#target.name}: ${line}`);
    };
    const pods = PodChanges.watch(this.kubernetes, { namespace, statefulSet }, say, signal);
    await watch(
      {
        name: this.#target.name,
        inspect: () => this.#inspect(signal),
      },
      {
        everyMs: everySeconds * 1000,
        failingEveryMs: Math.min(FAILING_EVERY_MS, everySeconds * 1000),
        untilChange: (until) => pods.next(until),
        signal,
        onLook: (look, former) => this.#onLook(look, former, signal),
      },
    );
  }

  async #inspect(signal: AbortSignal): Promise<Inspection> {
    let password: string;
    try {
      password = await this.#password();
    } catch (error) {
      return { verification: undefined, drift: [messageOf(error)] };
    }
    const { base, perNode } = FAILING_LOOK_MS;
    const timeoutMs = this.#passes ? undefined : base + perNode * nodeCount(this.#target.shape);
    const inspection = await inspectDeployment(this.#target, password, { timeoutMs, signal });
    const { name, tls } = this.#target;
    if (tls !== undefined && Date.now() - this.#certificatesAt >= CERTIFICATES_EVERY_MS) {
      const endpoints = inspection.verification?.facts.nodes.map(({ node }) => node.endpoint) ?? [];
      const end = await firstCertificateEnd(endpoints);
      if (end !== undefined) {
        this.endpoint.recordCertificateEnd(name, end);
        this.#certificatesAt = Date.now();
      }
    }
    return inspection;
  }

  async #onLook(look: Look, former: Look | undefined, signal: AbortSignal): Promise<void> {
    this.#passes = look.pass;
    this.endpoint.record(look, former);
    const changes = changesOf(former, look);
    for (const change of changes) this.log(change);
    if (former?.pass !== look.pass && (former !== undefined || !look.pass))
      await this.#tell({
        reason: look.pass ? "Verified" : "NotVerified",
        message: changes.join("; "),
        isWarning: !look.pass,
      });
    await this.#handleLostShards(look, signal);
    if (!this.settings.repair) return;
    this.#memory = remember(this.#memory, look);
    try {
      await this.#lease.otherHolder();
      if (!this.#isInformed) this.#memory = { ...this.#memory, ...historyIn(this.#lease.notes) };
      this.#isInformed = true;
    } catch (error) {
      this.#waiting = this.#sayWaiting(messageOf(error));
      return;
    }
    if (await this.#replaceLost(look, signal)) return;
    const decision = decide(this.#memory, look);
    this.#waiting = decision.kind === "wait" ? this.#sayWaiting(decision.why) : "";
    if (decision.kind === "repair") await this.#repairAlone(decision, signal);
  }

  async #handleLostShards(look: Look, signal: AbortSignal): Promise<void> {
    try {
      await this.#lostShards.onLook(look, await this.#password(), signal);
    } catch (error) {
      if (!signal.aborted) this.log(`${this.#target.name}: ${messageOf(error)}`);
    }
  }

  #sayWaiting(why: string): string {
    if (why !== this.#waiting) this.log(`${this.#target.name}: nothing is repaired: ${why}`);
    return why;
  }

  /**
   * Replaces a pod on a lost machine if a server cannot be reached. @returns whether a machine with pods is away, so that
   * nothing else is repaired
   */
  async #replaceLost({ assertions }: Look, signal: AbortSignal): Promise<boolean> {
    const lost = this.#lost;
    if (lost === undefined || !assertions.some(({ id, holds }) => id === "reachable" && !holds)) return false;
    const { repairs } = this.#memory;
    try {
      const decision = await lost.decide(repairs, await this.#password());
      if (decision.kind === "none") return false;
      this.#waiting = decision.kind === "wait" ? this.#sayWaiting(decision.why) : "";
      if (decision.kind === "replace") {
        const counted = { ...this.#memory, repairs: [...repairs, Date.now()] };
        await this.#withLease(counted, signal, (held) => this.#replace(lost, decision, repairs, held));
      }
    } catch (error) {
      this.#waiting = this.#sayWaiting(messageOf(error));
    }
    return true;
  }

  async #replace(
    lost: LostMachines,
    decision: Replacement,
    repairs: readonly number[],
    signal: AbortSignal,
  ): Promise<void> {
    const { role, pod, facts } = decision;
    this.log(`${this.#target.name}: replacing ${role} ${pod.name}: ${facts}`);
    const [outcome, text] = await lost.replace(decision, repairs, await this.#password(), signal).then(
      (): [RepairOutcome, string] => ["done", `replaced ${role} ${pod.name}: ${facts}`],
      (error: unknown): [RepairOutcome, string] => ["failed", `cannot replace ${pod.name}: ${messageOf(error)}`],
    );
    await this.#tellOutcome(outcome, text, "Replaced");
  }

  /** Repairs while no update and no other controller changes the deployment. */
  async #repairAlone(decision: Repair, signal: AbortSignal): Promise<void> {
    await this.#withLease(rememberRepair(this.#memory, Date.now()), signal, async (held) => {
      const hasSucceeded = await this.#repair(decision, held);
      this.#memory = rememberRepairEnd(this.#memory, Date.now(), hasSucceeded);
    });
  }

  /**
   * Does the work while it holds the Lease. A problem is logged.
   * @param memory memory that counts this work, if it is a repair
   * @returns whether the work was done
   */
  async #withLease(
    memory: HealingMemory,
    signal: AbortSignal,
    work: (held: AbortSignal) => Promise<void>,
  ): Promise<boolean> {
    try {
      const why = await this.#whyNotAlone(memory);
      if (why !== undefined) {
        this.#waiting = this.#sayWaiting(why);
        return false;
      }
      this.#memory = memory;
      await this.#lease.during(AbortSignal.any([signal, AbortSignal.timeout(REPAIR_MS)]), work);
      return true;
    } catch (error) {
      this.log(`${this.#target.name}: ${messageOf(error)}`);
      return false;
    } finally {
      await this.#lease.release(historyNote(this.#memory)).catch(() => undefined);
    }
  }

  /** Takes the Lease. @returns why that is not possible, or why nothing must be repaired */
  async #whyNotAlone(memory: HealingMemory): Promise<string | undefined> {
    const isOutdated = (): boolean => {
      const wanted = this.#lease.notes[WANTED_NOTE];
      return wanted !== undefined && wanted !== wantedNodes(this.#target);
    };
    const outdated = "an update that changes the nodes of the deployment has not succeeded; run pulumi up again";
    // Asked before as well, because taking the Lease counts as a repair.
    if (isOutdated()) return outdated;
    const other = await this.#lease.acquire(historyNote(memory));
    if (other !== undefined) return `${other} holds Lease ${this.#target.lease ?? ""}`;
    return isOutdated() ? outdated : undefined;
  }

  /** @returns whether it succeeded */
  async #repair({ what, handOver }: Repair, signal: AbortSignal): Promise<boolean> {
    const { name } = this.#target;
    const why = what.join(", ");
    this.log(`${name}: repairing ${why}${handOver ? "" : ", without a hand-over"}`);
    const report: ReportProgress = (line, passing) => {
      if (passing !== true) this.log(`${name}: ${line}`);
    };
    const repair = async (): Promise<boolean> =>
      repairDeployment(this.#target, await this.#password(), { handOver }, { timeoutMs: REPAIR_MS, signal, report });
    const [outcome, text] = await repair().then(
      (changed): [RepairOutcome, string] =>
        changed ? ["done", `repaired ${why}`] : ["unneeded", `no change was needed to repair ${why}`],
      (error: unknown): [RepairOutcome, string] => ["failed", `cannot repair ${why}: ${messageOf(error)}`],
    );
    await this.#tellOutcome(outcome, text, "Repaired");
    return outcome !== "failed";
  }

  async #tellOutcome(outcome: RepairOutcome, text: string, success: string): Promise<void> {
    const { name } = this.#target;
    this.endpoint.recordRepair(name, outcome);
    this.log(`${name}: ${text}`);
    const isFailed = outcome === "failed";
    await this.#tell({ reason: isFailed ? "RepairFailed" : success, message: text, isWarning: isFailed });
  }

  /** Creates an Event about the StatefulSet. An Event that cannot be created stops nothing. */
  async #tell(text: EventText): Promise<void> {
    const { namespace, statefulSet: name } = this.#target;
    try {
      const set = await findStatefulSet(this.kubernetes, this.#target);
      const uid = set?.metadata?.uid;
      const about = {
        apiVersion: "apps/v1",
        kind: "StatefulSet",
        namespace,
        name,
        ...(uid === undefined ? {} : { uid }),
      };
      await createEvent(this.kubernetes, about, "valkey-controller", text);
    } catch (error) {
      this.log(`${this.#target.name}: no Event: ${messageOf(error)}`);
    }
  }

  /** The present password. A kubelet changes the file some time after an update has changed the Secret. */
  #password(): Promise<string> {
    return readFile(this.settings.passwordFile, "utf8");
  }
}

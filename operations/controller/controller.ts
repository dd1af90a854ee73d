/** Verifies one deployment on Kubernetes at intervals, reports failures, and makes the repairs that are safe. */
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import { connect } from "node:tls";
import { messageOf } from "../../lib/errors";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { type EventText, createEvent } from "../../platforms/kubernetes/api/events";
import { PodChanges } from "../../platforms/kubernetes/pods/pod-changes";
import { findStatefulSet } from "../../platforms/kubernetes/volumes/statefulset-volumes";
import { type Inspection, inspectDeployment } from "../inspection/drift";
import { repairDeployment } from "../changes/repair";
import type { SeenData } from "../../valkey/verification/facts";
import { nodeCount } from "../../valkey/topology/placement";
import type { LookEndpoint } from "../inspection/endpoint";
import { type HealingReport, Healer, REPAIR_MS } from "../healing/healer";
import { changesOf, type Look } from "../inspection/look";
import { LostMachines } from "../healing/lost-machines";
import { LostShards } from "../healing/lost-shards";
import type { ControllerSettings } from "./pod-settings";
import { LeaseLock } from "../healing/repair-lock";
import { watch } from "../inspection/watch";
import { compact } from "../../lib/compact";
import type { Endpoint } from "../../valkey/node";

const CERTIFICATE_TIMEOUT_MS = 5_000;

const FAILING_EVERY_MS = 5_000;
/** Milliseconds, plus `perNode` for each node: short to find shards without a primary early, long enough to connect. */
const FAILING_LOOK_MS = { base: 5_000, perNode: 50 };
const CERTIFICATES_EVERY_MS = 600_000;

export class Controller {
  #certificatesAt = 0;
  #passes = true;
  readonly #lostShards: LostShards;
  /** Repairs the deployment; undefined if the controller only verifies it. */
  readonly #healer: Healer | undefined;

  /** @param identity unique among all processes that may change the deployment */
  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly settings: ControllerSettings,
    private readonly endpoint: LookEndpoint,
    identity: string,
    private readonly log: (line: string) => void,
  ) {
    const { target, onLostMajority: reaction } = settings;
    this.#healer = settings.repair ? this.#newHealer(identity) : undefined;
    this.#lostShards = new LostShards({
      ...{ kubernetes, target, reaction },
      log: this.#say,
      tell: (text) => this.#tell(text),
      withLease: async (signal, work) => (await this.#healer?.alone(signal, work)) ?? false,
    });
  }

  get #target(): KubernetesReference {
    return this.settings.target;
  }

  readonly #say = (line: string): void => {
    this.log(`${this.#target.name}: ${line}`);
  };

  async run(signal: AbortSignal): Promise<void> {
    const { everySeconds } = this.settings;
    const { namespace, statefulSet } = this.#target;
    const pods = PodChanges.watch(this.kubernetes, { namespace, statefulSet }, this.#say, signal);
    await watch(
      { name: this.#target.name, inspect: (limited, former) => this.#inspect(former, limited) },
      {
        everyMs: everySeconds * 1000,
        failingEveryMs: Math.min(FAILING_EVERY_MS, everySeconds * 1000),
        untilChange: (until) => pods.next(until),
        signal,
        onLook: (look, former) => this.#onLook(look, former, signal),
      },
    );
  }

  async #inspect(former: SeenData | undefined, signal: AbortSignal): Promise<Inspection> {
    let password: string;
    try {
      password = await this.#password();
    } catch (error) {
      return { verification: undefined, drift: [messageOf(error)] };
    }
    const { base, perNode } = FAILING_LOOK_MS;
    const timeoutMs = this.#passes ? undefined : base + perNode * nodeCount(this.#target.shape);
    const { kubernetes } = this;
    const options = { former, timeoutMs, signal, forRepair: this.settings.repair, kubernetes };
    const inspection = await inspectDeployment(this.#target, password, options);
    const { name, tls } = this.#target;
    if (tls !== undefined && Date.now() - this.#certificatesAt >= CERTIFICATES_EVERY_MS) {
      const endpoints = inspection.verification?.facts.nodes.map(({ node }) => node.endpoint) ?? [];
      const end = await firstCertificateEnd(endpoints);
      if (end !== undefined) {
        this.endpoint.metrics.recordCertificateEnd(name, end);
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
    await this.#healer?.afterLook(look, signal);
  }

  async #handleLostShards(look: Look, signal: AbortSignal): Promise<void> {
    try {
      await this.#lostShards.onLook(look, await this.#password(), signal);
    } catch (error) {
      if (!signal.aborted) this.#say(messageOf(error));
    }
  }

  #newHealer(identity: string): Healer {
    const { target, replaceLostMachinesAfterSeconds: seconds } = this.settings;
    const password = (): Promise<string> => this.#password();
    return new Healer({
      lock: new LeaseLock(this.kubernetes, () => target, identity),
      repairSettings: this.settings.repairSettings,
      repair: async (order, signal, report) => {
        const { memoryLimit } = this.settings;
        const waiting = { timeoutMs: REPAIR_MS, signal, report };
        return repairDeployment(target, await password(), { ...order, memoryLimit }, waiting);
      },
      lostMachines: seconds === undefined ? undefined : new LostMachines(this.kubernetes, target, seconds, password),
      report: (report) => this.#onHealing(report),
    });
  }

  async #onHealing({ kind, message, isReplacement = false }: HealingReport): Promise<void> {
    const { name } = this.#target;
    this.#say(message);
    if (kind === "waiting" || kind === "begun" || kind === "step") return;
    this.endpoint.metrics.recordRepair(name, kind);
    if (kind === "unneeded") return;
    const isFailed = kind === "failed";
    const success = isReplacement ? "Replaced" : "Repaired";
    await this.#tell({ reason: isFailed ? "RepairFailed" : success, message, isWarning: isFailed });
  }

  /** If Kubernetes refuses the Event, the controller continues. */
  async #tell(text: EventText): Promise<void> {
    const { namespace, statefulSet: name } = this.#target;
    try {
      const set = await findStatefulSet(this.kubernetes, this.#target);
      const uid = set?.metadata?.uid;
      const about = { apiVersion: "apps/v1", kind: "StatefulSet", namespace, name, ...(uid && { uid }) };
      await createEvent(this.kubernetes, about, "valkey-controller", text);
    } catch (error) {
      this.#say(`cannot create an Event: ${messageOf(error)}`);
    }
  }

  /** Read each time, because the kubelet replaces the file some time after an update has changed the Secret. */
  #password(): Promise<string> {
    return readFile(this.settings.passwordFile, "utf8");
  }
}

/** Milliseconds since 1970. Silent servers are left out. Invalid certificates count, because they expire too. */
async function firstCertificateEnd(endpoints: readonly Endpoint[]): Promise<number | undefined> {
  const ends = compact(await Promise.all(endpoints.map((each) => certificateEnd(each).catch(() => undefined))));
  return ends.length === 0 ? undefined : Math.min(...ends);
}

async function certificateEnd({ host, port }: Endpoint): Promise<number | undefined> {
  const socket = connect({ host, port, rejectUnauthorized: false, timeout: CERTIFICATE_TIMEOUT_MS });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(CERTIFICATE_TIMEOUT_MS) });
    return Date.parse(socket.getPeerCertificate().valid_to) || undefined;
  } finally {
    socket.destroy();
  }
}

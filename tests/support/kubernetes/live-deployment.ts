/** One deployment of a stack on a real Kubernetes: commands to its pods, faults, what a client sees, and its verdict. */
import { expect } from "vitest";
import { objectNames, proxyLabels } from "../../../components/kubernetes/names";
import { SERVER_CONTAINER } from "../../../components/kubernetes/layout";
import { PodFaultInjector } from "../../../faults/injectors/pod-injector";
import type { FaultSubject } from "../../../faults/scenarios/scenario-run";
import { compact } from "../../../lib/compact";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { openDeployment, openKubernetesClient, openPodDeployment } from "../../../platforms/deployment-reference";
import { nodeCount } from "../../../valkey/topology/placement";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { type Verification, verify, verifyUntilPass } from "../../../valkey/verification/verify";
import { never } from "../valkey/real";
import type { Update } from "../pulumi/small-engine";
import { type NodesUse, podLabels, withNamedNodes } from "./deployed-pods";
import type { LiveStack, Sections } from "./live-stack";
import { ObserverPod } from "./observer-pod";
import type { ThrowAway } from "./throw-away";

/**
 * Keys that are written to a shard at a time: more than the client of the row before has written and deleted again.
 * Servers that restart since then do not count these deletions.
 */
const KEYS = 3000;
/** Writes per second to each shard, of a client beside a change. */
const RATE = 50;
/** Time after which a write has failed, milliseconds: the machine of the tests has other work. */
const TIMEOUT_MS = 10_000;
/** Time for which a client goes on after a change. */
const AFTER_MS = 1000;

export interface Seen {
  readonly acknowledged: number;
  /** Writes without an acknowledgement. */
  readonly failed: number;
  /** Acknowledged writes that are gone. */
  readonly lost: number;
  /** The longest time in which a shard acknowledged no write, milliseconds; undefined for ioredis. */
  readonly pauseMs?: number | undefined;
  readonly log: readonly string[];
}

export interface Held {
  readonly keys: number;
  readonly primaries: readonly string[];
}

function heldIn({ verdict: { shards }, facts }: Verification): Held {
  const primaries = compact(shards.map(({ primary }) => primary));
  const own = facts.nodes.filter(({ node }) => primaries.includes(node.name));
  return { primaries, keys: own.reduce((sum, { keys }) => sum + (keys.known ? keys.value : Number.NaN), 0) };
}

export class LiveDeployment {
  #client: ((change: () => Promise<unknown>) => Promise<Seen>) | undefined;
  #injector: PodFaultInjector | undefined;
  #rounds = 0;

  constructor(
    readonly stack: LiveStack,
    readonly name: string,
    readonly wanted: { readonly platform?: object; readonly deployment: object },
  ) {}

  get here(): ThrowAway {
    return this.stack.here;
  }

  get target(): KubernetesReference {
    return this.stack.target(this.name);
  }

  get password(): string {
    return this.stack.password(this.name);
  }

  get labels(): Readonly<Record<string, string>> {
    return podLabels(this.name);
  }

  get pods(): string[] {
    return Array.from({ length: nodeCount(this.target.shape) }, (_, index) => `${this.name}-${index}`);
  }

  file({ platform, deployment }: Partial<LiveDeployment["wanted"]> = {}): Sections {
    return {
      platform: { ...this.wanted.platform, ...platform },
      deployments: { [this.name]: { ...this.wanted.deployment, ...deployment } },
    };
  }

  /** `pulumi up` with changed keys of the stack file. @param killedBefore as for the engine */
  up(changes: Partial<LiveDeployment["wanted"]> = {}, killedBefore?: string): Promise<Update> {
    return this.stack.up(this.file(changes), killedBefore);
  }

  run(pod: string, script: string): Promise<string> {
    return this.here.run(pod, SERVER_CONTAINER, `. /valkey/scripts/node.sh; ${script}`);
  }

  tell(pod: string, command: string): Promise<string> {
    return this.run(pod, `echo '${command}' | tell localhost 5`);
  }

  tellSentinel(index: number, command: string): Promise<string> {
    const { sentinel } = objectNames(this.name);
    return this.run(`${this.name}-0`, `echo "${command}" | tell ${sentinel}-${index}$SENTINELS 5 26379`);
  }

  get sentinels(): string[] {
    const { sentinel } = objectNames(this.name);
    return [0, 1, 2].map((index) => `${sentinel}-${index}`);
  }

  async primaries(): Promise<string[]> {
    const roles = await Promise.all(
      this.pods.map(async (pod) => ((await this.tell(pod, "ROLE").catch(String)).startsWith("master") ? pod : "")),
    );
    return roles.filter((pod) => pod !== "");
  }

  async replicas(): Promise<string[]> {
    const primaries = await this.primaries();
    return this.pods.filter((pod) => !primaries.includes(pod));
  }

  /** Names, identities and restarts of the servers' pods, which a change without a restart leaves as they are. */
  async identities(): Promise<string[]> {
    const pods = await this.here.pods(this.labels);
    return pods
      .map(({ metadata, status }) =>
        [metadata?.name, metadata?.uid, status?.containerStatuses?.[0]?.restartCount].join(" "),
      )
      .sort();
  }

  async restarts(pod: string): Promise<number> {
    const { namespace, core } = this.here;
    const { status } = await core.readNamespacedPod({ namespace, name: pod });
    return status?.containerStatuses?.[0]?.restartCount ?? 0;
  }

  async crash(pod: string): Promise<void> {
    const before = await this.restarts(pod);
    await this.tell(pod, "SHUTDOWN NOSAVE NOW FORCE").catch(() => undefined);
    await this.here.until(30, async () =>
      (await this.restarts(pod)) > before ? undefined : `${pod} has not restarted`,
    );
  }

  /** @param graceSeconds @default that of the pods */
  async delete(graceSeconds: number | undefined, ...pods: readonly string[]): Promise<void> {
    const { namespace, core } = this.here;
    const grace = graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds };
    for (const name of pods) await core.deleteNamespacedPod({ namespace, name, ...grace });
  }

  /**
   * Deletes a pod, and keeps its name taken: a pod that comes back at once may be away for less than the time between
   * two looks of a controller.
   * @returns a function that lets the pod come back
   */
  async deleteAndHold(name: string): Promise<() => Promise<unknown>> {
    const { namespace, core } = this.here;
    const path = "/metadata/finalizers";
    await core.patchNamespacedPod({ namespace, name, body: [{ op: "add", path, value: ["valkey-test/hold"] }] });
    await this.delete(undefined, name);
    return () => core.patchNamespacedPod({ namespace, name, body: [{ op: "remove", path }] });
  }

  /** Has kubelets look at changed Secrets and ConfigMaps now: the change of a pod makes them. */
  async refreshFiles(...pods: readonly string[]): Promise<void> {
    const { namespace, core } = this.here;
    const body = [{ op: "add", path: "/metadata/labels/look", value: String(this.#rounds++) }];
    await Promise.all(pods.map((name) => core.patchNamespacedPod({ namespace, name, body })));
  }

  async verified(seconds = 60): Promise<Verification> {
    const deployment = await openDeployment(this.target, this.password);
    const verification = await verifyUntilPass(deployment, { settlingMs: seconds * 1000 });
    expect(verification.verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
    return verification;
  }

  async failing(): Promise<readonly (readonly [id: string, found: string])[]> {
    const { verdict } = await verify(await openDeployment(this.target, this.password));
    return verdict.assertions.flatMap(({ id, pass, found }) => (pass ? [] : [[id, found] as const]));
  }

  async isWhole(): Promise<Held> {
    await this.here.untilReady(this.labels, this.pods.length, 120);
    if (this.target.sentinel !== undefined) await this.here.untilReady(proxyLabels(this.name), 2, 60);
    return heldIn(await this.verified());
  }

  async withNodes<T>(use: NodesUse<T>): Promise<T> {
    return withNamedNodes(await openDeployment(this.target, this.password), use);
  }

  async fill(): Promise<Held> {
    const verification = await this.verified();
    await this.write(verification, this.target.shape.replicasPerPrimary);
    const { keys, primaries } = heldIn(verification);
    return { keys: keys + KEYS * primaries.length, primaries };
  }

  async write({ verdict: { shards } }: Verification, replicas: number): Promise<void> {
    const prefix = `kept:${this.#rounds++}`;
    const tags = slotTags();
    await this.withNodes(async (at) => {
      for (const { primary, slots } of shards) {
        const tag = tags[slots[0]?.from ?? 0] ?? "";
        await at(primary).mset(Array.from({ length: KEYS }, (_, key) => [`${prefix}:${key}:{${tag}}`, "kept"]).flat());
        expect(await at(primary).wait(replicas, 10_000)).toBeGreaterThanOrEqual(replicas);
      }
    });
  }

  /**
   * Observes a change, and a second after it, from a client in a pod. Without Sentinels the client of a replication is
   * ioredis, which repeats a command whose connection was cut. The other client repeats nothing.
   */
  async seen(change: () => Promise<unknown>): Promise<Seen> {
    this.#client ??= await this.#startClient();
    return this.#client(change);
  }

  /** Certificate of the authority of the servers' certificate, PEM; undefined without TLS. */
  async #authority(): Promise<string | undefined> {
    const { tls, namespace } = this.target;
    if (tls === undefined) return undefined;
    const { data } = await this.here.core.readNamespacedSecret({ namespace, name: tls.secretName });
    return Buffer.from(data?.["ca.crt"] ?? "", "base64").toString();
  }

  async #startClient(): Promise<(change: () => Promise<unknown>) => Promise<Seen>> {
    const { mode, sentinel } = this.target;
    const { client, headless, secret } = objectNames(this.name);
    const { namespace } = this.here;
    const at = (host: string) => ({ host: `${host}.${namespace}.svc.cluster.local`, port: 6379 });
    const password = { secret, key: "password" };
    const pod = `${this.name}-client`;
    if (mode === "replication" && sentinel === undefined) {
      const ioredis = await ObserverPod.start(this.here, pod, "ioredis-main.ts", { at: at(client) }, password);
      return async (change) => {
        const { failed, ...counts } = await ioredis.during(change, AFTER_MS, { ca: await this.#authority() });
        return { ...counts, failed: failed.length, log: failed };
      };
    }
    const endpoints = mode === "cluster" ? this.pods.map((each) => at(`${each}.${headless}`)) : [at(client)];
    const observer = await ObserverPod.start(
      ...([this.here, pod, "observer-main.ts"] as const),
      { mode, endpoints, rate: RATE, timeoutMs: TIMEOUT_MS },
      password,
    );
    return async (change) => observer.during(change, AFTER_MS, { ca: await this.#authority() });
  }

  async subject(): Promise<FaultSubject & { readonly injector: PodFaultInjector }> {
    const { target } = this;
    const kubernetes = await openKubernetesClient(target);
    this.#injector?.close();
    this.#injector = new PodFaultInjector(await openPodDeployment(kubernetes, target, this.password), {
      ...{ kubernetes, container: SERVER_CONTAINER, networkPolicy: this.name, signal: never },
    });
    const { shards } = (await this.verified()).verdict;
    return {
      injector: this.#injector,
      shape: target.shape,
      hasAutomaticFailover: target.mode === "cluster" || target.sentinel !== undefined,
      initialPrimaries: compact(shards.map(({ primary }) => primary)),
    };
  }

  close(): void {
    this.#injector?.close();
  }
}

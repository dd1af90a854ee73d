/** A deployment in replication mode in pods, with one primary and two replicas: commands to its pods, and keys that must not vanish. */
import { expect } from "vitest";
import { compact } from "../../../lib/compact";
import { openDeployment } from "../../../platforms/deployment-reference";
import { verify, verifyUntilPass } from "../../../valkey/verification/verify";
import { DeployedPods, podLabels } from "./deployed-pods";
import type { PodsKind } from "./deployed-pods";
import type { Tls } from "../../../components/kubernetes/arguments";
import type { ThrowAway } from "./throw-away";

/** Written at a time. */
const KEYS = 300;
const SHAPE = { primaries: 1, replicasPerPrimary: 2 };
const SETTINGS = { save: "", "repl-diskless-sync-delay": 0, "enable-debug-command": "local" } as const;

export class ReplicatedPods {
  #keys = 0;

  private constructor(
    readonly deployed: DeployedPods,
    readonly name: string,
  ) {}

  /**
   * @param sentinel @default no Sentinels
   * @param tls @default plain TCP
   * @param where as in `DeployedPods.open`
   */
  static async open(
    name: string,
    { sentinel, tls }: Pick<PodsKind, "sentinel"> & { readonly tls?: Tls | undefined } = {},
    where?: ThrowAway,
  ): Promise<ReplicatedPods> {
    const kind = { mode: "replication", shape: SHAPE, sentinel } as const;
    return new ReplicatedPods(await DeployedPods.open(name, kind, { settings: SETTINGS, tls }, where), name);
  }

  get pods(): string[] {
    return [0, 1, 2].map((index) => `${this.name}-${index}`);
  }

  run(pod: string, script: string): Promise<string> {
    return this.deployed.here.run(pod, "valkey", `. /valkey/scripts/node.sh; ${script}`);
  }

  tell(pod: string, command: string): Promise<string> {
    return this.run(pod, `echo '${command}' | tell localhost 5`);
  }

  tellSentinel(index: number, command: string): Promise<string> {
    return this.run(`${this.name}-0`, `echo "${command}" | tell ${this.name}-sentinel-${index}$SENTINELS 5 26379`);
  }

  /** Pods that say that they are the primary. */
  async primaries(): Promise<string[]> {
    const roles = await Promise.all(
      this.pods.map(async (pod) =>
        (await this.tell(pod, "ROLE").catch(String)).startsWith("master") ? pod : undefined,
      ),
    );
    return compact(roles);
  }

  /** Writes further keys at a Service. */
  async write(service: string): Promise<void> {
    const [pod = ""] = this.pods;
    const first = this.#keys + 1;
    this.#keys += KEYS;
    const keys = `seq -f 'SET key:%g kept' ${first} ${this.#keys}`;
    const replies = await this.run(pod, `${keys} | tell ${service}.${this.deployed.here.namespace} 20`);
    const others = replies.split("\n").filter((reply) => reply !== "OK" && reply !== "");
    expect(others, "replies").toEqual([]);
    expect(replies.match(/^OK$/gm)).toHaveLength(KEYS);
  }

  /** Writes at a Service, and waits until every pod has each key. */
  async fill(service: string): Promise<void> {
    await this.write(service);
    await this.deployed.here.until(30, async () => this.#missing());
  }

  async #missing(): Promise<string | undefined> {
    const sizes = await Promise.all(this.pods.map((pod) => this.tell(pod, "DBSIZE").catch(String)));
    return sizes.every((size) => Number(size) === this.#keys) ? undefined : `keys: ${sizes.join(", ")}`;
  }

  /** Counts the keys that other clients have written. */
  async includeKeysOfOthers(): Promise<void> {
    const [primary = ""] = await this.primaries();
    this.#keys = Number(await this.tell(primary, "DBSIZE"));
  }

  /** Ends the server's process without saving, as one that is killed. Its container starts again. */
  async crash(pod: string): Promise<void> {
    const before = await this.restarts(pod);
    await this.tell(pod, "SHUTDOWN NOSAVE NOW FORCE").catch(() => undefined);
    await this.deployed.here.until(30, async () =>
      (await this.restarts(pod)) > before ? undefined : `${pod} has not restarted`,
    );
  }

  async restarts(pod: string): Promise<number> {
    const { namespace, core } = this.deployed.here;
    const { status } = await core.readNamespacedPod({ namespace, name: pod });
    return status?.containerStatuses?.[0]?.restartCount ?? 0;
  }

  async delete(graceSeconds: number | undefined, ...pods: readonly string[]): Promise<void> {
    const { namespace, core } = this.deployed.here;
    for (const name of pods)
      await core.deleteNamespacedPod({
        namespace,
        name,
        ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
      });
  }

  /** Assertions that fail at this moment, and what was found. */
  async failing(): Promise<readonly (readonly [id: string, found: string])[]> {
    const { target, password } = this.deployed;
    const { verdict } = await verify(await openDeployment(target, password));
    return verdict.assertions.flatMap(({ id, pass, found }) => (pass ? [] : [[id, found] as const]));
  }

  /** All pods are ready, verification passes, and every pod has each key. */
  async isWhole(): Promise<void> {
    const { here, target, password } = this.deployed;
    await here.untilReady(podLabels(this.name), this.pods.length, 120);
    await here.until(30, async () => this.#missing());
    const { verdict } = await verifyUntilPass(await openDeployment(target, password), { settlingMs: 60_000 });
    expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
  }
}

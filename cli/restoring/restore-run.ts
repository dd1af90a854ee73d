import { once } from "node:events";
import { join } from "node:path";
import { messageOf } from "../../lib/errors";
import { counted } from "../../lib/units";
import type { Host } from "../../platforms/host/host";
import type { Programs } from "../../platforms/host/programs/programs";
import type { ServerComparison } from "../../backup/restoring/compare-servers";
import { compareServers } from "../../backup/restoring/compare-servers";
import type { StagedShard } from "../../backup/restoring/staging";
import { stageSets } from "../../backup/restoring/staging";
import { startReshaped, writeReshaped } from "../../backup/restoring/host/start-reshaped";
import { stagingProcesses } from "../../backup/restoring/host/staging-processes";
import { restoredPlan, startRestored } from "../../backup/restoring/host/start-restored";
import type { RestoreOptions } from "../../backup/restoring/loading";
import { neededDatabases } from "../../backup/restoring/loading";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import type { Restore } from "../../backup/archive/catalog";
import type { KeySelection, TtlRule } from "../../backup/restoring/key-selection";
import { recordProof } from "../../backup/archive/keeping/proofs";
import type { RestoreShape } from "../../backup/restoring/restore-shape";
import type { Place } from "../../backup/archive/store";
import type { Deployment } from "../../valkey/deployment";
import { nodeCount } from "../../valkey/topology/placement";
import type { Verification } from "../../valkey/verification/verify";
import { verifyUntilPass } from "../../valkey/verification/verify";
import type { LocalServers } from "../running/local-servers";
import { connectCommand } from "../running/local-servers";
import type { Step } from "../terminal/steps";
import { runSteps, StepFailure } from "../terminal/steps";
import { print } from "../terminal/terminal";
import { formatComparisons } from "./restore-report";

const SETTLING_MS = 60_000;

export interface RestoreOrder {
  readonly place: Place;
  readonly restored: Restore;
  readonly shape: RestoreShape;
  readonly replicas: number;
  readonly keys: KeySelection;
  readonly ttl: TtlRule;
}

/** Whether a restore changes neither shards nor keys nor TTLs, so that servers can load the archive's files. Pure. */
function isUnchanged({ shape, keys, ttl }: Pick<RestoreOrder, "shape" | "keys" | "ttl">): boolean {
  return shape.isArchived && keys.isAll && ttl === "absolute";
}

/** The list is empty for a folder, because servers can load the sets from there. */
export function copySteps(
  { place, restored }: Pick<RestoreOrder, "place" | "restored">,
  { host, signal }: LocalServers,
  onCopied: (restored: Restore) => void,
): Step[] {
  if (!place.isRemote) return [];
  return [
    {
      title: `Copy the sets from ${place.label}`,
      run: async (report) => {
        const { copySets } = await import("../../backup/archive/bucket/local-sets.js");
        onCopied(await copySets(restored, join(host.run.path, "sets"), { signal, report }));
        return undefined;
      },
    },
  ];
}

export class RestoreRun {
  #plan: HostDeploymentPlan | undefined;
  #deployment: Deployment | undefined;
  #verification: Verification | undefined;
  #staged: readonly StagedShard[] | undefined;
  #comparisons: readonly ServerComparison[] = [];
  readonly #began = performance.now();

  constructor(
    private order: RestoreOrder,
    private readonly programs: Programs,
    private readonly servers: LocalServers,
  ) {}

  get passed(): boolean {
    const isEqual = this.#comparisons.length > 0 && this.#comparisons.every(({ comparison }) => comparison.isEqual);
    return isEqual && this.#verification?.verdict.pass === true;
  }

  async execute(): Promise<void> {
    const host = this.servers.create("restore", this.programs);
    const { signal } = this.servers;
    try {
      const copy = copySteps(this.order, this.servers, (restored) => {
        this.order = { ...this.order, restored };
      });
      const start = isUnchanged(this.order) ? [this.#startArchived(host, signal)] : this.#reshape(host, signal);
      await runSteps([...copy, ...start, ...this.#check(host, signal)]);
    } catch (error) {
      throw this.servers.causeOf(error);
    }
  }

  get verifications(): readonly Verification[] {
    return this.#verification === undefined ? [] : [this.#verification];
  }

  get report(): string[] {
    return formatComparisons(this.order, this.#comparisons);
  }

  #startArchived(host: Host, signal: AbortSignal): Step {
    const { shape, replicas } = this.order;
    const plan = restoredPlan(shape, replicas, neededDatabases(this.order.restored));
    this.#plan = plan;
    return {
      title: `Write the sets and start ${this.#servers(plan)}`,
      run: async (report) => {
        this.#deployment = await startRestored(host, this.order.restored, plan, { signal, report });
        return this.#loaded(plan, "loaded the sets");
      },
    };
  }

  #reshape(host: Host, signal: AbortSignal): Step[] {
    const { restored, shape, replicas, keys } = this.order;
    return [
      {
        title: `Load the sets of ${counted(restored.shards.length, "shard")}`,
        run: async (report) => {
          this.#staged = await this.#stage(host, { signal, report });
          return undefined;
        },
      },
      {
        title: `Write ${counted(shape.shards.length, "shard")}`,
        run: async (report) => {
          this.#plan = await writeReshaped(host, this.#staged ?? [], shape, { replicas, keys, signal, report });
          return undefined;
        },
      },
      {
        title: "Start the servers",
        run: async () => {
          const plan = this.#ready(this.#plan);
          this.#deployment = await startReshaped(host, plan, signal);
          return this.#loaded(plan, "loaded their shards");
        },
      },
    ];
  }

  #check(host: Host, signal: AbortSignal): Step[] {
    return [
      {
        title: "Form",
        run: async (report) => {
          await host.form(this.#ready(this.#deployment), this.#ready(this.#plan).shape, { signal, report });
          return undefined;
        },
      },
      {
        title: "Verify",
        run: async (report) => {
          const options = { settlingMs: SETTLING_MS, signal, report };
          const verification = await verifyUntilPass(this.#ready(this.#deployment), options);
          this.#verification = verification;
          const line = `Verify: ${verification.verdict.pass ? "PASS" : "FAIL"}`;
          if (!verification.verdict.pass) throw new StepFailure(line);
          return line;
        },
      },
      {
        title: "Compare every key with the sets",
        run: async (report) => {
          const options = { signal, report };
          const wanted = {
            staged: this.#staged ?? (await this.#stage(host, options)),
            keys: this.order.keys,
            isUnchanged: isUnchanged(this.order),
            directory: host.run.path,
          };
          this.#comparisons = await compareServers(this.#ready(this.#deployment), wanted, options);
          return `Compared every key; ${this.#seconds} s in all`;
        },
      },
    ];
  }

  /** A place that cannot be written stays as it is. */
  async recordProof(): Promise<void> {
    const { place, restored } = this.order;
    const first = new Map(this.#comparisons.toReversed().map(({ shard, comparison }) => [shard, comparison]));
    if ([...first.values()].some(({ expired }) => expired > 0)) {
      print(
        "No proof is recorded, because keys that have expired were not compared; --ttl remaining compares them too.",
      );
      return;
    }
    try {
      await recordProof(place, {
        provenAt: Date.now(),
        period: restored.period.name,
        keys: [...first.values()].reduce((sum, { keys }) => sum + keys[0], 0),
        shards: restored.shards.map(({ name, set, point }) => ({ shard: name, set: set.name, instant: point.at })),
      });
    } catch (error) {
      print(`The proof could not be recorded in the archive: ${messageOf(error)}`);
    }
  }

  /** @throws Failure when a server exits */
  async serve(): Promise<void> {
    if (this.#deployment === undefined) return;
    const { host, signal, interruption } = this.servers;
    print("", "The servers run until Ctrl-C. To connect:", ...connectCommand(host, this.#deployment));
    if (!signal.aborted) await once(signal, "abort");
    if (!interruption.aborted) signal.throwIfAborted();
  }

  #stage(host: Host, options: RestoreOptions): Promise<StagedShard[]> {
    return stageSets(stagingProcesses(host), this.order.restored, this.order.ttl, options);
  }

  #servers({ shape }: HostDeploymentPlan): string {
    return counted(nodeCount(shape), "server");
  }

  #loaded(plan: HostDeploymentPlan, what: string): string {
    return `${this.#servers(plan)} of Valkey ${this.programs.version} ${what} in ${this.#seconds} s`;
  }

  get #seconds(): string {
    return ((performance.now() - this.#began) / 1000).toFixed(1);
  }

  #ready<T>(value: T | undefined): T {
    if (value === undefined) throw new Error("an earlier step is missing");
    return value;
  }
}

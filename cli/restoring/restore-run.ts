import { once } from "node:events";
import { messageOf } from "../../lib/errors";
import { counted } from "../../lib/units";
import type { Host } from "../../platforms/host/host";
import type { Programs } from "../../platforms/host/programs/programs";
import { type ServerComparison, compareServers } from "../../backup/restoring/compare-servers";
import { type StagedShard, stageSets } from "../../backup/restoring/staging";
import { stagingProcesses, startRestored, writeRestored } from "../../backup/restoring/start-restored";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import type { Restore } from "../../backup/archive/catalog";
import type { TtlRule } from "../../model/backup";
import type { KeySelection } from "../../backup/restoring/key-selection";
import { recordProof } from "../../backup/archive/keeping/proofs";
import type { RestoreShape } from "../../backup/restoring/restore-shape";
import type { Deployment } from "../../valkey/deployment";
import { nodeCount } from "../../valkey/topology/placement";
import { type Verification, verifyUntilPass } from "../../valkey/verification/verify";
import { type LocalServers, connectCommand } from "../running/local-servers";
import { type Step, runSteps, StepFailure } from "../terminal/steps";
import { print } from "../terminal/terminal";
import { formatComparisons } from "./restore-report";

const SETTLING_MS = 60_000;

export interface RestoreOrder {
  readonly restored: Restore;
  readonly shape: RestoreShape;
  readonly replicas: number;
  readonly keys: KeySelection;
  readonly ttl: TtlRule;
}

export class RestoreRun {
  #plan: HostDeploymentPlan | undefined;
  #deployment: Deployment | undefined;
  #verification: Verification | undefined;
  #staged: readonly StagedShard[] | undefined;
  #comparisons: readonly ServerComparison[] = [];
  readonly #began = performance.now();

  constructor(
    private readonly order: RestoreOrder,
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
      await runSteps([...this.#start(host, signal), ...this.#check(host, signal)]);
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

  #start(host: Host, signal: AbortSignal): Step[] {
    const { restored, shape, ttl } = this.order;
    return [
      {
        title: `Load the sets of ${counted(restored.shards.length, "shard")}`,
        run: async (report) => {
          this.#staged = await stageSets(stagingProcesses(host), restored, ttl, { signal, report });
          return undefined;
        },
      },
      {
        title: `Write ${counted(shape.shards.length, "shard")}`,
        run: async (report) => {
          this.#plan = await writeRestored(host, this.#ready(this.#staged), this.order, { signal, report });
          return undefined;
        },
      },
      {
        title: "Start the servers",
        run: async () => {
          const plan = this.#ready(this.#plan);
          this.#deployment = await startRestored(host, plan, signal);
          const servers = counted(nodeCount(plan.shape), "server");
          return `${servers} of Valkey ${this.programs.version} loaded their shards in ${this.#seconds} s`;
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
          const { keys, shape } = this.order;
          const wanted = { staged: this.#ready(this.#staged), keys, isUnchanged: shape.isArchived };
          const options = { signal, report };
          this.#comparisons = await compareServers(
            this.#ready(this.#deployment),
            { ...wanted, directory: host.run.path },
            options,
          );
          return `Compared every key; ${this.#seconds} s in all`;
        },
      },
    ];
  }

  /** A place that cannot be written stays as it is. */
  async recordProof(): Promise<void> {
    const { restored } = this.order;
    const first = new Map(this.#comparisons.toReversed().map(({ shard, comparison }) => [shard, comparison]));
    if ([...first.values()].some(({ expired }) => expired > 0)) {
      print(
        "No proof is recorded, because keys that have expired were not compared; --ttl remaining compares them too.",
      );
      return;
    }
    try {
      await recordProof(restored.place, {
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

  get #seconds(): string {
    return ((performance.now() - this.#began) / 1000).toFixed(1);
  }

  #ready<T>(value: T | undefined): T {
    if (value === undefined) throw new Error("an earlier step is missing");
    return value;
  }
}

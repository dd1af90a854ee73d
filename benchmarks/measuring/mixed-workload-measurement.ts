import { BadInput } from "../../lib/errors";
import type { MemtierRun } from "../load/memtier/arguments";
import type { OpenLoopRun } from "../load/open-loop/local-driver";
import type { MeasurementRecord } from "../results/schema";
import type { ValkeyBenchmarkRun } from "../load/valkey-benchmark/arguments";
import type {
  MemtierWorkload,
  MixedWorkload,
  OpenLoopWorkload,
  ValkeyBenchmarkWorkload,
} from "../workloads/mixed-workload";
import { prefillForMixed, testForMixed, workloadForMixed } from "../workloads/mixed-workload-tests";
import { type ConnectionChecks, CHECK_CONNECTION_FACTOR } from "./connection-check";
import type { LoadDriver } from "../load/load-driver";
import type { LoadSender } from "./load-sender";
import { type MeasuredLoad, countedCommandsOfMixed } from "./measure";
import { mixedWorkloadRecord } from "./measurement-records";
import type { MeasurementListener } from "./measurement-series";
import type { Session } from "./session";

export class MixedWorkloadMeasurement {
  constructor(
    private readonly sender: LoadSender,
    private readonly checks: ConnectionChecks,
    private readonly listener: Pick<MeasurementListener, "progress">,
  ) {}

  async measure(
    label: string,
    {
      round,
      session,
      workload,
    }: { readonly round: number; readonly session: Session; readonly workload: MixedWorkload },
  ): Promise<MeasurementRecord> {
    const { deployment } = session;
    const keys = prefillForMixed(workload);
    this.listener.progress(`${label}: writing its keys`, true);
    await session.prepareKeys({ prefill: keys.what }, keys.size, this.sender.runners.signal);
    this.listener.progress(label, true);
    const seed = this.sender.nextSeed();
    const measured = await this.#send(label, session, workload, seed);
    const record = mixedWorkloadRecord(measured, { deployment, workload, seed, round });
    return this.checks.check(label, record, (seconds) => {
      const clients = workload.clients * CHECK_CONNECTION_FACTOR;
      const repeated = { ...workload, clients, length: { seconds }, warmup: 0 };
      return this.#send(`${label}, connection check`, session, repeated, this.sender.nextSeed());
    });
  }

  #send(label: string, session: Session, workload: MixedWorkload, seed: number): Promise<MeasuredLoad> {
    switch (workload.loadGenerator) {
      case "valkey-benchmark":
        return this.#sendByValkeyBenchmark(label, session, workload, seed);
      case "open-loop":
        return this.#sendByOpenLoop(label, session, workload, seed);
      case "memtier":
        return this.#sendByMemtier(label, session, workload);
    }
  }

  #sendByValkeyBenchmark(
    label: string,
    session: Session,
    mixed: ValkeyBenchmarkWorkload,
    seed: number,
  ): Promise<MeasuredLoad> {
    const { mode, access } = session.deployment;
    const run: ValkeyBenchmarkRun = {
      mode,
      endpoint: session.endpoint,
      test: testForMixed(mixed, mode === "cluster"),
      workload: workloadForMixed(mixed),
      length: mixed.length,
      seed,
      readFrom: mixed.readFrom,
      credentials: session.user,
      tls: access.tls,
    };
    const warmUp = this.#warmUp(mixed, () => ({
      ...run,
      seed: this.sender.nextSeed(),
      length: { seconds: mixed.warmup },
    }));
    return this.sender.sendByValkeyBenchmark(label, session, { run, warmUp, nodes: session.nodes });
  }

  #sendByOpenLoop(label: string, session: Session, mixed: OpenLoopWorkload, seed: number): Promise<MeasuredLoad> {
    const run: OpenLoopRun = { mix: mixed, primary: session.primary.name, seed, credentials: session.user };
    const warmUp = this.#warmUp(mixed, () => ({ ...run, mix: warmUpOf(mixed), seed: this.sender.nextSeed() }));
    const runner = required(this.sender.runners.openLoop, mixed);
    return this.sender.send(label, session, { run, warmUp, commands: countedCommandsOfMixed(mixed), runner });
  }

  #sendByMemtier(label: string, session: Session, mixed: MemtierWorkload): Promise<MeasuredLoad> {
    const run = memtierRun(mixed, session);
    const warmUp = this.#warmUp(mixed, () => memtierRun(warmUpOf(mixed), session));
    const runner = required(this.sender.runners.memtier, mixed);
    return this.sender.send(label, session, { run, warmUp, commands: countedCommandsOfMixed(mixed), runner });
  }

  #warmUp<R>({ warmup }: MixedWorkload, make: () => R): R | undefined {
    return warmup === 0 ? undefined : make();
  }
}

function warmUpOf<W extends MixedWorkload>(workload: W): W {
  return { ...workload, length: { seconds: workload.warmup } };
}

function memtierRun(mixed: MemtierWorkload, { deployment, endpoint, primaryCount, user }: Session): MemtierRun {
  const { mode, access } = deployment;
  return { mix: mixed, mode, endpoint, primaries: primaryCount, credentials: user, tls: access.tls };
}

function required<R>(runner: LoadDriver<R> | undefined, { name, loadGenerator }: MixedWorkload): LoadDriver<R> {
  if (runner !== undefined) return runner;
  throw BadInput.of(
    `workload ${name}`,
    "other-load-generator",
    `this platform cannot run the load generator ${loadGenerator}`,
  );
}

/** The servers of one treatment: started for one measurement, formed, verified, and stopped whatever comes of it. */
import type { Deployment } from "../../../valkey/deployment";
import { Failure, messageOf } from "../../../lib/errors";
import { Host } from "../../../platforms/host/host";
import type { Programs } from "../../../platforms/host/programs";
import { RunDirectory } from "../../../platforms/host/run-directory";
import type { ReportProgress } from "../../../lib/progress";
import { nodeCount } from "../../../valkey/topology/placement";
import type { ValkeyBenchmarkFeatures } from "../../load/valkey-benchmark/features";
import { verdictLine } from "../../../valkey/verification/format";
import type { Verification } from "../../../valkey/verification/verify";
import { verify } from "../../../valkey/verification/verify";
import type { Treatment } from "../factors";
import type { Pinning } from "../pinning";

/** What treatments are measured with. */
export interface StudyEnvironment {
  /** Where run directories go. */
  readonly runs: string;
  /** By a treatment's engine; undefined is the Valkey found first. */
  readonly engines: ReadonlyMap<string | undefined, Programs>;
  /** The one load generator of all treatments, so that engines are compared by the same. */
  readonly benchmark: string;
  readonly features: ValkeyBenchmarkFeatures;
  /** Labels given to servers in step; of fewer servers the first ones. */
  readonly zones: readonly string[];
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
  /** The tool's output, untouched. */
  readonly raw: (heading: string, output: string) => void;
}

/** A treatment's servers while they run. */
export interface TreatmentServers {
  readonly host: Host;
  readonly deployment: Deployment;
  readonly verification: Verification;
  readonly formationMs: number;
  /** Aborted when the user says so or a server ends by itself. */
  readonly signal: AbortSignal;
}

/** @throws Failure when they do not come up or do not pass verification; what `use` throws; the environment's signal's reason */
export async function withServers<T>(
  treatment: Treatment,
  pinning: Pinning | undefined,
  environment: StudyEnvironment,
  use: (servers: TreatmentServers) => Promise<T>,
): Promise<T> {
  const programs = environment.engines.get(treatment.engine);
  if (programs === undefined) throw new Error(`nobody looked for ${treatment.engine ?? "Valkey"}`);
  const host = new Host(RunDirectory.create(environment.runs, "study"), programs);
  try {
    const signal = AbortSignal.any([environment.signal, host.unexpectedExit]);
    const { mode, shape, settings } = treatment;
    const deployment = await host.start(
      {
        name: treatment.id,
        mode,
        shape,
        settings,
        zones: environment.zones.slice(0, nodeCount(shape)),
        cpus: pinning?.servers,
      },
      signal,
    );
    const { milliseconds } = await host.form(deployment, shape, { signal });
    const verification = await verify(deployment);
    if (!verification.verdict.pass) throw new Failure(verdictLine(verification.verdict));
    return await use({ host, deployment, verification, formationMs: milliseconds, signal });
  } catch (error) {
    // A server that dies takes connections with it, whose errors say less than its log.
    const death: unknown = host.unexpectedExit.reason;
    if (environment.signal.aborted) throw environment.signal.reason;
    throw death instanceof Error ? new Failure(messageOf(death), { cause: error }) : error;
  } finally {
    await host.stop();
  }
}

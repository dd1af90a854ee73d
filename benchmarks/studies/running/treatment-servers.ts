import type { Deployment } from "../../../valkey/deployment";
import { Failure, messageOf } from "../../../lib/errors";
import { Host } from "../../../platforms/host/host";
import type { Programs } from "../../../platforms/host/programs/programs";
import { RunDirectory } from "../../../platforms/host/run-directory";
import type { ReportProgress } from "../../../lib/progress";
import { nodeCount } from "../../../valkey/topology/placement";
import { Session } from "../../measuring/session";
import type { ValkeyBenchmarkFeatures } from "../../load/valkey-benchmark/arguments";
import { verdictLine } from "../../../valkey/verification/format";
import { type Verification, verify } from "../../../valkey/verification/verify";
import type { Treatment } from "../factors";
import type { Pinning } from "../pinning";

export interface StudyEnvironment {
  readonly runs: string;
  /** The key `undefined` stands for the first Valkey that is found. */
  readonly engines: ReadonlyMap<string | undefined, Programs>;
  readonly benchmark: string;
  readonly features: ValkeyBenchmarkFeatures;
  readonly zones: readonly string[];
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
  readonly raw: (heading: string, output: string) => void;
}

export interface TreatmentServers {
  readonly host: Host;
  readonly deployment: Deployment;
  readonly verification: Verification;
  readonly formationMs: number;
  readonly signal: AbortSignal;
}

/** @throws Failure if servers do not start or fail verification; the errors of `use`; the signal's reason */
export async function withServers<T>(
  treatment: Treatment,
  pinning: Pinning | undefined,
  environment: StudyEnvironment,
  use: (servers: TreatmentServers) => Promise<T>,
): Promise<T> {
  const programs = environment.engines.get(treatment.engine);
  if (programs === undefined) throw new Error(`the programs of ${treatment.engine ?? "Valkey"} were not looked up`);
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
    // The exit of a server explains the failure better than the connection errors that it causes.
    const exit: unknown = host.unexpectedExit.reason;
    if (environment.signal.aborted) throw environment.signal.reason;
    throw exit instanceof Error ? new Failure(messageOf(exit), { cause: error }) : error;
  } finally {
    await host.stop();
  }
}

export async function withSession<T>(
  { deployment, verification }: TreatmentServers,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await Session.open({ deployment, shards: verification.verdict.shards });
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}

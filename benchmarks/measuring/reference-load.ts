import type { Workload } from "../workloads/workload";
import { LoadSender } from "./load-sender";
import type { LoadDrivers, MeasurementListener } from "./measurement-series";
import { type VerifiedDeployment, Session } from "./session";

/** Independent of the configuration, and touches no data: with the same clients, every real test is slower. */
export const REFERENCE_LOAD: Workload = {
  name: "reference-load",
  tests: ["ping_mbulk"],
  clients: 12,
  pipeline: 16,
  dataSize: 3,
  threads: 1,
  keySpace: 1,
  length: { seconds: 1 },
  warmup: 0,
  rate: undefined,
};
const REQUESTS = 500_000;

/** To a single server. @param round number of the round before which the load is sent @returns requests per second */
export async function measureReferenceLoad(
  round: number,
  session: Session,
  sender: LoadSender,
  listener: Pick<MeasurementListener, "referenceLoad">,
): Promise<number> {
  const { features } = sender.runners.valkeyBenchmark;
  const run = {
    ...sender.namedTestRun(session, "ping_mbulk", REFERENCE_LOAD),
    mode: "replication" as const,
    length: features.duration ? REFERENCE_LOAD.length : { requests: REQUESTS },
  };
  const { report, startedAt } = await sender.sendByValkeyBenchmark(`reference load ${round}`, session, { run });
  listener.referenceLoad({ round, rps: report.rate, startedAt });
  return report.rate;
}

/** Outside of a series. @throws Failure if the deployment cannot be reached; the errors of the load generator */
export async function runReferenceLoad(
  deployment: VerifiedDeployment,
  round: number,
  runners: LoadDrivers,
  listener: MeasurementListener,
): Promise<void> {
  const session = await Session.open(deployment);
  try {
    await measureReferenceLoad(round, session, new LoadSender(runners, listener), listener);
  } finally {
    await session.close();
  }
}

import { OpenLoopGenerator } from "./generator";
import { MixedOperationSource } from "./requests/operations";
import type { OpenLoopPlan } from "./plan";
import { Random } from "../../../lib/statistics/random";
import { routeDiscovery } from "./connections/routes";
import { arrivalSchedule } from "./requests/request-times";

/** Independent random numbers of a worker: for arrivals, operations and the choice of replicas. */
const STREAMS = 3;

export function workerGenerator(plan: OpenLoopPlan, index: number): OpenLoopGenerator {
  const { mode, access, endpoints, workers, processes, process: own, pipeline, seed } = plan;
  const worker = own * workers + index;
  const random = (use: number): Random => new Random(seed, worker * STREAMS + use);
  return new OpenLoopGenerator({
    mode,
    access,
    discoverRoutes: routeDiscovery({ mode, endpoints, access }),
    clients: Math.floor(plan.clients / workers),
    pipeline,
    readFrom: plan.readFrom,
    timeoutMs: plan.timeoutMs,
    queue: Math.ceil(plan.queue / workers),
    seconds: plan.seconds,
    schedule: arrivalSchedule(
      { arrivals: plan.arrivals, rate: plan.rate / pipeline, worker, workers: workers * processes },
      random(0),
    ),
    source: new MixedOperationSource({ ...plan, isCluster: mode === "cluster" }, random(1)),
    random: random(2),
  });
}

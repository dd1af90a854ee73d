/** One worker's generator from the plan of its process. */
import { Generator } from "./generator";
import { MixSource } from "./operations";
import type { OpenLoopPlan } from "./plan";
import { Random } from "./random";
import { locateBy } from "./routes";
import { scheduleOf } from "./schedule";

/** Uses of random numbers in one worker that must not be alike: when, what, and where to. */
const STREAMS = 3;

export function workerGenerator(plan: OpenLoopPlan, index: number): Generator {
  const { mode, access, endpoints, workers, processes, process: own, pipeline, seed } = plan;
  const worker = own * workers + index;
  const random = (use: number): Random => new Random(seed, worker * STREAMS + use);
  return new Generator({
    mode,
    access,
    locate: locateBy({ mode, endpoints, access }),
    clients: Math.floor(plan.clients / workers),
    pipeline,
    readFrom: plan.readFrom,
    timeoutMs: plan.timeoutMs,
    queue: Math.ceil(plan.queue / workers),
    seconds: plan.seconds,
    schedule: scheduleOf({ arrivals: plan.arrivals, rate: plan.rate / pipeline, worker, workers: workers * processes }, random(0)),
    source: new MixSource({ ...plan, isCluster: mode === "cluster" }, random(1)),
    random: random(2),
  });
}

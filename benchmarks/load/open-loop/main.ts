/**
 * A single worker runs in the main thread, several in threads. On this machine, the process reads its plan from
 * standard input, because it contains the password; in a Job, the plan is an argument, and the environment contains the
 * credentials.
 */
import { createInterface } from "node:readline";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { messageOf } from "../../../lib/errors";
import { type OpenLoopPlan, type ProcessMessage, START_COMMAND, openLoopPlanSchema, STOP_COMMAND } from "./plan";
import type { TallyData } from "../tally";
import { OpenLoopGenerator } from "./generator";
import { MixedOperationSource } from "./requests/operations";
import { Random } from "../../../lib/statistics/random";
import { routeDiscovery } from "./connections/routes";
import { arrivalSchedule } from "./requests/request-times";

/** Independent random numbers of a worker: for arrivals, operations and the choice of replicas. */
const STREAMS = 3;

/** Milliseconds between the start command and the first intended time. Every worker is ready by then. */
const LEAD_MS = 20;

type ToThread = { readonly startMs: number } | "stop";
type FromThread = { readonly ready: true } | { readonly tally: TallyData } | { readonly failed: string };

interface OpenWorker {
  readonly run: (startMs: number) => Promise<TallyData>;
  readonly stop: () => void;
}

function workerGenerator(plan: OpenLoopPlan, index: number): OpenLoopGenerator {
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

async function workerHere(plan: OpenLoopPlan): Promise<OpenWorker> {
  const controller = new AbortController();
  const generator = workerGenerator(plan, 0);
  await generator.open(controller.signal);
  return {
    run: async (startMs) => (await generator.run(startMs, controller.signal)).data(),
    stop: () => {
      controller.abort();
    },
  };
}

function workerInThread(plan: OpenLoopPlan, index: number): Promise<OpenWorker> {
  const worker = new Worker(__filename, { workerData: { plan, index } });
  return new Promise((resolve, reject) => {
    let finish: ((tally: TallyData) => void) | undefined;
    let fail = reject;
    const tell = (message: ToThread): void => {
      worker.postMessage(message);
    };
    const run = (startMs: number): Promise<TallyData> =>
      new Promise((done, failed) => {
        finish = done;
        fail = failed;
        tell({ startMs });
      });
    worker.on("message", (message: FromThread) => {
      if ("ready" in message)
        resolve({
          run,
          stop: () => {
            tell("stop");
          },
        });
      else if ("tally" in message) finish?.(message.tally);
      else fail(new Error(message.failed));
    });
    worker.on("error", (error) => {
      fail(error);
    });
  });
}

async function runThread(): Promise<void> {
  const { plan, index } = workerData as { plan: OpenLoopPlan; index: number };
  const say = (message: FromThread): void => {
    parentPort?.postMessage(message);
  };
  const controller = new AbortController();
  try {
    const generator = workerGenerator(plan, index);
    await generator.open(controller.signal);
    const started = new Promise<number>((resolve) => {
      parentPort?.on("message", (message: ToThread) => {
        if (message === "stop") controller.abort();
        else resolve(message.startMs);
      });
    });
    say({ ready: true });
    say({ tally: (await generator.run(await started, controller.signal)).data() });
  } catch (error) {
    say({ failed: messageOf(error) });
  }
  parentPort?.close();
}

async function openWorkers(plan: OpenLoopPlan): Promise<OpenWorker[]> {
  return plan.workers === 1
    ? [await workerHere(plan)]
    : Promise.all(Array.from({ length: plan.workers }, (_, index) => workerInThread(plan, index)));
}

function say(message: ProcessMessage): Promise<void> {
  return new Promise((resolve) =>
    process.stdout.write(`${JSON.stringify(message)}\n`, () => {
      resolve();
    }),
  );
}

async function runProcess(): Promise<number> {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const next = async (): Promise<string | undefined> => {
    const line = await lines.next();
    return line.done === true ? undefined : line.value;
  };
  try {
    const plan = openLoopPlanSchema.parse(JSON.parse((await next()) ?? ""));
    const openedWorkers = await openWorkers(plan);
    await say({ event: "ready" });
    if ((await next()) !== START_COMMAND) return 0;
    const startMs = performance.timeOrigin + performance.now() + LEAD_MS;
    const running = Promise.all(openedWorkers.map(({ run }) => run(startMs)));
    void (async () => {
      // If standard input is closed, the program that started this process no longer runs.
      const line = await next();
      if (line === STOP_COMMAND || line === undefined) for (const { stop } of openedWorkers) stop();
    })();
    await say({ event: "result", tallies: await running });
    return 0;
  } catch (error) {
    await say({ event: "failed", message: messageOf(error) });
    return 1;
  }
}

/** The environment contains the process's number and the credentials. The load starts at once: runners wait before. */
async function runJob(text: string): Promise<number> {
  try {
    const { JOB_COMPLETION_INDEX: index = "0", TOOL_USER: username, TOOL_PASSWORD: password } = process.env;
    const given = JSON.parse(text) as OpenLoopPlan;
    const plan = openLoopPlanSchema.parse({
      ...given,
      access: { ...given.access, username, password },
      process: Number(index),
    });
    const openedWorkers = await openWorkers(plan);
    const startMs = performance.timeOrigin + performance.now() + LEAD_MS;
    const tallies = await Promise.all(openedWorkers.map(({ run }) => run(startMs)));
    await say({ event: "result", tallies, endedMs: performance.timeOrigin + performance.now() });
    return 0;
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return 1;
  }
}

const [, , planText] = process.argv;
if (isMainThread)
  void (planText === undefined ? runProcess() : runJob(planText)).then((status) => process.exit(status));
else void runThread();

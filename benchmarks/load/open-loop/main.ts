/**
 * A process of the generator: reads its plan from standard input, connects, says that it is ready, waits for `go` and says what
 * came of it. One worker runs in the process' own thread, several in threads of theirs. Bundled to one file, it is what runs on a
 * host and in a Job. The password is in the plan, and so neither on a command line nor in the environment.
 */
import { createInterface } from "node:readline";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { messageOf } from "../../../lib/errors";
import type { OpenLoopPlan, ProcessMessage } from "./plan";
import { START_COMMAND, openLoopPlanSchema, STOP_COMMAND } from "./plan";
import type { TallyData } from "./tally";
import { workerGenerator } from "./worker";

/** From `go` to the first intended time, so that no worker is late for it. */
const LEAD_MS = 20;

/** What a thread is told and says. */
type ToThread = { readonly startMs: number } | "stop";
type FromThread = { readonly ready: true } | { readonly tally: TallyData } | { readonly failed: string };

/** A generator here or in a thread: ready when it resolves. */
interface Runner {
  readonly run: (startMs: number) => Promise<TallyData>;
  readonly stop: () => void;
}

async function here(plan: OpenLoopPlan): Promise<Runner> {
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

function inThread(plan: OpenLoopPlan, index: number): Promise<Runner> {
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

async function asThread(): Promise<void> {
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

async function runnersOf(plan: OpenLoopPlan): Promise<Runner[]> {
  return plan.workers === 1
    ? [await here(plan)]
    : Promise.all(Array.from({ length: plan.workers }, (_, index) => inThread(plan, index)));
}

function say(message: ProcessMessage): Promise<void> {
  return new Promise((resolve) =>
    process.stdout.write(`${JSON.stringify(message)}\n`, () => {
      resolve();
    }),
  );
}

async function asProcess(): Promise<number> {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const next = async (): Promise<string | undefined> => {
    const line = await lines.next();
    return line.done === true ? undefined : line.value;
  };
  try {
    const plan = openLoopPlanSchema.parse(JSON.parse((await next()) ?? ""));
    const runners = await runnersOf(plan);
    await say({ event: "ready" });
    if ((await next()) !== START_COMMAND) return 0;
    const startMs = performance.timeOrigin + performance.now() + LEAD_MS;
    const running = Promise.all(runners.map(({ run }) => run(startMs)));
    void (async () => {
      // Whoever started this process may tell it to stop, or be gone.
      const line = await next();
      if (line === STOP_COMMAND || line === undefined) for (const { stop } of runners) stop();
    })();
    await say({ event: "result", tallies: await running });
    return 0;
  } catch (error) {
    await say({ event: "failed", message: messageOf(error) });
    return 1;
  }
}

/**
 * In a Job: the plan is its argument, which of the processes it is and whose credentials it has stand in its environment, and it
 * begins at once, for whoever starts it has the others wait for each other.
 */
async function asJob(text: string): Promise<number> {
  try {
    const { JOB_COMPLETION_INDEX: index = "0", TOOL_USER: username, TOOL_PASSWORD: password } = process.env;
    const told = JSON.parse(text) as OpenLoopPlan;
    const plan = openLoopPlanSchema.parse({
      ...told,
      access: { ...told.access, username, password },
      process: Number(index),
    });
    const runners = await runnersOf(plan);
    const startMs = performance.timeOrigin + performance.now() + LEAD_MS;
    const tallies = await Promise.all(runners.map(({ run }) => run(startMs)));
    await say({ event: "result", tallies, endedMs: performance.timeOrigin + performance.now() });
    return 0;
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return 1;
  }
}

const [, , planText] = process.argv;
if (isMainThread) void (planText === undefined ? asProcess() : asJob(planText)).then((status) => process.exit(status));
else void asThread();

/**
 * A process of the generator: reads its plan from standard input, connects, says that it is ready, waits for `go` and says what
 * came of it. One worker runs in the process' own thread, several in threads of theirs. Bundled to one file, it is what runs on a
 * host and in a Job. The password is in the plan, and so neither on a command line nor in the environment.
 */
import { createInterface } from "node:readline";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { messageOf } from "../errors";
import type { OpenLoopPlan, Said } from "./plan";
import { GO, planSchema, STOP } from "./plan";
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
  return { run: async (startMs) => (await generator.run(startMs, controller.signal)).data(), stop: () => { controller.abort(); } };
}

function inThread(plan: OpenLoopPlan, index: number): Promise<Runner> {
  const worker = new Worker(__filename, { workerData: { plan, index } });
  return new Promise((resolve, reject) => {
    let finish: ((tally: TallyData) => void) | undefined;
    let fail = reject;
    const tell = (message: ToThread): void => { worker.postMessage(message); };
    const run = (startMs: number): Promise<TallyData> =>
      new Promise((done, failed) => {
        finish = done;
        fail = failed;
        tell({ startMs });
      });
    worker.on("message", (message: FromThread) => {
      if ("ready" in message) resolve({ run, stop: () => { tell("stop"); } });
      else if ("tally" in message) finish?.(message.tally);
      else fail(new Error(message.failed));
    });
    worker.on("error", (error) => { fail(error); });
  });
}

async function asThread(): Promise<void> {
  const { plan, index } = workerData as { plan: OpenLoopPlan; index: number };
  const say = (message: FromThread): void => { parentPort?.postMessage(message); };
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

async function asProcess(): Promise<number> {
  const say = (message: Said): Promise<void> => new Promise((resolve) => process.stdout.write(`${JSON.stringify(message)}\n`, () => { resolve(); }));
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const next = async (): Promise<string | undefined> => {
    const line = await lines.next();
    return line.done === true ? undefined : line.value;
  };
  try {
    const plan = planSchema.parse(JSON.parse((await next()) ?? ""));
    const runners = plan.workers === 1 ? [await here(plan)] : await Promise.all(Array.from({ length: plan.workers }, (_, index) => inThread(plan, index)));
    await say({ event: "ready" });
    if ((await next()) !== GO) return 0;
    const startMs = performance.timeOrigin + performance.now() + LEAD_MS;
    const running = Promise.all(runners.map(({ run }) => run(startMs)));
    void (async () => {
      // Whoever started this process may tell it to stop, or be gone.
      const line = await next();
      if (line === STOP || line === undefined) for (const { stop } of runners) stop();
    })();
    await say({ event: "result", tallies: await running });
    return 0;
  } catch (error) {
    await say({ event: "failed", message: messageOf(error) });
    return 1;
  }
}

if (isMainThread) void asProcess().then((status) => process.exit(status));
else void asThread();

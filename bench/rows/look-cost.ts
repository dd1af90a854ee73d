/** Cost of looks at a deployment that passes: CPU time and memory of the process that looks. */
import { once } from "node:events";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { LOOKING_OPTIONS } from "../../components/kubernetes/controller/controller";
import { CONTROLLER_DEFAULTS } from "../../model/deployment";
import { bundle } from "../../lib/bundle";
import { Failure } from "../../lib/errors";
import { availableCores } from "../../platforms/host/cpu";
import { form } from "../../valkey/formation/form";
import type { Shape } from "../../valkey/topology/placement";
import { ControlledPods } from "../../tests/support/kubernetes/controlled-pods";
import { DeployedPods } from "../../tests/support/kubernetes/deployed-pods";
import { type Benchmark, type BenchmarkContext, hostPlan, NO_KUBERNETES } from "../workbench";
import { cpuTicks, TICKS_PER_SECOND } from "../proc";
import type { LookOrder } from "../processes/look-main";
import { atMost, singleRow } from "../row";
import { CLUSTER } from "../fault-driver";
import { crowdedNodeTimeout } from "./large-clusters";

/** Time for which the cost is measured, seconds: ten looks. */
const MEASURED_SECONDS = 10 * CONTROLLER_DEFAULTS.everySeconds;
const LARGE: Shape = { primaries: 100, replicasPerPrimary: 1 };
const MIB = 2 ** 20;

/** CPU time since the start in ticks, and the greatest resident memory in bytes. */
interface Cost {
  readonly ticks: number;
  readonly bytes: number;
}

interface Size {
  readonly nodes: number;
  readonly where: string;
  /** Targets: percent of one core, and MiB. */
  readonly limits: { readonly percent: number; readonly mebibytes: number };
  readonly missing: string | undefined;
  readonly measure: (context: BenchmarkContext) => Promise<{ readonly first: Cost; readonly last: Cost }>;
}

const SIZES: readonly Size[] = [
  {
    ...{ nodes: 6, where: "the controller's pod", limits: { percent: 0.5, mebibytes: 100 } },
    ...{ missing: NO_KUBERNETES, measure: measurePod },
  },
  {
    ...{ nodes: 200, where: "a process on this machine", limits: { percent: 5, mebibytes: 150 } },
    ...{ missing: undefined, measure: measureProcess },
  },
];
export const lookCost: readonly Benchmark[] = SIZES.map(({ nodes, where, limits, missing, measure }) => {
  const [cpu, memory] = [`look-${nodes}-cpu`, `look-${nodes}-memory`];
  const run = async (context: BenchmarkContext): Promise<void> => {
    const { first, last } = await measure(context);
    const what = `looks at ${nodes} nodes every ${CONTROLLER_DEFAULTS.everySeconds} s, by ${where}`;
    const percent = ((last.ticks - first.ticks) / TICKS_PER_SECOND / MEASURED_SECONDS) * 100;
    context.emit(
      singleRow({ id: cpu, what: `${what}: share of one core`, unit: "%" }, percent, atMost(limits.percent)),
      singleRow({ id: memory, what: `${what}: most memory`, unit: "MiB" }, last.bytes / MIB, atMost(limits.mebibytes)),
    );
  };
  return { title: "Cost of looks", ids: [cpu, memory], missing, run };
});

const costIn = (stat: string, status: string): Cost => ({
  ticks: cpuTicks(stat),
  bytes: Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024,
});

async function measurePod({ signal }: BenchmarkContext): ReturnType<Size["measure"]> {
  const pods = await DeployedPods.open("looked-at", CLUSTER, { settings: { save: "" } });
  const controlled = await ControlledPods.open(pods, {});
  const read = async (): Promise<Cost> => {
    const text = await controlled.run("cat /proc/1/stat; grep VmHWM /proc/1/status");
    return costIn(text, text);
  };
  try {
    await controlled.untilLook(120, ({ pass }) => pass);
    const first = await read();
    await sleep(MEASURED_SECONDS * 1000, undefined, { signal });
    return { first, last: await read() };
  } finally {
    await controlled.close();
  }
}

async function measureProcess({ workbench }: BenchmarkContext): ReturnType<Size["measure"]> {
  const timeout = Math.max(15_000, crowdedNodeTimeout(200, availableCores()));
  const plan = hostPlan("looked-at", "cluster", LARGE, { "cluster-node-timeout": timeout });
  return workbench.withDeployment(plan, async ({ host, deployment, signal }) => {
    await form(deployment, LARGE);
    const { name, mode, zones = [], nodes, directives, access } = deployment;
    const target = { platform: "endpoints" as const, name, mode, shape: LARGE, zones, nodes };
    const order: LookOrder = {
      target: { ...target, directives: Object.fromEntries(directives) },
      password: access.password ?? "",
      everySeconds: CONTROLLER_DEFAULTS.everySeconds,
    };
    const [file, program] = [join(host.run.path, "look.json"), join(host.run.path, "look.cjs")];
    writeFileSync(file, JSON.stringify(order), { mode: 0o600 });
    writeFileSync(program, await bundle(join(__dirname, "../processes/look-main.ts")));
    return measureChild(program, file, signal);
  });
}

async function measureChild(program: string, file: string, signal: AbortSignal): ReturnType<Size["measure"]> {
  const child = spawn(process.execPath, [...LOOKING_OPTIONS, program, file], { stdio: ["ignore", "pipe", "inherit"] });
  const read = (): Cost => {
    const [stat, status] = ["stat", "status"].map((each) => readFileSync(`/proc/${child.pid ?? 0}/${each}`, "utf8"));
    return costIn(stat ?? "", status ?? "");
  };
  try {
    let passes = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      const look = JSON.parse(line) as { readonly pass: boolean; readonly failing: readonly string[] };
      if (look.pass && ++passes === 1) break;
      if (!look.pass) throw new Failure(`a look does not pass: ${look.failing.join("; ")}`);
    }
    const first = read();
    await sleep(MEASURED_SECONDS * 1000, undefined, { signal });
    return { first, last: read() };
  } finally {
    child.kill();
    await once(child, "exit");
  }
}

/** A machine whose tuning failed still runs servers, but its measurements cannot be compared with others. */
import { groupBy } from "../../lib/group-by";
import type { Observation } from "../observation";
import type { AssertionRow } from "./assertion-row";
import type { DeploymentFacts, NodeFacts } from "./facts";
import { type Judgement, type Violation, listNames, violationsOf } from "./violations";
import type { MachineSettings, ExpectedTuning } from "../machine-settings";

interface TuningPromise {
  readonly expected: string;
  /** The result's value is the problem; undefined if the machine keeps the promise. */
  readonly judge: (settings: MachineSettings) => Observation<string | undefined>;
}

function judged<T>(
  setting: Observation<T>,
  problem: (value: T) => string | undefined,
): Observation<string | undefined> {
  return setting.known ? { known: true, value: problem(setting.value) } : setting;
}

/** Undefined if the platform does not promise it. */
const PROMISES = {
  "boot-script": () => ({
    expected: "ok",
    judge: ({ boot }) =>
      judged(boot, (state) =>
        state === "ok"
          ? undefined
          : `the boot script of its machine ${state}; find the failed line with aws ec2 get-console-output`,
      ),
  }),
  "huge-pages-off": () => ({
    expected: "never",
    judge: ({ hugePages }) =>
      judged(hugePages, (value) => (value === "never" ? undefined : `transparent huge pages are ${value}`)),
  }),
  "memory-overcommitted": () => ({
    expected: "vm.overcommit_memory 1",
    judge: ({ overcommit }) =>
      judged(overcommit, (value) => (value === "1" ? undefined : `vm.overcommit_memory is ${value}`)),
  }),
  "open-files": ({ openFiles: wanted }) => ({
    expected: `${wanted} or more`,
    judge: ({ openFiles }) => judged(openFiles, (value) => (value >= wanted ? undefined : `may open ${value} files`)),
  }),
  "accept-queue": ({ acceptQueue: wanted }) =>
    wanted === undefined
      ? undefined
      : {
          expected: `net.core.somaxconn ${wanted} or more`,
          judge: ({ acceptQueue }) =>
            judged(acceptQueue, (value) => (value >= wanted ? undefined : `net.core.somaxconn is ${value}`)),
        },
  "interrupts-pinned": ({ interruptCpus = 0 }) => (interruptCpus === 0 ? undefined : interruptPromise(interruptCpus)),
  "own-cpus": ({ ownCpus }) =>
    ownCpus === undefined
      ? undefined
      : {
          expected: `${ownCpus} CPUs each, not CPU 0`,
          judge: ({ cpus }) =>
            judged(cpus, (list) =>
              list.length === ownCpus && !list.includes(0) ? undefined : `runs on CPUs ${formatCpus(list)}`,
            ),
        },
} as const satisfies Readonly<Record<string, (promised: ExpectedTuning) => TuningPromise | undefined>>;

type TuningId = keyof typeof PROMISES;

function interruptPromise(count: number): TuningPromise {
  return {
    expected: count === 1 ? "CPU 0" : `CPU 0 and the last CPUs, ${count} CPUs in all`,
    judge: ({ interrupts, machineCpus }) => {
      if (!interrupts.known) return interrupts;
      return judged(machineCpus, (total) => {
        if (interrupts.value.length === 0) return "the interrupts of the network card are not visible";
        const allowed = new Set([0, ...Array.from({ length: count - 1 }, (_, index) => total - 1 - index)]);
        const stray = interrupts.value.find(({ cpus }) => cpus.length !== 1 || !cpus.every((cpu) => allowed.has(cpu)));
        return stray === undefined ? undefined : `${stray.name} is handled by CPUs ${formatCpus(stray.cpus)}`;
      });
    },
  };
}

const tuned = (id: TuningId): Pick<AssertionRow, "expected" | "judge"> => ({
  expected: "all",
  judge: (facts) => judgeTuning(id, facts),
});

const REPLACE = "`kubectl delete nodeclaim CLAIM` with the claim of the machine, so that its pods move to a new one";

export const TUNING_ASSERTIONS = {
  "boot-script": {
    ...{ what: "the boot script of every machine succeeded", ...tuned("boot-script") },
    cause: "a line of the boot script failed, or the machine has a different image",
    next: {
      own: `\`aws ec2 get-console-output --latest --instance-id ID\` shows the failed line; then ${REPLACE}`,
      others: "run the boot script on the machine again",
    },
  },
  "huge-pages-off": {
    ...{ what: "transparent huge pages are off on every machine", ...tuned("huge-pages-off") },
    cause: "the machine has a different image, or somebody changed the setting",
    next: { own: REPLACE, others: "on the machine: `echo never > /sys/kernel/mm/transparent_hugepage/enabled`" },
  },
  "memory-overcommitted": {
    ...{ what: "every machine overcommits memory", ...tuned("memory-overcommitted") },
    cause: "the machine has a different image, or somebody changed the setting",
    next: { own: REPLACE, others: "on the machine: `sysctl vm.overcommit_memory=1`" },
  },
  "open-files": {
    ...{ what: "every server process may open enough files", ...tuned("open-files") },
    cause: "the container runtime of the machine has a lower limit",
    next: { own: REPLACE, others: "raise the limit of the service (`LimitNOFILE`), then restart the server" },
  },
  "accept-queue": {
    ...{ what: "the kernel allows the accept queue that every server requests", ...tuned("accept-queue") },
    cause: "the kernel's limit is below `tcp-backlog`",
    next: {
      own: "set `tcp-backlog` to the limit in the stack file, then `pulumi up`",
      others: "on the machine: `sysctl net.core.somaxconn=N`, then restart the server",
    },
  },
  "interrupts-pinned": {
    ...{ what: "only CPUs for interrupts handle the interrupts of the network card", ...tuned("interrupts-pinned") },
    cause: "a service such as irqbalance moved the interrupts, or the network card is of a different type",
    next: {
      own: REPLACE,
      others: "on the machine: stop irqbalance, and write the CPUs to `/proc/irq/N/smp_affinity_list`",
    },
  },
  "own-cpus": {
    ...{ what: "every server has exclusive CPUs", ...tuned("own-cpus") },
    cause: "the kubelet of the machine does not have the static CPU policy, or the pod's CPUs are not whole",
    next: {
      own: `check \`staticCpus\` and whole CPUs in the stack file; if they are right, ${REPLACE}`,
      others: "`taskset -pc CPUS PID` on the machine, with different CPUs for each server",
    },
  },
} as const satisfies Readonly<Record<TuningId, AssertionRow>>;

function judgeTuning(id: TuningId, { nodes, tuning }: DeploymentFacts): Judgement | undefined {
  const promise = tuning && PROMISES[id](tuning);
  if (promise === undefined) return undefined;
  const violations = violationsOf(
    nodes,
    (node) => judgedOf(node, promise.judge),
    (problem) => problem,
  );
  const shared = id === "own-cpus" ? sharedCpus(nodes) : [];
  return { violations: [...violations, ...shared], expected: promise.expected, found: "all" };
}

const NOT_READ: Observation<never> = { known: false, why: "not read" };

function judgedOf(
  { machineSettings = NOT_READ }: NodeFacts,
  judge: TuningPromise["judge"],
): Observation<string | undefined> {
  return machineSettings.known ? judge(machineSettings.value) : machineSettings;
}

/** A violation for each server that shares a CPU with a different server on the same machine. */
function sharedCpus(nodes: readonly NodeFacts[]): Violation[] {
  const ownerOf = new Map<string, string>();
  return nodes.flatMap(({ node, machineSettings }) => {
    const cpus = machineSettings?.known === true ? machineSettings.value.cpus : NOT_READ;
    if (!cpus.known) return [];
    const taken = cpus.value.flatMap((cpu) => ownerOf.get(`${node.machine} ${cpu}`) ?? []);
    for (const cpu of cpus.value) ownerOf.set(`${node.machine} ${cpu}`, node.name);
    return taken[0] === undefined ? [] : [{ node: node.name, problem: `shares CPUs with ${taken[0]}` }];
  });
}

function tuningProblems(promised: ExpectedTuning, settings: Observation<MachineSettings>): string[] {
  if (!settings.known) return [`the machine's settings are unknown (${settings.why})`];
  return (Object.keys(PROMISES) as TuningId[]).flatMap((id) => {
    const problem = PROMISES[id](promised)?.judge(settings.value);
    if (problem?.known === false) return [`it is unknown whether ${TUNING_ASSERTIONS[id].what} (${problem.why})`];
    return problem?.value === undefined ? [] : [problem.value];
  });
}

interface MachineFinding {
  readonly machine: string;
  readonly settings: Observation<MachineSettings>;
}

/** Machines with the same problems share one sentence. */
export function machinesWithoutTuning(promised: ExpectedTuning, found: readonly MachineFinding[]): string[] {
  const untuned = found.flatMap(({ machine, settings }) => {
    const problems = tuningProblems(promised, settings).join(", ");
    return problems === "" ? [] : [{ machine, problems }];
  });
  return [...groupBy(untuned, ({ problems }) => problems)].map(
    ([problems, machines]) => `${listNames(machines.map(({ machine }) => machine))}: ${problems}`,
  );
}

/** CPU numbers as text, such as `0, 6-7` */
export function formatCpus(cpus: readonly number[]): string {
  const parts: string[] = [];
  for (let index = 0; index < cpus.length; index++) {
    const from = index;
    while (cpus[index + 1] === (cpus[index] ?? 0) + 1) index++;
    parts.push(from === index ? String(cpus[from]) : `${cpus[from]}-${cpus[index]}`);
  }
  return parts.join(", ");
}

/** A machine whose tuning failed still runs servers, but its measurements cannot be compared with others. */
import { groupBy } from "../../lib/group-by";
import type { Observation } from "../observation";
import type { Assertion, Violation } from "./assertion";
import { ASSERTIONS, assertion, listNames, violationsOf } from "./assertion";
import type { DeploymentFacts, NodeFacts } from "./facts";
import type { MachineSettings, ExpectedTuning } from "../machine-settings";

/** Each promise becomes one assertion of a verdict. */
interface TuningPromise {
  readonly id: Assertion["id"];
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

function promisesOf({ openFiles, acceptQueue, interruptCpus = 0, ownCpus }: ExpectedTuning): TuningPromise[] {
  const rows: (TuningPromise | undefined)[] = [
    {
      id: "boot-script",
      expected: "ok",
      judge: ({ boot }) =>
        judged(boot, (state) =>
          state === "ok"
            ? undefined
            : `the boot script of its machine ${state}; find the failed line with aws ec2 get-console-output`,
        ),
    },
    {
      id: "huge-pages-off",
      expected: "never",
      judge: ({ hugePages }) =>
        judged(hugePages, (value) => (value === "never" ? undefined : `transparent huge pages are ${value}`)),
    },
    {
      id: "memory-overcommitted",
      expected: "vm.overcommit_memory 1",
      judge: ({ overcommit }) =>
        judged(overcommit, (value) => (value === "1" ? undefined : `vm.overcommit_memory is ${value}`)),
    },
    {
      id: "open-files",
      expected: `${openFiles} or more`,
      judge: (settings) =>
        judged(settings.openFiles, (value) => (value >= openFiles ? undefined : `may open ${value} files`)),
    },
    acceptQueue === undefined
      ? undefined
      : {
          id: "accept-queue",
          expected: `net.core.somaxconn ${acceptQueue} or more`,
          judge: (settings) =>
            judged(settings.acceptQueue, (value) =>
              value >= acceptQueue ? undefined : `net.core.somaxconn is ${value}`,
            ),
        },
    interruptCpus === 0 ? undefined : interruptPromise(interruptCpus),
    ownCpus === undefined
      ? undefined
      : {
          id: "own-cpus",
          expected: `${ownCpus} CPUs each, not CPU 0`,
          judge: ({ cpus }) =>
            judged(cpus, (list) =>
              list.length === ownCpus && !list.includes(0) ? undefined : `runs on CPUs ${formatCpus(list)}`,
            ),
        },
  ];
  return rows.flatMap((row) => (row === undefined ? [] : [row]));
}

function interruptPromise(count: number): TuningPromise {
  return {
    id: "interrupts-pinned",
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

/** The list is empty if the platform promises nothing. */
export function tuningAssertions({ nodes, tuning }: DeploymentFacts): Assertion[] {
  if (tuning === undefined) return [];
  return promisesOf(tuning).map(({ id, expected, judge }) => {
    const violations = violationsOf(
      nodes,
      (node) => judgedOf(node, judge),
      (problem) => problem,
    );
    const shared = id === "own-cpus" ? sharedCpus(nodes) : [];
    return assertion(id, expected, [...violations, ...shared], "all");
  });
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
  return promisesOf(promised).flatMap(({ id, judge }) => {
    const problem = judge(settings.value);
    if (!problem.known) return [`it is unknown whether ${ASSERTIONS[id].what} (${problem.why})`];
    return problem.value === undefined ? [] : [problem.value];
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

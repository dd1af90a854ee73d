import { describe, expect, it } from "vitest";
import { observed, unobserved } from "../../../valkey/observation";
import type { DeploymentFacts } from "../../../valkey/verification/facts";
import type { MachineSettings, ExpectedTuning } from "../../../valkey/machine-settings";
import type { Assertion } from "../../../valkey/verification/assertions";
import { TUNING_ASSERTIONS, formatCpus, machinesWithoutTuning } from "../../../valkey/verification/machine-tuning";
import { judgeFacts } from "../../../valkey/verification/verify";
import { expectReviewed } from "../../support/reviewed";
import { clusterFacts } from "../../support/valkey/facts";

const PROMISED: ExpectedTuning = { openFiles: 1_048_544, acceptQueue: 511, interruptCpus: 2, ownCpus: 2 };

/** Settings of a machine with 8 CPUs; the server of this index has two of its own. */
const tuned = (index = 0): MachineSettings => ({
  hugePages: observed("never"),
  overcommit: observed("1"),
  acceptQueue: observed(4096),
  openFiles: observed(1_048_544),
  cpus: observed([1 + 2 * index, 2 + 2 * index]),
  machineCpus: observed(8),
  interrupts: observed([
    { name: "ens5-Tx-Rx-0", cpus: [0] },
    { name: "ens5-Tx-Rx-1", cpus: [7] },
  ]),
  boot: observed("ok"),
});

/** A cluster of three primaries on one machine. @param change of the first server's settings */
function factsWith(change: Partial<MachineSettings> = {}, promised: ExpectedTuning = PROMISED): DeploymentFacts {
  const facts = clusterFacts(3, 0);
  const nodes = facts.nodes.map((node, index) => ({
    ...node,
    machineSettings: observed({ ...tuned(index), ...(index === 0 ? change : {}) }),
  }));
  return { ...facts, nodes, tuning: promised };
}
const tuningAssertions = (facts: DeploymentFacts): Assertion[] =>
  judgeFacts(facts).assertions.filter(({ id }) => Object.hasOwn(TUNING_ASSERTIONS, id));
const failed = (facts: DeploymentFacts): string[] =>
  tuningAssertions(facts)
    .filter(({ pass }) => !pass)
    .map(({ id, found }) => `${id}: ${found}`);

describe("the tuning of machines", () => {
  it("is part of the verdict, and nothing where the platform promises nothing", () => {
    const { verdict, ids } = {
      verdict: judgeFacts(factsWith()),
      ids: tuningAssertions(factsWith()).map(({ id }) => id),
    };
    expect(verdict.pass).toBe(true);
    expect(ids).toEqual([
      "boot-script",
      "huge-pages-off",
      "memory-overcommitted",
      "open-files",
      "accept-queue",
      "interrupts-pinned",
      "own-cpus",
    ]);
    expect(verdict.assertions.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    expect(judgeFacts(factsWith({ hugePages: observed("always") })).pass).toBe(false);
    const without = judgeFacts(clusterFacts(3, 0));
    expect(without.pass).toBe(true);
    for (const id of ids) expect(without.assertions.map((each) => each.id)).not.toContain(id);
  });

  it("promises what a pool without tuning has, and no more", () => {
    expect(tuningAssertions(factsWith({}, { openFiles: 1024 })).map(({ id }) => id)).toEqual([
      "boot-script",
      "huge-pages-off",
      "memory-overcommitted",
      "open-files",
    ]);
  });

  it("fails in one row", async () => {
    const interrupts = (name: string, ...cpus: number[]): Partial<MachineSettings> => ({
      interrupts: observed([{ name, cpus }]),
    });
    const changes: Readonly<Record<string, Partial<MachineSettings>>> = {
      "the boot script failed": { boot: observed("failed") },
      "huge pages stayed on": { hugePages: observed("madvise") },
      "memory is not overcommitted": { overcommit: observed("0") },
      "descriptors are few": { openFiles: observed(65_536) },
      "the accept queue is short": { acceptQueue: observed(128) },
      "an interrupt stayed with every CPU": interrupts("ens5-Tx-Rx-0", 0, 1, 2, 3, 4, 5, 6, 7),
      "an interrupt is on a server's CPU": interrupts("ens5-Tx-Rx-1", 6),
      "no interrupt can be seen": { interrupts: observed([]) },
      "a server shares CPUs with the system": { cpus: observed([0, 1]) },
      "a server has all CPUs": { cpus: observed([1, 2, 3, 4, 5, 6]) },
      "two servers have the same CPUs": { cpus: observed([3, 4]) },
      "a setting cannot be read": { overcommit: unobserved("no file") },
      "the number of CPUs is not known": { machineCpus: unobserved("no file") },
    };
    const found = Object.entries(changes).map(([what, change]) => [what, failed(factsWith(change))] as const);
    for (const [what, rows] of found) expect(rows, what).toHaveLength(1);
    await expectReviewed("valkey/machine-tuning", "Where machines are not tuned as promised.", found);
  });

  it("fails in every row where a machine cannot be seen at all", () => {
    const facts = factsWith();
    const [first, ...others] = facts.nodes;
    if (first === undefined) throw new Error("there is no node");
    for (const machineSettings of [undefined, unobserved("no right to create pods/exec")]) {
      const rows = failed({ ...facts, nodes: [{ ...first, machineSettings }, ...others] });
      expect(rows).toHaveLength(7);
      for (const row of rows) expect(row).toMatch(/: n-0: unknown \((not read|no right to create pods\/exec)\)$/);
    }
  });

  it("of load generators is said in a sentence for the machines that have the same problems", () => {
    const promised = { openFiles: 1_048_544 };
    const machine = (name: string, change: Partial<MachineSettings>) => ({
      machine: name,
      settings: observed({ ...tuned(), ...change }),
    });
    expect(machinesWithoutTuning(promised, [machine("a", {}), machine("b", { cpus: observed([0]) })])).toEqual([]);
    expect(
      machinesWithoutTuning(promised, [
        machine("a", { hugePages: observed("always"), overcommit: unobserved("no file") }),
        machine("b", { hugePages: observed("always"), overcommit: unobserved("no file") }),
        { machine: "c", settings: unobserved("no answer") },
      ]),
    ).toEqual([
      "a, b: transparent huge pages are always, it is unknown whether every machine overcommits memory (no file)",
      "c: the machine's settings are unknown (no answer)",
    ]);
  });

  it("writes CPUs as the kernel does", () => {
    expect([[], [3], [0, 1, 2], [0, 6, 7], [1, 3]].map(formatCpus)).toEqual(["", "3", "0-2", "0, 6-7", "1, 3"]);
  });
});

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../support/directory";
import { parse } from "yaml";
import { type Tuning, UNTUNED } from "../../../../platforms/eks/pools/tuning";
import { BOOT_LABEL } from "../../../../platforms/kubernetes/cluster/machine-settings";
import { userDataOf } from "../../../../components/eks/karpenter/pool-objects";

/** The parts of a MIME document, by content type. */
function partsOf(mime: string): Map<string, string> {
  const boundary = /boundary="([^"]+)"/.exec(mime)?.[1] ?? "";
  const [head = "", ...parts] = mime.split(`--${boundary}`);
  expect(head).toMatch(/^MIME-Version: 1\.0\nContent-Type: multipart\/mixed/);
  expect(parts.pop()).toBe("--\n");
  return new Map(
    parts.map((part) => {
      const [header = "", ...body] = part.trimStart().split("\n\n");
      return [/Content-Type: ([^;\n]+)/.exec(header)?.[1] ?? "", body.join("\n\n")];
    }),
  );
}

const scriptOf = (tuning: Tuning): string => partsOf(userDataOf(tuning)).get("text/x-shellscript") ?? "";
const configOf = (tuning: Tuning): unknown => parse(partsOf(userDataOf(tuning)).get("application/node.eks.aws") ?? "");
const TUNINGS: Tuning[] = [
  UNTUNED,
  { interruptCpus: 2, staticCpus: false },
  { interruptCpus: 0, staticCpus: true },
  { interruptCpus: 2, staticCpus: true },
];

describe("user data", () => {
  it.each(TUNINGS)("with %j is a script that bash reads, and a NodeConfig", (tuning) => {
    expect(scriptOf(tuning).startsWith("#!/bin/bash\n")).toBe(true);
    execFileSync("bash", ["-n"], { input: scriptOf(tuning) });
    for (const inner of scriptOf(tuning).matchAll(/<<'END'\n(#!\/bin\/bash\n[\s\S]*?)\nEND\n/g))
      execFileSync("bash", ["-n"], { input: inner[1] });
    expect(configOf(tuning)).toMatchObject({ apiVersion: "node.eks.aws/v1alpha1", kind: "NodeConfig" });
  });

  it("turns huge pages off, overcommits memory and raises file descriptors, on every machine, also after a restart", () => {
    for (const tuning of TUNINGS) {
      for (const line of [
        "w /sys/kernel/mm/transparent_hugepage/enabled - - - - never",
        "w /sys/kernel/mm/transparent_hugepage/defrag - - - - never",
        "sysctl --quiet --load=/etc/sysctl.d/90-valkey.conf",
        "vm.overcommit_memory = 1",
      ])
        expect(scriptOf(tuning)).toContain(line);
      expect(scriptOf(tuning)).toContain("systemd-tmpfiles --create");
      expect(configOf(tuning)).toMatchObject({
        spec: {
          containerd: {
            baseRuntimeSpec: { process: { rlimits: [{ type: "RLIMIT_NOFILE", soft: 1_048_544, hard: 1_048_544 }] } },
          },
        },
      });
    }
  });

  /** Runs the boot script on a machine that is a directory. @param stubs shell functions in place of its programs */
  function boot(stubs: string): { readonly status: number; readonly console: string; readonly dropIn: unknown } {
    const root = temporaryDirectory();
    for (const directory of [
      "etc/sysctl.d",
      "etc/tmpfiles.d",
      "sys/kernel/mm/transparent_hugepage",
      "proc/sys/vm",
      "dev",
    ])
      mkdirSync(join(root, directory), { recursive: true });
    writeFileSync(join(root, "sys/kernel/mm/transparent_hugepage/enabled"), "always [madvise] never\n");
    writeFileSync(join(root, "proc/sys/vm/overcommit_memory"), "0\n");
    const script = scriptOf(UNTUNED).replaceAll(/(?<![\w.$])\/(etc|sys|proc|dev)\//g, `${root}/$1/`);
    const { status } = spawnSync("bash", ["-s"], { input: stubs.replaceAll("ROOT", root) + script });
    const read = (path: string): string => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "");
    const dropIn = read("etc/eks/nodeadm.d/90-valkey-boot.yaml");
    return { status: status ?? -1, console: read("dev/console"), dropIn: dropIn === "" ? undefined : parse(dropIn) };
  }
  const SYSCTL = "sysctl() { echo 1 >ROOT/proc/sys/vm/overcommit_memory; }\n";
  const TMPFILES =
    "systemd-tmpfiles() { echo 'always madvise [never]' >ROOT/sys/kernel/mm/transparent_hugepage/enabled; }\n";

  it("says nothing when everything is set", () => {
    expect(boot(SYSCTL + TMPFILES)).toEqual({ status: 0, console: "", dropIn: undefined });
  });

  it.each([
    ["a program fails", `${SYSCTL}systemd-tmpfiles() { return 73; }\n`, /status 73 in line \d+: .*return 73/],
    ["a setting stays as it was", `${SYSCTL}systemd-tmpfiles() { :; }\n`, /status 1 in line \d+: grep -q .*never/],
    ["another one does", `sysctl() { :; }\n${TMPFILES}`, /status 1 in line \d+: \[.*overcommit_memory/],
  ])("when %s, fails, says so on the console, and labels the Node", (_what, stubs, line) => {
    const { status, console, dropIn } = boot(stubs);
    expect(status).not.toBe(0);
    expect(console).toMatch(/^valkey-measured: the boot script failed with /);
    expect(console).toMatch(line);
    expect(dropIn).toEqual({
      apiVersion: "node.eks.aws/v1alpha1",
      kind: "NodeConfig",
      spec: { kubelet: { flags: [`--node-labels=${BOOT_LABEL}=failed`] } },
    });
  });

  it("moves interrupts only where it is asked to", () => {
    expect(scriptOf(UNTUNED)).not.toContain("smp_affinity");
    const script = scriptOf({ interruptCpus: 2, staticCpus: false });
    expect(script).toContain("ExecStart=/usr/local/sbin/valkey-interrupts 2\n");
    expect(script).toContain("irqbalance");
  });

  it.each([
    [1, 8, ["0", "0", "0", "0"]],
    [2, 8, ["0", "7", "0", "7"]],
    [4, 16, ["0", "15", "14", "13"]],
  ])(
    "gives %i CPUs of %i the interrupts in turn: the first, then from the last one down",
    (interruptCpus, cpus, expected) => {
      const inner =
        /<<'END'\n(#!\/bin\/bash\n[\s\S]*?)\nEND\n/.exec(scriptOf({ interruptCpus, staticCpus: true }))?.[1] ?? "";
      const root = temporaryDirectory();
      const irqs = ["41", "42", "43", "44"];
      for (const irq of irqs) mkdirSync(join(root, "irq", irq), { recursive: true });
      writeFileSync(
        join(root, "interrupts"),
        ["  9: 0 0 other", ...irqs.map((irq, index) => ` ${irq}:  0  0  ITS-MSI ens5-Tx-Rx-${index}`)].join("\n"),
      );
      // The commands of a machine, so far as the script asks anything of them.
      const stubs = `ip() { echo "default via 10.0.0.1 dev ens5"; }; ethtool() { :; }; systemctl() { :; }; nproc() { echo ${cpus}; }\n`;
      execFileSync("bash", ["-s", "--", String(interruptCpus)], {
        input: stubs + inner.replaceAll("/proc/", `${root}/`),
      });
      expect(irqs.map((irq) => readFileSync(join(root, "irq", irq, "smp_affinity_list"), "utf8").trim())).toEqual(
        expected,
      );
    },
  );

  /**
   * The image's set-up names cgroups (awslabs/amazon-eks-ami, nodeadm's case kubelet-config-set-empty), with which no
   * kubelet starts that is given reserved CPUs.
   */
  const NO_CGROUPS = { kubeReservedCgroup: "", systemReservedCgroup: "" };

  it("gives pods whole CPUs only where it is asked to, and never the one that the system and interrupts have", () => {
    expect(configOf(UNTUNED)).not.toHaveProperty("spec.kubelet");
    expect(configOf({ interruptCpus: 2, staticCpus: false })).not.toHaveProperty("spec.kubelet");
    expect(configOf({ interruptCpus: 2, staticCpus: true })).toMatchObject({
      spec: { kubelet: { config: { cpuManagerPolicy: "static", reservedSystemCPUs: "0", ...NO_CGROUPS } } },
    });
    expect(configOf({ interruptCpus: 0, staticCpus: true })).toMatchObject({
      spec: { kubelet: { config: { cpuManagerPolicy: "static", reservedSystemCPUs: "0", ...NO_CGROUPS } } },
    });
  });
});

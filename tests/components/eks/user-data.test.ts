import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Tuning } from "../../../components/eks/plan/machines";
import { UNTUNED } from "../../../components/eks/plan/machines";
import { userDataOf } from "../../../components/eks/user-data";

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
const TUNINGS: Tuning[] = [UNTUNED, { interruptCpus: 2, staticCpus: false }, { interruptCpus: 0, staticCpus: true }, { interruptCpus: 2, staticCpus: true }];

describe("user data", () => {
  it.each(TUNINGS)("with %j is a script that bash reads, and a NodeConfig", (tuning) => {
    expect(scriptOf(tuning).startsWith("#!/bin/bash\n")).toBe(true);
    execFileSync("bash", ["-n"], { input: scriptOf(tuning) });
    for (const inner of scriptOf(tuning).matchAll(/<<'END'\n(#!\/bin\/bash\n[\s\S]*?)\nEND\n/g)) execFileSync("bash", ["-n"], { input: inner[1] });
    expect(configOf(tuning)).toMatchObject({ apiVersion: "node.eks.aws/v1alpha1", kind: "NodeConfig" });
  });

  it("turns huge pages off, overcommits memory, lengthens queues and raises file descriptors, on every machine, also after a restart", () => {
    for (const tuning of TUNINGS) {
      for (const line of ["w /sys/kernel/mm/transparent_hugepage/enabled - - - - never", "vm.overcommit_memory = 1", "net.core.somaxconn = 65535"]) expect(scriptOf(tuning)).toContain(line);
      expect(scriptOf(tuning)).toContain("systemd-tmpfiles --create");
      expect(configOf(tuning)).toMatchObject({ spec: { containerd: { baseRuntimeSpec: { process: { rlimits: [{ type: "RLIMIT_NOFILE", soft: 1_048_544, hard: 1_048_544 }] } } } } });
    }
  });

  it("moves interrupts only where it is asked to", () => {
    expect(scriptOf(UNTUNED)).not.toContain("smp_affinity");
    const script = scriptOf({ interruptCpus: 2, staticCpus: false });
    expect(script).toContain('ethtool -L "$interface" combined 2');
    expect(script).toContain("irqbalance");
    expect(script).toContain("cpu=$(((cpu + 1) % 2))");
  });

  it("gives pods whole CPUs only where it is asked to, and never those of the interrupts", () => {
    expect(configOf(UNTUNED)).not.toHaveProperty("spec.kubelet");
    expect(configOf({ interruptCpus: 2, staticCpus: false })).not.toHaveProperty("spec.kubelet");
    expect(configOf({ interruptCpus: 2, staticCpus: true })).toMatchObject({ spec: { kubelet: { config: { cpuManagerPolicy: "static", reservedSystemCPUs: "0-1" } } } });
    expect(configOf({ interruptCpus: 0, staticCpus: true })).toMatchObject({ spec: { kubelet: { config: { cpuManagerPolicy: "static", reservedSystemCPUs: "0" } } } });
  });
});

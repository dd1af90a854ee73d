import { describe, expect, it } from "vitest";
import { observed, unobserved } from "../../../../valkey/observation";
import { parseMachineSettings } from "../../../../platforms/kubernetes/cluster/machine-settings";

const PRINTED = `huge-pages always madvise [never]
overcommit 1
accept-queue 4096
machine-cpus 0-7
open-files 1048544
cpus 1-3,6
interrupt ens5-Tx-Rx-0 0
interrupt ens5-Tx-Rx-1 7
interrupts-read
`;

describe("settings of a machine", () => {
  it("are what the container printed and the Node's label", () => {
    const settings = {
      hugePages: observed("never"),
      overcommit: observed("1"),
      acceptQueue: observed(4096),
      openFiles: observed(1_048_544),
      cpus: observed([1, 2, 3, 6]),
      machineCpus: observed(8),
      interrupts: observed([
        { name: "ens5-Tx-Rx-0", cpus: [0] },
        { name: "ens5-Tx-Rx-1", cpus: [7] },
      ]),
    };
    expect(parseMachineSettings(PRINTED, undefined)).toEqual({ ...settings, boot: observed("ok") });
    expect(parseMachineSettings(PRINTED, "failed")).toEqual({ ...settings, boot: observed("failed") });
  });

  it("are unknown where the container could not read them", () => {
    const unknown = unobserved("the container cannot read it");
    expect(parseMachineSettings("", undefined)).toEqual({
      hugePages: unknown,
      overcommit: unknown,
      acceptQueue: unknown,
      openFiles: unknown,
      cpus: unknown,
      machineCpus: unknown,
      interrupts: unknown,
      boot: observed("ok"),
    });
  });

  it("has no limit where the kernel says so", () => {
    expect(parseMachineSettings("open-files unlimited\n", undefined).openFiles).toEqual(observed(Infinity));
  });
});

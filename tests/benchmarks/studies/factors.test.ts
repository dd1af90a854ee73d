import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BaseDeployment, type Variation, treatmentsOf } from "../../../benchmarks/studies/factors";
import { availableCpus, parseCpuList, planPinning } from "../../../benchmarks/studies/pinning";
import { WORKLOAD } from "../../support/benchmarks/study";
import { expectReviewed } from "../../support/reviewed";
import { forAll } from "../../support/properties";

const replication: BaseDeployment = {
  name: "replication",
  mode: "replication",
  shape: { primaries: 1, replicasPerPrimary: 1 },
  settings: { maxmemory: 1 },
};
const cluster: BaseDeployment = {
  name: "cluster",
  mode: "cluster",
  shape: { primaries: 3, replicasPerPrimary: 1 },
  settings: {},
};
const treatments = (variation: Variation, ...bases: BaseDeployment[]): ReturnType<typeof treatmentsOf> =>
  treatmentsOf(bases, variation, WORKLOAD, 1);

describe("the treatments of a study", () => {
  it("are every combination of levels on every deployment, with unique names", () => {
    const levels = fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });
    forAll([levels, levels, levels], (ioThreads, pipeline, clients) => {
      const all = treatments({ "io-threads": ioThreads, pipeline, clients }, replication, cluster);
      expect(all).toHaveLength(2 * ioThreads.length * pipeline.length * clients.length);
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
      for (const { id, levels: own, settings, workload } of all) {
        expect(id).toMatch(/^[a-z0-9][a-z0-9.-]*$/);
        expect([settings["io-threads"], workload.pipeline, workload.clients]).toEqual([
          own["io-threads"],
          own.pipeline,
          own.clients,
        ]);
      }
    });
  });

  it("are the deployments themselves without factors", () => {
    expect(treatments({}, replication, cluster)).toMatchObject([
      { id: "replication", mode: "replication" },
      { id: "cluster", mode: "cluster", shape: cluster.shape },
    ]);
    expect(treatments({}, cluster).map(({ label }) => label)).toEqual(["cluster"]);
  });

  it("have the settings of each factor", async () => {
    const varied: readonly (readonly [Variation, BaseDeployment?])[] = [
      [{ primaries: [1] }],
      [{ primaries: [6], replicas: [0] }, replication],
      [{ mode: ["replication"] }],
      [{ persistence: ["aof-always"] }],
      [{ persistence: ["none"], backlog: [1024] }, replication],
      [{ engine: ["valkey-8.1"], cpus: [2], runners: [3] }],
      [{ rate: [0] }],
      [{ rate: [5000], dataSize: [64], threads: [2] }],
    ];
    await expectReviewed(
      "benchmarks/treatments",
      "Treatments of a study, by the levels of its factors.",
      varied.map(([variation, base = cluster]) => [JSON.stringify(variation), treatments(variation, base)] as const),
    );
  });
});

describe("pinning", () => {
  it("gives every server CPUs of its own while there are enough, and else names the shared CPUs", () => {
    forAll(
      [fc.integer({ min: 1, max: 64 }), fc.integer({ min: 1, max: 32 }), fc.integer({ min: 1, max: 8 })],
      (cores, servers, each) => {
        const cpus = Array.from({ length: cores }, (_, cpu) => cpu * 2);
        const { servers: masks, clients, sharedCpus } = planPinning(cpus, servers, each);
        expect(masks).toHaveLength(servers);
        const used = [...masks, clients].flatMap(parseCpuList);
        for (const cpu of used) expect(cpus).toContain(cpu);
        expect(sharedCpus === undefined).toBe(servers * each < cores);
        if (sharedCpus === undefined) {
          expect(new Set(used).size).toBe(used.length);
          for (const mask of masks) expect(parseCpuList(mask)).toHaveLength(each);
          expect(used).toHaveLength(cores);
        }
      },
    );
  });

  it("names the number of CPUs that are needed", () => {
    expect(planPinning([0, 1], 1, 1)).toEqual({ servers: ["0"], clients: "1", sharedCpus: undefined });
    expect(planPinning([0, 1], 2, 1)).toMatchObject({
      servers: ["0", "1"],
      clients: "0,1",
      sharedCpus: expect.stringContaining("2 servers of 1 CPU each use all 2 CPUs of the machine") as string,
    });
    expect(planPinning([0, 1], 3, 1).sharedCpus).toContain(
      "need 3 CPUs, and the load generator needs one more; the machine has 2",
    );
  });

  it("parses CPU lists of the kernel", () => {
    expect(parseCpuList("0-2,5\n")).toEqual([0, 1, 2, 5]);
    expect(parseCpuList("")).toEqual([]);
  });
});

describe("the CPUs of this process", () => {
  it("are at most as many as its CPU quota", () => {
    expect(availableCpus(1)).toHaveLength(1);
    expect(availableCpus(0.5)).toHaveLength(1);
    expect(availableCpus(4096).length).toBeGreaterThanOrEqual(1);
    expect(availableCpus(4096)).toEqual(expect.arrayContaining(availableCpus(1)));
  });
});

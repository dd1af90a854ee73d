import { describe, expect, it } from "vitest";
import { FILE_DESCRIPTORS, promisedTuning } from "../../../../platforms/eks/pools/tuning";

describe("what a pool promises", () => {
  it("is what its user data sets, and whole CPUs only to servers that ask for them", () => {
    const server = { wholeCpus: 6, backlog: undefined };
    expect(promisedTuning({ interruptCpus: 0, staticCpus: false }, server)).toEqual({
      openFiles: FILE_DESCRIPTORS,
      acceptQueue: 511,
    });
    const tuning = { interruptCpus: 2, staticCpus: true };
    expect(promisedTuning(tuning, { ...server, backlog: "1024" })).toEqual({
      openFiles: FILE_DESCRIPTORS,
      acceptQueue: 1024,
      interruptCpus: 2,
      ownCpus: 6,
    });
    expect(promisedTuning(tuning, { ...server, wholeCpus: undefined })).not.toHaveProperty("ownCpus");
    expect(promisedTuning(tuning)).toEqual({ openFiles: FILE_DESCRIPTORS, interruptCpus: 2 });
  });
});

import { describe, expect, it } from "vitest";
import { FILE_DESCRIPTORS, expectedTuning } from "../../../../platforms/eks/pools/tuning";

describe("what a pool promises", () => {
  it("is what its user data sets, and whole CPUs only to servers that ask for them", () => {
    const server = { wholeCpus: 6, backlog: undefined };
    expect(expectedTuning({ interruptCpus: 0, staticCpus: false }, server)).toEqual({
      openFiles: FILE_DESCRIPTORS,
      acceptQueue: 511,
    });
    const tuning = { interruptCpus: 2, staticCpus: true };
    expect(expectedTuning(tuning, { ...server, backlog: "1024" })).toEqual({
      openFiles: FILE_DESCRIPTORS,
      acceptQueue: 1024,
      interruptCpus: 2,
      ownCpus: 6,
    });
    expect(expectedTuning(tuning, { ...server, wholeCpus: undefined })).not.toHaveProperty("ownCpus");
    expect(expectedTuning(tuning)).toEqual({ openFiles: FILE_DESCRIPTORS, interruptCpus: 2 });
  });
});

import { defineConfig } from "vitest/config";

/** Tests that hold figures against a clock, or share one Kubernetes. */
const ALONE = ["tests/real/measuring.test.ts", "tests/real/open-loop.test.ts", "tests/real/capacity.test.ts", "tests/real/speed.test.ts", "tests/real/engine.test.ts", "tests/real/kubernetes/**/*.test.ts"];
const REAL = { testTimeout: 120_000, hookTimeout: 180_000 };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "pure",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/real/**"],
          testTimeout: 20_000,
        },
      },
      {
        // Real servers wait more than they work: two files at a time, when nothing else runs.
        test: {
          name: "real",
          include: ["tests/real/**/*.test.ts"],
          exclude: ALONE,
          ...REAL,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "alone",
          include: ALONE,
          ...REAL,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});

import { defineConfig } from "vitest/config";

/** Tests that run one after the other: they compare figures with a clock, wait for healing, or share one Kubernetes. */
const ALONE = [
  ...[
    "measuring",
    "open-loop",
    "capacity",
    "interleaved",
    "failure",
    "failure-replication",
    "sentinel",
    "soak",
    "pulumi-engine",
  ].map((name) => `tests/end-to-end/*/${name}.test.ts`),
  "tests/end-to-end/kubernetes/**/*.test.ts",
];
const REAL = { testTimeout: 120_000, hookTimeout: 180_000 };
/** More workers than cores: real servers wait more than they work. */
const maxWorkers = 3;

export default defineConfig({
  test: {
    projects: [
      // Pure tests leave nothing behind, so they share their imports, which take longer than most of them.
      {
        test: {
          name: "pure",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/end-to-end/**"],
          testTimeout: 20_000,
          isolate: false,
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "real",
          include: ["tests/end-to-end/**/*.test.ts"],
          exclude: ALONE,
          ...REAL,
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      { test: { name: "alone", include: ALONE, ...REAL, fileParallelism: false, sequence: { groupOrder: 1 } } },
    ],
  },
});

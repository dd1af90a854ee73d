import type { TestSpecification } from "vitest/node";
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";

/** Tests that compare figures with a clock. They run one after the other when nothing else does. */
const ALONE = [
  "measuring",
  "open-loop",
  "capacity",
  "interleaved",
  "failure",
  "failure-replication",
  "sentinel",
  "soak",
  "pulumi-engine",
].map((name) => `tests/end-to-end/*/${name}.test.ts`);
const KUBERNETES = "tests/end-to-end/kubernetes/**/*.test.ts";
/** Files that take longest, the longest first: a run ends sooner when they do not begin last. */
const LONGEST = ["package", "resize-interrupted", "resize", "run", "docs", "eks-stacks", "loading", "valkey-provider"];
/** Projects in the order in which their files begin. */
const ORDER = ["real", "pure"];
const REAL = { testTimeout: 120_000, hookTimeout: 180_000 };
/** More workers than cores: real servers wait more than they work. */
const maxWorkers = 3;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return index < 0 ? LONGEST.length : index;
    };
    const project = (file: TestSpecification): number => ORDER.indexOf(file.project.name);
    return (await super.sort(files)).sort((a, b) => project(a) - project(b) || rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      // Pure tests leave nothing behind, so they share their imports, which take longer than most of them.
      {
        test: {
          name: "pure",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/end-to-end/**"],
          setupFiles: "tests/runner/property-seed.ts",
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
          exclude: [...ALONE, KUBERNETES],
          ...REAL,
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "alone",
          include: ALONE,
          exclude: [KUBERNETES],
          ...REAL,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "kubernetes",
          include: [KUBERNETES],
          ...REAL,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});

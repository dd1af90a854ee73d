import { type TestSpecification, BaseSequencer } from "vitest/node";
import { defineConfig } from "vitest/config";

/** Tests that compare figures with a clock. They run when nothing else does, one more than there are cores: each waits half of its time. */
const ALONE = ["measuring", "open-loop", "capacity", "interleaved", "pulumi-engine"].map(
  (name) => `tests/end-to-end/*/${name}.test.ts`,
);
const KUBERNETES = "tests/end-to-end/kubernetes/**/*.test.ts";
/** Files on Kubernetes that run at the same time. */
const KUBERNETES_AT_ONCE = 4;
/** Tests on Kubernetes that measure or need the processors for hundreds of machines, and those that stop machines, if this run may stop some. */
const KUBERNETES_ALONE = [
  ...["job", "load-generators", "karpenter"],
  ...(process.env["VALKEY_TEST_MACHINE_COMMAND"] === undefined ? [] : ["lost-machines", "lost-majority"]),
].map((name) => `tests/end-to-end/kubernetes/${name}.test.ts`);
/**
 * Files that take longest, the longest first: a run ends sooner when they do not begin last. Those that compute take turns with those that
 * wait for nodes to miss each other, so that no core is idle while a worker waits.
 */
const LONGEST = [
  ...["package", "resize-under-load", "resize-interrupted", "sentinel-hand-over", "left-behind", "archive-clocks"],
  ...["backup", "backup-bucket", "backup-schedule", "replay", "reshaped"],
  ...["start-replication", "start-cluster", "resize", "announcement", "named-tests", "measurement"],
  ...["run", "sentinel", "failure", "docs", "eks-stacks", "open-loop", "capacity", "measuring"],
  ...["kubernetes/cluster", "kubernetes/replication", "cluster-without-volumes", "kubernetes/sentinels"],
  ...["lost-majority", "kubernetes/archive", "only-copy", "kubernetes/restore", "troubles", "rolling-replication"],
];
/** Projects in the order in which their files begin. */
const ORDER = ["real", "kubernetes", "kubernetes-alone", "pure"];
const PROGRAMS = ["tests/runner/fetch-programs.ts", "tests/runner/compile-programs.ts"];
const REAL = { testTimeout: 120_000, hookTimeout: 180_000 };
/** More workers than cores: real servers wait more than they work. */
const maxWorkers = 5;
/** Without one, the tests that need it are only counted. */
const hasKubernetes = process.env["VALKEY_TEST_KUBECONFIG"] !== undefined;

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
          setupFiles: "tests/runner/pure-setup.ts",
          testTimeout: 60_000,
          isolate: false,
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "real",
          // Their imports take longer than many of them. Each test closes what it opened.
          isolate: false,
          globalSetup: PROGRAMS,
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
          globalSetup: PROGRAMS,
          include: ALONE,
          exclude: [KUBERNETES],
          ...REAL,
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "kubernetes",
          globalSetup: PROGRAMS,
          include: [KUBERNETES],
          exclude: KUBERNETES_ALONE,
          ...REAL,
          // Each has a namespace of its own, and waits for pods most of the time.
          maxWorkers: hasKubernetes ? KUBERNETES_AT_ONCE : maxWorkers,
          isolate: false,
          sequence: { groupOrder: hasKubernetes ? 2 : 0 },
        },
      },
      {
        test: {
          name: "kubernetes-alone",
          globalSetup: PROGRAMS,
          include: KUBERNETES_ALONE,
          ...REAL,
          isolate: false,
          maxWorkers: hasKubernetes ? 1 : maxWorkers,
          sequence: { groupOrder: hasKubernetes ? 3 : 0 },
        },
      },
    ],
  },
});

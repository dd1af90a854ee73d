/** The workflows on GitHub: what they are allowed, what they run, and which stacks they take for changed. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { EKS_VERSIONS } from "../components/eks/aws/versions";

const ROOT = resolve(__dirname, "..");
const DIRECTORY = join(ROOT, ".github/workflows");

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly needs?: string;
  readonly if?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: unknown;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** A workflow that users copy. */
const EXAMPLE = join(ROOT, "examples/scheduled-up/github-workflow.yaml");
const workflows = [...readdirSync(DIRECTORY).map((name) => join(DIRECTORY, name)), EXAMPLE]
  .map((path) => ({ name: basename(path), text: readFileSync(path, "utf8") }))
  .map((each) => ({ ...each, workflow: parse(each.text) as Workflow }));
const jobs = workflows.flatMap(({ name, workflow }) =>
  Object.entries(workflow.jobs).map(([job, each]) => ({ name: `${name} ${job}`, job: each })),
);

describe("workflows", () => {
  it("may read and no more, but for tokens for AWS and npm, a comment, a release and an issue", () => {
    for (const { workflow } of workflows) expect(workflow.permissions).toEqual({ contents: "read" });
    expect(jobs.flatMap(({ name, job }) => (job.permissions === undefined ? [] : [[name, job.permissions]]))).toEqual([
      ["pull-request.yaml preview", { contents: "read", "id-token": "write" }],
      ["pull-request.yaml comment", { "pull-requests": "write" }],
      ["release.yaml publish", { contents: "read", "id-token": "write" }],
      ["release.yaml release", { contents: "write" }],
      ["github-workflow.yaml up", { contents: "read", "id-token": "write", issues: "write" }],
    ]);
  });

  it("use no secret, and give somebody else's code no token", () => {
    for (const { text } of workflows) {
      expect(text).not.toMatch(/secrets\./);
      expect(text).not.toContain("pull_request_target");
    }
    const preview = jobs.find(({ name }) => name === "pull-request.yaml preview")?.job;
    expect(preview?.if).toContain("github.event.pull_request.head.repo.full_name == github.repository");
    for (const { job } of jobs)
      for (const step of job.steps)
        if (step.uses?.startsWith("actions/checkout@") === true) expect(step.with?.["persist-credentials"]).toBe(false);
  });

  it("pin every action by what it is, with its version beside", () => {
    for (const { text } of workflows)
      for (const [, action] of text.matchAll(/uses: (.*)/g))
        expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it("end in time, and put nothing of the event into a script", () => {
    for (const { name, job } of jobs) {
      expect(job["timeout-minutes"], name).toBeLessThanOrEqual(60);
      for (const { run } of job.steps) expect(run ?? "").not.toContain("${{");
    }
  });

  it("preview each changed stack with every guardrail and a role that OIDC gives, and say so in one comment that the next push rewrites", () => {
    const { preview, comment } = workflows.find(({ name }) => name === "pull-request.yaml")?.workflow.jobs ?? {};
    expect(preview).toMatchObject({ strategy: { matrix: { stack: "${{ fromJSON(needs.plan.outputs.eks) }}" } } });
    expect(preview?.steps.find(({ uses }) => uses?.startsWith("aws-actions/configure-aws-credentials@"))?.with).toEqual(
      {
        "role-to-assume": "${{ vars.AWS_PREVIEW_ROLE }}",
        "aws-region": expect.stringContaining("vars.AWS_REGION") as unknown,
      },
    );
    expect(preview?.steps.map(({ run = "" }) => run).join("\n")).toMatch(
      /pulumi preview -s "\$STACK" --policy-pack policies /,
    );
    expect(comment?.if).toContain("needs.preview.result != 'skipped'");
    expect(comment?.steps.map(({ run = "" }) => run).join("\n")).toMatch(/--method PATCH.*--method POST/);
    const kind = workflows
      .find(({ name }) => name === "kind.yaml")
      ?.workflow.jobs["kind"]?.steps.map(({ run = "" }) => run)
      .join("\n");
    expect(kind).toMatch(/pulumi up -s kind .*--policy-pack policies[^]*--expect-no-changes[^]*pulumi destroy -s kind/);
  });

  it("release a tag after the tests, with its notes, its package and libraries for other languages", () => {
    const workflow = workflows.find(({ name }) => name === "release.yaml")?.workflow;
    expect(workflow?.on).toEqual({ push: { tags: ["v*"] } });
    const { test, package: packed, publish, release } = workflow?.jobs ?? {};
    expect([packed, publish, release].map((job) => job?.needs)).toEqual(["test", "package", "publish"]);
    const scriptsOf = (job: Job | undefined): string => job?.steps.map(({ run = "" }) => run).join("\n") ?? "";
    expect(scriptsOf(test)).toContain("npm test");
    expect(scriptsOf(packed)).toMatch(
      /scripts\/release\.ts "\$GITHUB_REF_NAME"[^]*npm pack[^]*for language in python go dotnet/,
    );
    expect(scriptsOf(publish)).toMatch(/^npm publish \.\/release\/\*\.tgz --provenance/m);
    expect(scriptsOf(release)).toMatch(/gh release create .*--verify-tag .*\s.*notes\.md .*\.tgz .*\.tar\.gz/);
    // npm publishes without a token from this version on.
    expect(publish?.steps[0]?.with).toEqual({ "node-version": 24 });
  });

  it("update on a clock one after the other, and say in an issue that an update has failed", () => {
    const workflow = workflows.find(({ name }) => name === "github-workflow.yaml")?.workflow;
    expect(workflow).toMatchObject({ concurrency: { "cancel-in-progress": false } });
    const scripts = workflow?.jobs["up"]?.steps.map(({ run = "" }) => run).join("\n") ?? "";
    expect(scripts).toMatch(/pulumi up -s "\$STACK" --refresh --yes [^]*exit "\$status"/);
    expect(scripts).toMatch(/gh issue close [^]*gh issue comment [^]*gh issue create /);
  });

  it("hold pools to the schemas of the Karpenter that is deployed", () => {
    expect(workflows.find(({ name }) => name === "kind.yaml")?.text).toContain(
      `karpenter-crd --version ${EKS_VERSIONS.karpenter}\n`,
    );
  });

  it("run scripts that bash reads", () => {
    for (const { job } of jobs)
      for (const { run } of job.steps) if (run !== undefined) execFileSync("bash", ["-n"], { input: run });
  });
});

describe("changed stacks", () => {
  const repository = mkdtempSync(join(tmpdir(), "changed-"));
  afterAll(() => {
    rmSync(repository, { recursive: true });
  });
  const git = (...args: readonly string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", ...args], {
      cwd: repository,
      encoding: "utf8",
    }).trim();
  const commit = (files: Readonly<Record<string, string>>): void => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(repository, file)), { recursive: true });
      writeFileSync(join(repository, file), text);
    }
    git("add", "-A");
    git("commit", "-qm", "x");
  };
  /** Folders of this repository that hold the program. */
  const programFolders = readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(\.|docs$|examples$|tests$|results$|node_modules$)/.test(entry.name))
    .map(({ name }) => name);
  const changed = (...args: readonly string[]): unknown =>
    JSON.parse(
      execFileSync("bash", [join(ROOT, ".github/changed-stacks.sh"), ...args], { cwd: repository, encoding: "utf8" }),
    );

  it("are those whose file changed, or all when the program did, of a platform where one is named", () => {
    git("init", "-q", "-b", "main");
    cpSync(join(ROOT, "stacks/Pulumi.topologies.yaml"), join(repository, "stacks/Pulumi.topologies.yaml"), {
      recursive: true,
    });
    cpSync(join(ROOT, "stacks/Pulumi.local.yaml"), join(repository, "stacks/Pulumi.local.yaml"));
    commit({ "README.md": "1" });
    git("checkout", "-qb", "change");
    commit({ "README.md": "2" });
    expect(changed("main")).toEqual([]);
    commit({ "stacks/Pulumi.local.yaml": readFileSync(join(repository, "stacks/Pulumi.local.yaml"), "utf8") + "#\n" });
    expect(changed("main")).toEqual(["local"]);
    expect(changed("main", "eks")).toEqual([]);
    commit({ "components/a.ts": "" });
    expect(changed("main")).toEqual(["local", "topologies"]);
    expect(changed("main", "eks")).toEqual(["topologies"]);
    // Files that are no part of the program change no stack, whatever they are called.
    git("checkout", "-q", "main");
    git("checkout", "-qb", "other");
    commit({
      "docs/a.md": "",
      "tests/a.test.ts": "",
      "CHANGELOG.md": "",
      ".github/a.sh": "",
      "stacks/schema.json": "{}",
    });
    expect(changed("main")).toEqual([]);
    for (const folder of [...programFolders, "a-room-of-tomorrow"]) {
      git("checkout", "-q", "main");
      git("checkout", "-qb", `in-${folder}`);
      commit({ [`${folder}/a.ts`]: "" });
      expect(changed("main"), folder).toEqual(["local", "topologies"]);
    }
    git("checkout", "-q", "change");
    git("rm", "-q", "stacks/Pulumi.topologies.yaml");
    git("commit", "-qm", "x");
    expect(changed("main")).toEqual(["local"]);
  });
});

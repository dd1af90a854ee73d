/**
 * `npm test`: types, lint, order of rooms and format beside the tests, then the tests that need the machine for
 * themselves. Says what runs as it goes. Files of real servers that fail are tried once more; what passes only then is
 * flaky, and named at the end. The output ends with the line `N passed, N failed[, N skipped]`.
 *
 * Arguments go to vitest, and then only the tests run: `npm test -- tests/valkey`. `--changed` runs what a change since
 * `main` can reach.
 */
import { execFileSync } from "node:child_process";
import { relative, resolve } from "node:path";
import type { TestSpecification, Vitest } from "vitest/node";
import { print } from "../cli/terminal/terminal";
import { changedFiles, reachedTests } from "./runner/changed";
import { closing } from "./runner/closing-lines";
import { Interruption } from "./runner/interruption";
import { kubernetesIsUp, mayHaveKubernetes } from "./runner/kubernetes";
import { toRepeat, unhandledRecord } from "./runner/outcome";
import { Progress } from "./runner/progress";
import { checkStatically, STATIC_CHECKS } from "./static-checks";

const ROOT = resolve(__dirname, "..");
/** Tests without servers, which nothing but their own code can make fail. */
const WITHOUT_SERVERS = "pure";

/** Projects that begin when the others have ended. Those of one step run at the same time. */
const LATER_STEPS = [["alone"], ["kubernetes"], ["kubernetes-alone"]];
/** Projects with workers of their own, where there is a Kubernetes: their files wait for pods while others compute. */
const isOnKubernetes = ({ project }: TestSpecification): boolean => project.name.startsWith("kubernetes");

/** An instance of vitest and the files that it can run. */
interface Instance {
  readonly vitest: Vitest;
  readonly files: readonly TestSpecification[];
}

async function runTests(args: readonly string[], progress: Progress, interruption: Interruption): Promise<void> {
  // Vitest is published as ES modules only.
  const { createVitest, parseCLI } = await import("vitest/node");
  const { filter, options } = parseCLI(["vitest", "run", ...args.filter((arg) => arg !== "--changed")]);
  progress.isPartial = options.testNamePattern !== undefined;
  const reached = args.includes("--changed") ? testsReachedByChange() : undefined;
  const opened: Vitest[] = [];
  const open = async (): Promise<Instance> => {
    const vitest = await createVitest("test", { ...options, watch: false, reporters: [progress] });
    opened.push(vitest);
    interruption.watch(vitest);
    await vitest.standalone();
    const all = await vitest.globTestSpecifications(filter);
    return { vitest, files: all.filter(({ moduleId }) => reached?.has(relative(ROOT, moduleId)) ?? true) };
  };
  const run = async (
    { vitest, files }: Instance,
    isWanted: (file: TestSpecification) => boolean,
    testNamePattern?: RegExp,
  ): Promise<void> => {
    const wanted = files
      .filter(isWanted)
      .map((file) => (testNamePattern ? file.project.createSpecification(file.moduleId, { testNamePattern }) : file));
    if (wanted.length === 0 || interruption.hasHappened) return;
    progress.expect(wanted.length);
    const { unhandledErrors } = await vitest.runTestSpecifications(wanted, true);
    progress.add("vitest", unhandledErrors.map(unhandledRecord));
  };
  try {
    const here = await open();
    const isApart = (file: TestSpecification): boolean => mayHaveKubernetes() && isOnKubernetes(file);
    const isUp = here.files.some(isApart) ? kubernetesIsUp(() => interruption.hasHappened) : Promise.resolve(false);
    const there = isUp.then((is) => (is ? open() : here));
    const step = async (isIn: (file: TestSpecification) => boolean): Promise<void> => {
      const apart = there.then((instance) => run(instance, (file) => isIn(file) && isApart(file)));
      await Promise.all([run(here, (file) => isIn(file) && !isApart(file)), apart]);
    };
    await step(({ project }) => !LATER_STEPS.flat().includes(project.name));
    for (const names of LATER_STEPS) await step(({ project }) => names.includes(project.name));
    // Files of real servers that failed, one after the other.
    for (const again of here.files) {
      const file = relative(here.vitest.config.root, again.moduleId);
      const records = progress.soFar().records.filter((record) => record.file === file);
      if (again.project.name === WITHOUT_SERVERS || records.every(({ state }) => state !== "failed")) continue;
      const instance = isApart(again) ? await there : here;
      await run(instance, ({ moduleId }) => moduleId === again.moduleId, toRepeat(records));
    }
  } finally {
    await Promise.all(opened.map((vitest) => vitest.close()));
  }
}

function testsReachedByChange(): ReadonlySet<string> {
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return new Set(reachedTests(ROOT, files.split("\n"), changedFiles(ROOT)));
}

async function main(args: readonly string[]): Promise<number> {
  const progress = new Progress();
  await new Promise<void>((done, fail) => {
    const interruption = new Interruption(() => {
      progress.interrupt();
    }, done);
    const parts = [runTests(args, progress, interruption)];
    if (args.length === 0) parts.push(progress.beside(STATIC_CHECKS, checkStatically()));
    Promise.all(parts).then(() => {
      done();
    }, fail);
  });
  const { lines, status } = closing(progress.soFar(), progress.waits.lines());
  progress.close();
  print(...lines);
  return status;
}

void main(process.argv.slice(2)).then((status) => process.exit(status));

import { Listr, ListrLogger, ProcessOutput } from "listr2";
import type { ReportProgress } from "../../lib/progress";

export interface Step {
  readonly title: string;
  readonly run: (report: ReportProgress) => Promise<string | undefined>;
}

/** Ends a step with the verdict FAIL, which is not an error of the command. The message is the title of the step. */
export class StepFailure extends Error {}

/** @returns whether all steps passed: false after a StepFailure, which ends the steps */
export async function runSteps(steps: readonly Step[], quiet = false): Promise<boolean> {
  const onTerminal = process.stdout.isTTY;
  const tasks = steps.map(({ title, run }) => ({
    title,
    task: async (_context: unknown, task: { title: string; output: string }): Promise<void> => {
      const done = await run((line, passing = false) => {
        if (onTerminal || !passing) task.output = line;
      }).catch((error: unknown) => {
        if (error instanceof StepFailure) task.title = error.message;
        throw error;
      });
      if (done !== undefined) task.title = done;
    },
  }));
  const list = new Listr<unknown>(tasks, {
    registerSignalListeners: false,
    renderer: "default",
    rendererOptions: {
      showErrorMessage: false,
      collapseErrors: false,
      removeEmptyLines: true,
      formatOutput: "truncate",
    },
    fallbackRenderer: "simple",
    fallbackRendererOptions: { logger: new ListrLogger({ processOutput: new ProcessOutput(process.stderr) }) },
    silentRendererCondition: quiet,
  });
  try {
    await list.run();
    return true;
  } catch (error) {
    if (error instanceof StepFailure) return false;
    throw error;
  }
}

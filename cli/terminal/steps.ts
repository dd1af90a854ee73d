/** The steps of a command. They are displayed live on a terminal, and as plain lines elsewhere. */
import { Listr } from "listr2";
import type { ReportProgress } from "../../lib/progress";

/** A step with its title. */
export interface Step {
  readonly title: string;
  /**
   * Runs the step.
   * @returns title of the finished step, with its result; undefined keeps the first title
   * @throws StepFailure if the step ran without an error but its result is bad, such as the verdict FAIL
   */
  readonly run: (report: ReportProgress) => Promise<string | undefined>;
}

/**
 * Ends a step as failed, with its result as the title. This class is for the verdict FAIL, which is not an error of the
 * command.
 */
export class StepFailure extends Error {}

/**
 * Runs steps one after the other, until one fails.
 * @param quiet whether nothing is printed
 * @returns whether all steps passed: false after a StepFailure
 * @throws any other error of the step that fails
 */
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
    fallbackRendererOptions: {},
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

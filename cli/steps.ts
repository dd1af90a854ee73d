/** The steps of a command as the user sees them: live on a terminal, plain lines elsewhere. */
import { Listr } from "listr2";
import type { ReportProgress } from "../lib/progress";

export interface Step {
  readonly title: string;
  /** @returns a title to replace the first, saying what came of it */
  readonly run: (report: ReportProgress) => Promise<string | undefined>;
}

/**
 * Runs steps one after the other; the first that fails ends it.
 * @param quiet nothing is shown
 * @throws what a step throws
 */
export async function runSteps(steps: readonly Step[], quiet = false): Promise<void> {
  const onTerminal = process.stdout.isTTY;
  const tasks = steps.map(({ title, run }) => ({
    title,
    task: async (_context: unknown, task: { title: string; output: string }): Promise<void> => {
      const done = await run((line, passing = false) => {
        if (onTerminal || !passing) task.output = line;
      });
      if (done !== undefined) task.title = done;
    },
  }));
  const list = new Listr<unknown, "default", "simple">(tasks, {
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
  await list.run();
}

/** Program of the pods `NAME-restore` and `NAME-drill`. Its result is the termination message. */
import { writeFileSync } from "node:fs";
import { Failure, messageOf } from "../../lib/errors";
import { logLine, runProgram } from "../../lib/pod/run-program";
import { openBucket } from "../archiver/place";
import { CHECK_VARIABLE } from "../restoring/filling/fill-result";
import { runDrill, checkFill, runFill } from "./tasks";
import { type RestorerSettings, readRestorerSettings } from "./pod-settings";
import { StagingContainer } from "./staging-container";

const TERMINATION_LOG = "/dev/termination-log";
/** Number of bytes that Kubernetes keeps of a termination message. */
const MOST_BYTES = 4096;

runProgram(async ({ settings: text, checksum, signal }) => {
  try {
    const settings = readRestorerSettings(text, checksum);
    const result = await restore(settings, signal);
    logLine(result);
    writeResult(result);
  } catch (error) {
    writeResult(messageOf(error));
    throw error;
  }
});

async function restore(settings: RestorerSettings, signal: AbortSignal): Promise<string> {
  const { task } = settings;
  const report = (line: string): void => {
    logLine(`${task.deployment}: ${line}`);
  };
  const place = await openBucket(settings, signal);
  const staging = await StagingContainer.open(settings.directory, signal);
  try {
    const options = { signal, report };
    if (task.kind === "drill") return await runDrill(place, staging, options);
    if (process.env[CHECK_VARIABLE] !== undefined) return await checkFill(task, place, staging);
    return await runFill(task, place, staging, options);
  } catch (error) {
    if (signal.aborted) throw new Failure("the pod was stopped before the end", { cause: error });
    const why = await staging.endedBecause();
    throw why === undefined ? error : new Failure(`${why} (${messageOf(error)})`, { cause: error });
  }
}

function writeResult(text: string): void {
  writeFileSync(TERMINATION_LOG, Buffer.from(text).subarray(0, MOST_BYTES));
}

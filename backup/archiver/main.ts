/** Program of the pod `NAME-archive`. The argument of the program is the file with its settings. */
import { logLine, runProgram } from "../../lib/pod/run-program";
import { METRICS_PATH, TextServer } from "../../lib/pod/text-server";
import { Archiver } from "./archiver";
import { FollowedServers } from "./followed-servers";
import { openBucket } from "./place";
import { ARCHIVER_PORT, READY_PATH, readArchiverSettings } from "./pod-settings";
import { openArchive } from "./run-archive";

runProgram(async ({ settings: text, checksum, signal }) => {
  const settings = readArchiverSettings(text, checksum);
  const { deployment: name, spoolDirectory, spoolBytes, baseEverySeconds, keepSeconds, drillEverySeconds } = settings;
  const deployment = new FollowedServers(settings);
  const archiver = new Archiver({
    ...{ deployment, spoolDirectory, spoolBytes },
    open: async (stop) => openArchive(await openBucket(settings, stop), deployment, stop),
    ...{ baseEveryMs: baseEverySeconds * 1000, keepMs: keepSeconds * 1000 },
    log: (line) => {
      logLine(`${name}: ${line}`);
    },
  });
  const { metrics } = archiver;
  if (drillEverySeconds !== undefined) metrics.set("drillInterval", drillEverySeconds);
  const server = await TextServer.open(
    { port: ARCHIVER_PORT },
    {
      [METRICS_PATH]: async () => ({ type: metrics.contentType, text: await metrics.text() }),
      [READY_PATH]: () => ({
        status: archiver.isReady ? 200 : 503,
        type: "text/plain",
        text: archiver.isReady ? "the archive is open\n" : "the archive is not open: see the log\n",
      }),
    },
  );
  try {
    logLine(`${name}: a base every ${baseEverySeconds} s; kept for ${keepSeconds} s`);
    await archiver.run(signal);
  } finally {
    server.close();
  }
});

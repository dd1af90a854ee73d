/** Program of the controller's pod. The argument of the program is the file with its settings. */
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { messageOf } from "../lib/errors";
import { openKubernetesClient } from "../platforms/deployment-reference";
import { Controller } from "./controller";
import { LookEndpoint } from "./endpoint";
import { CHECKSUM_VARIABLE, CONTROLLER_PORT, readControllerSettings } from "./pod-settings";

function log(line: string): void {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
}

async function main(file: string): Promise<void> {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"])
    process.once(signal, () => {
      stop.abort();
    });
  const settings = readControllerSettings(await readFile(file, "utf8"), process.env[CHECKSUM_VARIABLE]);
  const endpoint = await LookEndpoint.open({ port: CONTROLLER_PORT });
  try {
    const kubernetes = await openKubernetesClient(settings.target);
    const { everySeconds, repair, replaceLostMachinesAfterSeconds: seconds } = settings;
    const { name } = settings.target;
    const replacing =
      seconds === undefined ? "" : `; replacing pods of machines that are gone or not Ready for ${seconds} s`;
    log(`${name}: verifying every ${everySeconds} s; repairs are ${repair ? "on" : "off"}${replacing}`);
    // A pod's host name is its name.
    await new Controller(kubernetes, settings, endpoint, hostname(), log).run(stop.signal);
  } finally {
    endpoint.close();
  }
}

main(process.argv.at(-1) ?? "").catch((error: unknown) => {
  log(messageOf(error));
  process.exitCode = 1;
});

/** Program of the controller's pod. The argument of the program is the file with its settings. */
import { hostname } from "node:os";
import { logLine, runProgram } from "../../lib/pod/run-program";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import { Controller } from "./controller";
import { LookEndpoint } from "../inspection/endpoint";
import { CONTROLLER_PORT, readControllerSettings } from "./pod-settings";

runProgram(async ({ settings: text, checksum, signal }) => {
  const settings = readControllerSettings(text, checksum);
  const endpoint = await LookEndpoint.open({ port: CONTROLLER_PORT });
  try {
    const kubernetes = await openKubernetesClient(settings.target);
    const { everySeconds, repair, replaceLostMachinesAfterSeconds: seconds } = settings;
    const { name } = settings.target;
    const replacing =
      seconds === undefined ? "" : `; replacing pods of machines that are gone or not Ready for ${seconds} s`;
    logLine(`${name}: verifying every ${everySeconds} s; repairs are ${repair ? "on" : "off"}${replacing}`);
    // A pod's host name is its name.
    await new Controller(kubernetes, settings, endpoint, hostname(), logLine).run(signal);
  } finally {
    endpoint.close();
  }
});

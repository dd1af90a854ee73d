import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BadInput } from "../lib/errors";
import { COMMAND } from "../lib/system/package";
import { replaceFile } from "../lib/system/replace-file";
import { allRunsDirectories } from "../lib/system/paths";
import type { Deployment } from "../valkey/deployment";
import type { Shape } from "../valkey/topology/placement";
import type { DeploymentReference } from "./deployment-reference";
import { passwordFileIn } from "./host/host";
import { isRunId, RunDirectory } from "./host/run-directory";

const FILE = "deployments.json";

export function referenceTo(deployment: Deployment, shape: Shape): DeploymentReference {
  const { name, mode, nodes, zones = [], directives, sentinels } = deployment;
  const reference = {
    platform: "endpoints",
    name,
    mode,
    shape,
    zones,
    directives: Object.fromEntries(directives),
    nodes,
  } as const;
  return sentinels === undefined ? reference : { ...reference, sentinels };
}

export function keepRun(run: RunDirectory, targets: readonly DeploymentReference[]): void {
  replaceFile(join(run.path, FILE), JSON.stringify(targets));
  run.keep();
}

export function keptDeployments(
  id: string,
): { readonly target: DeploymentReference; readonly password: string }[] | undefined {
  if (!isRunId(id)) return undefined;
  const runs = allRunsDirectories().flatMap((place) => RunDirectory.list(place));
  const path = runs.find(({ info }) => info.id === id)?.path;
  if (path === undefined)
    throw BadInput.of(`run ${id}`, "no-such-run", `does not exist; ${COMMAND} stop prints a list of the runs`);
  if (!existsSync(join(path, FILE)))
    throw BadInput.of(`run ${id}`, "not-kept", "was not kept with --keep; only the deployments of such runs are known");
  const targets = JSON.parse(readFileSync(join(path, FILE), "utf8")) as DeploymentReference[];
  return targets.map((target) => ({ target, password: readFileSync(passwordFileIn(path, target.name), "utf8") }));
}

import { controllerLabels } from "../../components/kubernetes/names";
import { LOOKS_PATH } from "../../operations/inspection/endpoint";
import { type Look, changesOf } from "../../operations/inspection/look";
import { CONTROLLER_PORT } from "../../operations/controller/pod-settings";
import { BadInput, Failure, messageOf } from "../../lib/errors";
import { pause } from "../../lib/polling";
import { type KubernetesReference, openKubernetesClient } from "../../platforms/deployment-reference";
import { getFromPod } from "../../platforms/kubernetes/api/pod-http";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { formatLabelSelector, listPods } from "../../platforms/kubernetes/pods/running-pods";
import type { DeployedTarget } from "../targets/deployed-stack";
import { print } from "../terminal/terminal";

const EVERY_MS = 2_000;

export async function watchControllers(
  targets: readonly DeployedTarget[],
  isJson: boolean,
  signal: AbortSignal,
): Promise<number> {
  const sources = await Promise.all(targets.map(({ target }) => openSource(target)));
  const problems = sources.filter((each) => typeof each === "string");
  if (problems.length > 0) throw BadInput.of("status --watch", "no-controller", problems);
  if (!isJson)
    print(`Showing the results of the controllers of ${targets.map(({ target }) => target.name).join(", ")}.`);
  const last = await Promise.all(
    sources.filter((each) => typeof each !== "string").map((each) => printLooks(each, isJson, signal)),
  );
  return last.every((look) => look?.pass === true) ? 0 : 1;
}

interface Source {
  readonly target: KubernetesReference;
  readonly kubernetes: KubernetesClient;
}

async function openSource(target: DeployedTarget["target"]): Promise<Source | string> {
  const advice = "use npm start -- watch STACK, which asks the servers directly";
  if (target.platform !== "kubernetes")
    return `${target.name} is not on Kubernetes, so it has no controller; ${advice}`;
  const source = { target, kubernetes: await openKubernetesClient(target) };
  if ((await podsOf(source)).length > 0) return source;
  return `${target.name} has no controller: its argument \`controller\` is not set; ${advice}`;
}

async function podsOf({ kubernetes, target: { name, namespace } }: Source): Promise<string[]> {
  const pods = await listPods(kubernetes, namespace, formatLabelSelector(controllerLabels(name)));
  return pods
    .sort((a, b) => Number(b.status?.phase === "Running") - Number(a.status?.phase === "Running"))
    .flatMap(({ metadata }) => metadata?.name ?? []);
}

async function printLooks(source: Source, isJson: boolean, signal: AbortSignal): Promise<Look | undefined> {
  const { name } = source.target;
  let last: Look | undefined;
  let problem = "";
  while (!signal.aborted) {
    try {
      const look = await lastLook(source);
      if (problem !== "" && !isJson) print(`${name}: the controller answers again`);
      problem = "";
      if (look !== undefined && look.at !== last?.at) {
        const changes = changesOf(last, look);
        if (isJson) print(JSON.stringify({ ...look, changes }));
        else print(...changes.map((change) => `${look.at} ${change}`));
        last = look;
      }
    } catch (error) {
      const said = messageOf(error);
      if (problem === "" && !isJson) print(`${name}: the controller does not answer: ${said}`);
      problem = said;
    }
    await pause(EVERY_MS, signal).catch(() => undefined);
  }
  return last;
}

async function lastLook(source: Source): Promise<Look | undefined> {
  const { kubernetes, target } = source;
  const [pod] = await podsOf(source);
  if (pod === undefined) throw new Failure("its pod does not exist; Kubernetes creates a new one");
  const { namespace } = target;
  const looks = JSON.parse(
    await getFromPod(kubernetes, { namespace, pod, port: CONTROLLER_PORT }, LOOKS_PATH),
  ) as Look[];
  return looks.find(({ deployment }) => deployment === target.name);
}

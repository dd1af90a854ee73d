/** Raises maxmemory on running servers whose pods have the memory for it. */
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment } from "../../platforms/deployment-reference";
import { applySettings } from "../../valkey/apply-settings";
import { DYNAMIC_DEFAULTS, MEMORY_DIRECTIVES, splitDirectives } from "../../valkey/settings/dynamic-settings";
import { hasMemory } from "../updates/memory-limit";
import type { HandlerContext, ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";

export interface MaxmemoryInputs {
  /** With the directives that every node is to have. */
  readonly target: DeploymentReference;
  readonly password: string;
  /** Those directives of `target` that wait for memory. */
  readonly directives: Readonly<Record<string, string>>;
  /** Memory limit of each pod, as Kubernetes writes it. */
  readonly memoryLimit: string;
  /** Time limit for nodes to answer. */
  readonly timeoutSeconds: number;
}

/**
 * Nodes that have the values already are told nothing. When it is interrupted, the next update sets what is missing; when the change is
 * taken back instead, `Settings` lowers maxmemory again before the pods lose their memory.
 */
async function setOnNodes(
  { target, password, directives, memoryLimit, timeoutSeconds }: MaxmemoryInputs,
  context: HandlerContext,
): Promise<object> {
  const configured = new Map(MEMORY_DIRECTIVES.map((name) => [name, directives[name] ?? DYNAMIC_DEFAULTS[name] ?? ""]));
  const options = waitOptions(target.name, timeoutSeconds, context);
  const deployment = await openDeployment(target, password, options);
  await applySettings(deployment, splitDirectives(configured).live, options, hasMemory(deployment, memoryLimit));
  return {};
}

export const handler: ResourceHandler<MaxmemoryInputs, object> = {
  // The files of new servers have them.
  create: async (inputs, context) => ({ id: inputs.target.name, outputs: await setOnNodes(inputs, context) }),
  update: (_id, _olds, news, context) => setOnNodes(news, context),
  silentInputs: ["target", "password", "timeoutSeconds"],
};

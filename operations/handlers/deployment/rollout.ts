/** The roll-out, and what needs the pods of the new revision: more memory, and their addresses for clients outside. */
import { inParts } from "../../protocol/in-parts";
import {
  type ExternalAddressesInputs,
  type ExternalAddressesOutputs,
  handler as addresses,
} from "./external-addresses";
import { type PodRolloutInputs, type PodRolloutOutputs, handler as pods } from "./pod-rollout";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import { applySettings } from "../../../valkey/apply-settings";
import { DYNAMIC_DEFAULTS, MEMORY_DIRECTIVES, splitDirectives } from "../../../valkey/settings/dynamic-settings";
import { hasMemory } from "../../changes/maxmemory-raise";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { openForUpdate } from "../../protocol/opening";

export interface MaxmemoryInputs {
  /** The deployment, with the directives that every node must have. */
  readonly target: DeploymentReference;
  readonly password: string;
  /** Memory limit of each pod, as a Kubernetes quantity. @default nothing is set */
  readonly memoryLimit?: string | undefined;
  readonly timeoutSeconds: number;
}

/**
 * After an interruption, the next update does the rest. If the change is undone instead, `Preparation` lowers
 * maxmemory again before the pods get less memory.
 */
async function setOnNodes(
  { target, password, memoryLimit, timeoutSeconds }: MaxmemoryInputs,
  context: HandlerContext,
): Promise<object> {
  if (memoryLimit === undefined) return {};
  const { directives } = target;
  const configured = new Map(MEMORY_DIRECTIVES.map((name) => [name, directives[name] ?? DYNAMIC_DEFAULTS[name] ?? ""]));
  const { deployment, options } = await openForUpdate({ target, password, timeoutSeconds }, context);
  await applySettings(deployment, splitDirectives(configured).live, options, hasMemory(deployment, memoryLimit));
  return {};
}

function hasSameMemory(a: MaxmemoryInputs, b: MaxmemoryInputs): boolean {
  const of = ({ target }: MaxmemoryInputs, name: string): string | undefined => target.directives[name];
  return a.memoryLimit === b.memoryLimit && MEMORY_DIRECTIVES.every((name) => of(a, name) === of(b, name));
}

/** Raises maxmemory on running servers if their pods have enough memory. */
export const memory: ResourceHandler<MaxmemoryInputs, object> = {
  // New servers have the directives in their files, so nothing needs to be set on them.
  create: async (inputs, context) => ({ id: inputs.target.name, outputs: await setOnNodes(inputs, context) }),
  update: (_id, olds, news, context, attempts = []) =>
    [olds, ...attempts].every((each) => hasSameMemory(each, news)) ? Promise.resolve({}) : setOnNodes(news, context),
};

export type RolloutInputs = PodRolloutInputs & MaxmemoryInputs & ExternalAddressesInputs;

export interface RolloutOutputs {
  readonly pods: PodRolloutOutputs;
  readonly memory: object;
  readonly addresses: ExternalAddressesOutputs;
}

export const handler = inParts<RolloutInputs, RolloutOutputs>({ pods, memory, addresses });

/** The roll-out, and what needs the pods of the new revision: more memory, and their addresses for clients outside. */
import { inParts } from "../../protocol/in-parts";
import {
  type ExternalAddressesInputs,
  type ExternalAddressesOutputs,
  handler as addresses,
} from "./external-addresses";
import { handler as memory, type MaxmemoryInputs } from "./maxmemory";
import { handler as pods, type PodRolloutInputs, type PodRolloutOutputs } from "./pod-rollout";

export type RolloutInputs = PodRolloutInputs & MaxmemoryInputs & ExternalAddressesInputs;

export interface RolloutOutputs {
  readonly pods: PodRolloutOutputs;
  readonly memory: object;
  readonly addresses: ExternalAddressesOutputs;
}

export const handler = inParts<RolloutInputs, RolloutOutputs>({ pods, memory, addresses });

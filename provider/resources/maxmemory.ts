/** The limit of the data of running servers, when it rises with their memory. */
import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { MaxmemoryInputs } from "../handlers/maxmemory";

/** Updated after the roll-out: servers use more memory only in pods that have it. `Settings` lowers maxmemory before the roll-out. */
export class Maxmemory extends ValkeyResource {
  constructor(name: string, inputs: InputsOf<MaxmemoryInputs>, options: CustomResourceOptions = {}) {
    super("Maxmemory", name, { ...inputs }, options);
  }
}

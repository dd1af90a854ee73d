/** Where clients outside the Kubernetes cluster reach a deployment. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { ExternalAddressesInputs } from "../handlers/external-addresses";

/** Done when the Services have addresses and the nodes of a cluster give them to clients. */
export class ExternalAddresses extends ValkeyResource {
  /** `HOST:PORT` of each Service; empty where nobody outside connects. */
  declare readonly endpoints: Output<readonly string[]>;
  /** Files that the server of each pod includes when it starts, by name. */
  declare readonly files: Output<Readonly<Record<string, string>>>;

  constructor(name: string, inputs: InputsOf<ExternalAddressesInputs>, options: CustomResourceOptions = {}) {
    super("ExternalAddresses", name, { ...inputs, endpoints: undefined, files: undefined, drift: undefined }, options);
  }
}

/** A look at the certificate of servers. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { TlsCheckInputs } from "../handlers/tls-check";

/**
 * Waits until the Secret exists, and fails where servers could not use it. Previews refuse such a Secret when it exists,
 * and switching TLS on or off under clients.
 */
export class TlsCheck extends ValkeyResource {
  /** `NAMESPACE/NAME` of the Secret; null without TLS. */
  declare readonly secret: Output<string | null>;

  constructor(name: string, inputs: InputsOf<TlsCheckInputs>, options: CustomResourceOptions = {}) {
    super("TlsCheck", name, { ...inputs, secret: undefined }, options);
  }
}

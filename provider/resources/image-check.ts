/** A look at another image. */
import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { ImageCheckInputs } from "../handlers/image-check";

/**
 * Updated before anything else of a deployment. Another image is run in a pod of its own: an update fails before anything
 * has changed where the image cannot be pulled, is not Valkey, or is of a version that cannot read the data. Where the
 * tags tell the last, previews refuse it too.
 */
export class ImageCheck extends ValkeyResource {
  constructor(name: string, inputs: InputsOf<ImageCheckInputs>, options: CustomResourceOptions = {}) {
    super("ImageCheck", name, { ...inputs }, options);
  }
}

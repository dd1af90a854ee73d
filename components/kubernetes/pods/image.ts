/** Checks an image's tag, and chooses when machines pull the image. Pure. */
import { BadInput } from "../../../lib/errors";
import type { PullPolicy } from "../arguments";

const WITH_TAG = /^[a-z0-9][\w.:/-]*:([\w][\w.-]{0,127})(@sha256:[0-9a-f]{64})?$/i;

/** Refuses an image if its version is not fixed. @throws BadInput when the image has no tag, or the tag `latest` */
export function requireTag(image: string): void {
  const tag = WITH_TAG.exec(image)?.[1];
  if (tag === undefined || tag === "latest")
    throw BadInput.of(
      "image",
      "floating-image",
      `is "${image}"; expected [REGISTRY/]REPOSITORY:TAG[@sha256:DIGEST] with a fixed tag, not latest`,
    );
}

export function pullPolicy(image: string, asked: PullPolicy | undefined): PullPolicy {
  return asked ?? (image.includes("@sha256:") ? "IfNotPresent" : "Always");
}

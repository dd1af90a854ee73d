/** Parts of an image's name. Pure. */
import { BadInput } from "../../../lib/errors";
import type { PullPolicy } from "../arguments";

export interface Image {
  readonly registry: string;
  readonly repository: string;
  /** With the digest, if there is one: `9.1.2@sha256:…`. */
  readonly tag: string;
}

/**
 * Splits `[REGISTRY/]REPOSITORY:TAG[@DIGEST]` as container runtimes do: the first part is a registry if it looks like a
 * host.
 * @throws BadInput when there is no tag: what runs would not be known
 */
export function parseImage(name: string): Image {
  const match =
    /^(?:((?:[^/@]*[.:][^/@]*|localhost))\/)?([a-z0-9][a-z0-9._/-]*):([\w][\w.-]{0,127}(?:@sha256:[0-9a-f]{64})?)$/.exec(
      name,
    );
  const [, registry = "docker.io", repository, tag] = match ?? [];
  if (repository === undefined || tag === undefined || tag === "latest") {
    throw new BadInput("image", [
      `is "${name}"; expected [REGISTRY/]REPOSITORY:TAG[@sha256:DIGEST] with a tag that stays what it is`,
    ]);
  }
  return { registry, repository, tag };
}

export function pullPolicy(image: string, asked: PullPolicy | undefined): PullPolicy {
  return asked ?? (image.includes("@sha256:") ? "IfNotPresent" : "Always");
}

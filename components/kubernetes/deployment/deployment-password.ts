import * as pulumi from "@pulumi/pulumi";
import { BadInput, problem } from "../../../lib/errors";
import { Password } from "../../../operations/provider/resources";
import type { SecretKey } from "../arguments";
import * as k8s from "../kubernetes-sdk";

/** `passwordSecret` excludes `password` and `passwordVersion`. */
interface PasswordRequest {
  readonly namespace?: pulumi.Input<string> | undefined;
  readonly password?: pulumi.Input<string> | undefined;
  readonly passwordVersion?: number | undefined;
  readonly passwordSecret?: SecretKey | undefined;
}

/**
 * A Secret is read again at each preview and update, so the servers follow when somebody rotates its password. It is
 * encrypted in the state.
 * @throws BadInput if `passwordSecret` is given together with a different source
 */
export function deploymentPassword(
  deployment: string,
  { namespace = "default", password, passwordVersion, passwordSecret }: PasswordRequest,
  parent: pulumi.Resource,
): pulumi.Output<string> {
  if (passwordSecret === undefined)
    return pulumi.secret(password ?? new Password(deployment, { version: passwordVersion ?? 0 }, { parent }).password);
  const others = Object.entries({ password, passwordVersion: passwordVersion === 0 ? undefined : passwordVersion });
  const problems = others.flatMap(([key, value]) =>
    value === undefined ? [] : [problem("two-passwords", "passwordSecret", `cannot be set together with ${key}`)],
  );
  if (problems.length > 0) throw new BadInput(deployment, problems);
  const { name, key } = passwordSecret;
  const id = pulumi.interpolate`${namespace}/${name}`;
  const options = { parent, additionalSecretOutputs: ["data"] };
  const { data } = k8s.core.v1.Secret.get(`${deployment}-password-source`, id, options);
  return pulumi.secret(pulumi.all([data, name]).apply(([files, secret]) => valueIn(deployment, files, secret, key)));
}

/** @throws BadInput with the keys that the Secret has, without their values */
export function valueIn(
  deployment: string,
  files: Readonly<Record<string, string>> | undefined,
  secret: string,
  key: string,
): string {
  const text = files?.[key];
  if (text !== undefined) return Buffer.from(text, "base64").toString();
  const known = Object.keys(files ?? {}).join(", ");
  const message = `the Secret ${secret} has no key ${key}; it has ${known === "" ? "no keys" : known}`;
  throw BadInput.of(deployment, "no-such-key", message, "passwordSecret");
}

/** A stand-in for Pulumi's program, which exports the state of a stack. */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Deployment } from "../../../valkey/deployment";

const SECRET = { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270" };

export function verifiedDeployment({ name, mode, shape, nodes, access }: Deployment): object {
  const target = { platform: "endpoints", name, mode, shape, zones: ["a", "b", "c"], directives: {}, nodes };
  return verifiedReference(target, access.password);
}

export function verifiedReference(target: object, password: string | undefined): object {
  const secret = { ...SECRET, plaintext: JSON.stringify(password) };
  return { type: "valkey:index:DeploymentVerification", inputs: { target, password: secret } };
}

/**
 * Writes a program that exports this state of the stack `dev`. A later call changes the state.
 * @param failure message with which the program fails. @default it succeeds
 * @returns the environment in which a command finds the program
 */
export function pulumiWithState(directory: string, deployment: object, failure = ""): NodeJS.ProcessEnv {
  const state = join(directory, "state.json");
  writeFileSync(state, JSON.stringify({ version: 3, deployment }));
  const script = join(directory, "pulumi");
  const words = 'test "$*" = "stack export --show-secrets --non-interactive --stack dev"';
  const answer = failure === "" ? `cat ${state}` : `echo "error: ${failure}" >&2; exit 255`;
  writeFileSync(script, `#!/bin/sh\n${words} || exit 9\n${answer}\n`);
  chmodSync(script, 0o755);
  return { PATH: `${directory}:${process.env["PATH"] ?? ""}` };
}

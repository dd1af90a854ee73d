/** Stack files in Pulumi's format: `stacks/Pulumi.NAME.yaml`, with a map `config` of keys with a namespace. */
import { type Problem, BadInput, messageOf, problem } from "../../../lib/errors";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isMap, parseDocument } from "yaml";
import { didYouMean } from "../../../lib/did-you-mean";

/** It equals the project's name in Pulumi.yaml. */
export const CONFIG_NAMESPACE = "valkey";

export const EDITOR_LINE = "# yaml-language-server: $schema=schema.json";

const FILE = /^Pulumi\.(.+)\.yaml$/;

/** Names of all stacks that have a stack file in the directory. */
export function stackNames(directory: string): string[] {
  return existsSync(directory)
    ? readdirSync(directory)
        .flatMap((name) => FILE.exec(name)?.[1] ?? [])
        .sort()
    : [];
}

const STUDY = "study-";

/** Names of the studies: a stack file `Pulumi.study-NAME.yaml` is one. */
export function studyNames(directory: string): string[] {
  const stacks = stackNames(directory).filter((name) => name.startsWith(STUDY));
  return stacks.map((name) => name.slice(STUDY.length));
}

/**
 * The configuration of a stack: sections by name, without the namespace. Keys with other namespaces are left out,
 * because they belong to other providers.
 * @throws BadInput when there is no such stack, or its file is not a stack file
 */
export function readStackFile(directory: string, stack: string): Record<string, unknown> {
  const names = stackNames(directory);
  if (!names.includes(stack)) {
    const known = `${didYouMean(stack, names)} Stacks: ${names.join(", ") || "none"}`;
    throw BadInput.of("stack", "no-such-stack", `there is no stack ${stack};${known}`);
  }
  const file = `Pulumi.${stack}.yaml`;
  let text: string;
  try {
    text = readFileSync(join(directory, file), "utf8");
  } catch (error) {
    throw BadInput.of(file, "unreadable", messageOf(error));
  }
  return parseStackFile(file, text);
}

export function headline(directory: string, stack: string): string {
  const lines = readFileSync(join(directory, `Pulumi.${stack}.yaml`), "utf8").split("\n");
  const first = lines.find((line) => line !== EDITOR_LINE) ?? "";
  return /^# *(.+)/.exec(first)?.[1]?.trim() ?? "";
}

/** The configuration in the text of a stack file. Pure. @throws BadInput with every problem */
export function parseStackFile(file: string, text: string): Record<string, unknown> {
  const document = parseDocument(text, { merge: true });
  if (document.errors.length > 0)
    throw new BadInput(
      file,
      document.errors.map((error) =>
        problem("not-yaml", "", error.message.split("\n")[0]?.replace(/:$/, "") ?? "not YAML"),
      ),
    );
  if (!isMap(document.contents) || !isMap(document.get("config")))
    throw BadInput.of(file, "no-config", "expected a map `config:` with keys such as `valkey:platform`");
  const { config } = document.toJS() as { config: Record<string, unknown> };
  const problems: Problem[] = [];
  const own: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    const [namespace = "", ...rest] = key.split(":");
    if (rest.length === 0)
      problems.push(problem("no-namespace", key, `expected a namespace before it, as in ${CONFIG_NAMESPACE}:${key}`));
    else if (namespace === CONFIG_NAMESPACE) own[rest.join(":")] = value;
    else if (didYouMean(namespace, [CONFIG_NAMESPACE]) !== "")
      problems.push(problem("misspelt-namespace", key, `did you mean ${CONFIG_NAMESPACE}:${rest.join(":")}?`));
  }
  if (problems.length > 0) throw new BadInput(file, problems);
  return own;
}

import { containersOf, podsOf } from "./pods";
import { type Rule, propertyAt, entriesAt, listAt, textAt } from "./rule";

const SECRET_NAME = /(pass(word|wd|phrase)?|secret|token|auth|credential|private[_-]?key)$/i;
/** Flags with a password are refused, because a list of processes shows it. A reference to a variable is allowed. */
const SECRET_FLAG = /^(-a|--pass|--requirepass|--masterauth|--primaryauth|--authenticate)$/;
/** A script may take the password from a variable. */
const SECRET_DIRECTIVE = /^\s*(requirepass|masterauth|primaryauth)\s+(?!["']?(\$[({]?\w+[)}]?["']?)?\s*$)/m;
const ACL_PASSWORD = /^\s*user\s+.*\s>(?!["']?\$)\S/m;

const CONFIG_MAPS: ReadonlySet<string> = new Set(["kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:ConfigMapPatch"]);

const isVariable = (text: string): boolean => /^\$[({]?\w+[)}]?$/.test(text);

export const noPlainSecrets: Rule = {
  name: "no-plain-text-secrets",
  description:
    "Passwords come from Secrets, and not from the value of a variable, a command line, a ConfigMap or the values of a chart.",
  check: (resource) => [
    ...podsOf(resource).flatMap(({ spec }) => containersOf(spec).flatMap(inContainer)),
    ...inConfigMap(resource.type, resource.props),
    ...inChart(resource.type, resource.props),
  ],
};

function inContainer(container: unknown): string[] {
  const name = textAt(container, "name") ?? "a container";
  const variables = listAt(container, "env").filter(
    (each) => SECRET_NAME.test(textAt(each, "name") ?? "") && (textAt(each, "value") ?? "") !== "",
  );
  const words = [...listAt(container, "command"), ...listAt(container, "args")].map(String);
  const flags = words.filter(
    (word, index) => SECRET_FLAG.test(word) && words[index + 1] !== undefined && !isVariable(words[index + 1] ?? ""),
  );
  return [
    ...variables.map((each) => `${name}: the value of ${textAt(each, "name") ?? ""} is plain text; use a secretKeyRef`),
    ...flags.map((flag) => `${name}: ${flag} has its value on the command line`),
  ];
}

function inConfigMap(type: string, props: unknown): string[] {
  if (!CONFIG_MAPS.has(type)) return [];
  return entriesAt(props, "data")
    .filter(
      ([key, value]) =>
        SECRET_DIRECTIVE.test(String(value)) ||
        ACL_PASSWORD.test(String(value)) ||
        (SECRET_NAME.test(key) && String(value) !== ""),
    )
    .map(([key]) => `${key} holds a password; use a Secret`);
}

function inChart(type: string, props: unknown): string[] {
  if (!/^kubernetes:helm\.sh\/v[34]:(Chart|Release)$/.test(type)) return [];
  const plain = (value: unknown, path: string): string[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, each]) =>
          typeof each === "string" && each !== "" && /pass(word|wd)$/i.test(key)
            ? [`${path}.${key} is plain text; name an existing Secret`]
            : plain(each, `${path}.${key}`),
        )
      : [];
  return plain(propertyAt(props, "values"), "values");
}

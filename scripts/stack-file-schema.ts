/** The JSON Schema of a stack file, `stacks/Pulumi.NAME.yaml`. */
import { compact } from "../lib/compact";
import { type SchemaNode, isMap, toJsonSchema } from "../lib/schema/json-schema";
import { SECTIONS } from "../stacks/config/schema/stack";
import { CONFIG_NAMESPACE } from "../stacks/config/sections/stack-file";
import { describeFields } from "./described-fields";

/** Keys that Pulumi itself writes to a stack file. */
const PULUMI_KEYS: readonly string[] = ["secretsprovider", "encryptedkey", "encryptionsalt", "environment"];

export function sectionSchemas(): Readonly<Record<keyof typeof SECTIONS, SchemaNode>> {
  describeFields();
  const entries = Object.entries(SECTIONS).map(([name, schema]) => {
    const node = { ...toJsonSchema(schema) };
    delete node.$schema;
    return [name, node];
  });
  return Object.fromEntries(entries) as Record<keyof typeof SECTIONS, SchemaNode>;
}

export function stackFileSchema(): object {
  const sections = Object.entries(sectionSchemas()).map(([name, node]) => [
    `${CONFIG_NAMESPACE}:${name}`,
    withFullDescriptions(node),
  ]);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Stack file",
    description: "Configuration of a stack, in Pulumi's form. Made by npm run docs.",
    type: "object",
    required: ["config"],
    properties: {
      config: {
        type: "object",
        description: "Settings by name. Each name begins with its namespace.",
        required: [`${CONFIG_NAMESPACE}:platform`, `${CONFIG_NAMESPACE}:deployments`],
        properties: Object.fromEntries(sections) as object,
        // Keys with other namespaces belong to other providers, so any value is allowed.
        patternProperties: { [`^(?!${CONFIG_NAMESPACE}:)[^:]+:`]: {} },
        additionalProperties: false,
      },
      ...Object.fromEntries(PULUMI_KEYS.map((key) => [key, { description: "Pulumi keeps this value." }])),
    },
    additionalProperties: false,
  };
}

/** Editors show descriptions, but not this project's own keywords `unit` and `fallback`. */
function withFullDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withFullDescriptions);
  if (!isMap(value)) return value;
  const { description, unit, fallback, ...rest } = value;
  const inner = Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, withFullDescriptions(each)]));
  // A property of the configuration may be named `unit` or `description`. Then the value here is a schema and not a
  // text.
  if (typeof description !== "string") return { ...inner, ...withFullMaps({ description, unit, fallback }) };
  const sentences = compact([
    description,
    typeof unit === "string" ? `Unit: ${unit}.` : undefined,
    typeof fallback === "string" ? `Default: ${fallback}.` : undefined,
  ]);
  return { ...inner, description: sentences.join(" ") };
}

function withFullMaps(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const there = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(there.map(([key, value]) => [key, withFullDescriptions(value)]));
}

/** Generates `components/plugin/schema.json`: the package schema from which Pulumi makes libraries for each language. */
import { compact } from "../../lib/compact";
import { groupBy } from "../../lib/group-by";
import {
  type ComponentModel,
  type ComponentModels,
  type NamedType,
  type Property,
  type Shape,
  type Value,
  camelCase,
  meaning,
} from "./model";
import { PROVIDER } from "../../operations/provider/kinds";
import { description, keywords, license, name as packageName } from "../../package.json";

const LANGUAGES = ["nodejs", "python", "go", "csharp", "java"];

export function packageSchema({ components, types }: ComponentModels): object {
  return {
    name: PROVIDER,
    displayName: "Valkey",
    description,
    license,
    // Pulumi's registry uses the first two keywords to sort packages into kinds and categories.
    keywords: ["kind/component", "category/database", ...keywords],
    language: Object.fromEntries(LANGUAGES.map((each) => [each, { respectSchemaVersion: true }])),
    types: Object.fromEntries([...types].map(([name, type]) => [token(name), typeSpec(type, types)])),
    resources: Object.fromEntries(
      components.map((each) => [token(each.name), resourceSpec(each, { components, types })]),
    ),
  };
}

function token(name: string): string {
  return `${PROVIDER}:index:${name}`;
}

function resourceSpec(component: ComponentModel, { components, types }: ComponentModels): object {
  const { inputs, outputs } = component;
  return {
    isComponent: true,
    description: withExample(component, components),
    inputProperties: properties(inputs, types),
    requiredInputs: required(inputs),
    properties: properties(
      // All values inside an output become known at the same time as the output, so none is plain.
      outputs.map((each) => ({ ...each, isPlain: false })),
      types,
    ),
    required: required(outputs),
  };
}

/** Pulumi's registry shows the example below the description. */
function withExample({ description, example }: ComponentModel, components: ComponentModels["components"]): string {
  const used = components.filter(({ name }) => example.includes(`new ${name}(`));
  const code = [...importsOf(used), "", example].join("\n");
  return `${description}\n\n## Example Usage\n\`\`\`typescript\n${code}\n\`\`\``;
}

function importsOf(used: readonly ComponentModel[]): string[] {
  const entryOf = ({ path }: ComponentModel): string =>
    `${packageName}${path.startsWith("components/eks/") ? "/eks" : ""}`;
  return [...groupBy(used, entryOf)].map(
    ([entry, classes]) => `import { ${classes.map(({ name }) => name).join(", ")} } from "${entry}";`,
  );
}

function typeSpec(type: NamedType, types: ComponentModels["types"]): object {
  const about = type.description === "" ? {} : { description: type.description };
  if (type.kind === "enum") return { type: "string", ...about, enum: type.values.map(enumValue) };
  const { forms } = type;
  const renamed = type.properties.filter(({ name }) => name !== camelCase(name));
  const names = Object.fromEntries(renamed.map(({ name }) => [camelCase(name), name]));
  // Data for this provider itself: it checks forms, and translates names of properties into those in TypeScript.
  const own = { ...(forms === undefined ? {} : { forms }), ...(renamed.length === 0 ? {} : { names }) };
  return {
    type: "object",
    ...about,
    properties: properties(type.properties, types),
    required: required(type.properties),
    ...(Object.keys(own).length === 0 ? {} : { language: { [PROVIDER]: own } }),
  };
}

/** Gives a value of an enum a name, because a value such as `allkeys-lru` cannot be a name in most languages. */
function enumValue(value: string): object {
  const name = camelCase(value);
  return { name: `${name.charAt(0).toUpperCase()}${name.slice(1)}`, value };
}

function properties(all: readonly Property[], types: ComponentModels["types"]): object {
  return Object.fromEntries(
    all.map((each) => [
      camelCase(each.name),
      { ...valueSpec(each), description: words(each, types), ...(each.isSecret ? { secret: true } : {}) },
    ]),
  );
}

function required(all: readonly Property[]): string[] {
  return all.filter(({ isRequired }) => isRequired).map(({ name }) => camelCase(name));
}

function words(property: Property, types: ComponentModels["types"]): string {
  const { standard } = property;
  return compact([meaning(property, types), standard === undefined ? undefined : `Default: ${standard}.`])
    .join(" ")
    .trim();
}

function valueSpec({ shape, isPlain }: Value): object {
  return { ...shapeSpec(shape, isPlain), ...(isPlain ? { plain: true } : {}) };
}

/** @param isPlain whether the value is plain, which then holds for everything inside it */
function shapeSpec(shape: Shape, isPlain = false): object {
  switch (shape.kind) {
    case "any":
      return { $ref: "pulumi.json#/Any" };
    case "list":
      return { type: "array", items: valueSpec(shape.of) };
    case "map":
      // In a plain map, objects are not marked as plain: Pulumi's generator for Go would not declare their type.
      return {
        type: "object",
        additionalProperties:
          isPlain && shape.of.shape.kind === "named" ? shapeSpec(shape.of.shape) : valueSpec(shape.of),
      };
    case "union":
      return { oneOf: shape.of.map((each) => shapeSpec(each)) };
    case "named":
      return { $ref: `#/types/${token(shape.name)}` };
    default:
      return { type: shape.kind };
  }
}

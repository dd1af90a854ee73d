import { z } from "zod";

export type SchemaNode = z.core.JSONSchema.BaseSchema;

export type Path = readonly PropertyKey[];

/** JSON Schemas that have been made: each takes longer to make than an input takes to check. */
const made = new WeakMap<z.ZodType, SchemaNode>();

export function toJsonSchema(schema: z.ZodType): SchemaNode {
  const known = made.get(schema) ?? z.toJSONSchema(schema, { io: "input", target: "draft-7", unrepresentable: "any" });
  made.set(schema, known);
  return known;
}

export function valueAt(input: unknown, path: Path): unknown {
  let value = input;
  for (const key of path) value = isMap(value) || Array.isArray(value) ? Reflect.get(value, key) : undefined;
  return value;
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function alternatives(node: SchemaNode): readonly SchemaNode[] {
  return (node.oneOf ?? node.anyOf ?? []).filter(isNode);
}

export function propertiesOf(node: SchemaNode): Readonly<Record<string, SchemaNode>> {
  return Object.fromEntries(
    Object.entries(node.properties ?? {}).flatMap(([key, value]) => (isNode(value) ? [[key, value]] : [])),
  );
}

/** In a union, the alternative whose constants match the input, or the only map. Else undefined */
export function nodeAt(node: SchemaNode, path: Path, input: unknown): SchemaNode | undefined {
  const chosen = alternatives(node).find((each) => matchesConstants(each, input)) ?? onlyMap(node, input) ?? node;
  const [key, ...rest] = path;
  if (key === undefined) return chosen;
  const child = childOf(chosen, key);
  return child === undefined ? undefined : nodeAt(child, rest, valueAt(input, [key]));
}

/** The values that a node accepts, as a noun phrase: `a whole number from 1 to 100`. */
export function expectation(node: SchemaNode): string {
  const several = alternatives(node);
  if (several.length > 0) return [...new Set(several.map(expectation))].join(" or ");
  if (node.const !== undefined) return String(node.const);
  if (node.enum !== undefined) return `one of ${node.enum.map(String).join(", ")}`;
  switch (node.type) {
    case "integer":
      return `a whole number${boundsOf(node)}`;
    case "number":
      return `a number${boundsOf(node)}`;
    case "boolean":
      return "true or false";
    case "array":
      return node.minItems === undefined ? "a list" : `a list with at least ${node.minItems}`;
    case "object":
      return "a map";
    case "string":
      return node.format === "uri" ? "a URL" : "a text";
    default:
      return "a different value";
  }
}

function boundsOf({ minimum, exclusiveMinimum, maximum }: SchemaNode): string {
  const isSet = (bound: unknown): bound is number =>
    typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  const low = isSet(exclusiveMinimum) ? ` above ${exclusiveMinimum}` : isSet(minimum) ? ` from ${minimum}` : "";
  if (!isSet(maximum)) return isSet(minimum) && low !== "" ? ` of at least ${minimum}` : low;
  return low === "" ? ` up to ${maximum}` : `${low} ${low.startsWith(" from") ? "to" : "and at most"} ${maximum}`;
}

function childOf(node: SchemaNode, key: PropertyKey): SchemaNode | undefined {
  const named = propertiesOf(node)[String(key)];
  if (named !== undefined) return named;
  const child = typeof key === "number" ? node.items : node.additionalProperties;
  return isNode(child) ? child : undefined;
}

function onlyMap(node: SchemaNode, input: unknown): SchemaNode | undefined {
  const maps = alternatives(node).filter(({ type }) => type === "object");
  return isMap(input) && maps.length === 1 ? maps[0] : undefined;
}

function matchesConstants(node: SchemaNode, input: unknown): boolean {
  if (!isMap(input)) return false;
  const required = node.required ?? [];
  const constants = Object.entries(propertiesOf(node)).filter(([, { const: value }]) => value !== undefined);
  return (
    constants.length > 0 &&
    constants.every(([key, { const: value }]) => (key in input ? input[key] === value : !required.includes(key)))
  );
}

function isNode(value: unknown): value is SchemaNode {
  return isMap(value);
}

/** The JSON Schema of a stack file, `stacks/Pulumi.NAME.yaml`. */
import ts from "typescript";
import * as z from "zod";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { compact } from "../lib/compact";
import { type SchemaNode, isMap, toJsonSchema } from "../lib/schema/json-schema";
import { SECTIONS } from "../stacks/config/schema/stack";
import { CONFIG_NAMESPACE } from "../stacks/config/sections/stack-file";
import { ROOT } from "../lib/system/package";

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

/** Limits of a group of fields that its own texts do not repeat. */
const LIMITS: Readonly<Record<string, string>> = {
  VALKEY_FIELDS: " Only for Valkey on the platforms `kubernetes` and `eks`.",
  RESTORE_POD_FIELDS: " Only on the platforms `kubernetes` and `eks`.",
};

/** A JSON Schema that was made before this has no descriptions. */
function describeFields(): void {
  new SchemaFile(join(ROOT, "stacks/config/schema/stack")).describeNamed("SECTIONS", SECTIONS);
}

/** A file that declares schemas. Its expressions and their values are read side by side. */
class SchemaFile {
  /** Initializers of constants, and the results of functions, by name. */
  readonly #declared = new Map<string, ts.Node | undefined>();
  /** Paths of files, by the names that are imported from them. */
  readonly #imported = new Map<string, string>();

  constructor(path: string) {
    const text = readFileSync(`${path}.ts`, "utf8");
    for (const each of ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true).statements)
      if (ts.isFunctionDeclaration(each))
        this.#declared.set(each.name?.text ?? "", each.body?.statements.find(ts.isReturnStatement)?.expression);
      else if (ts.isVariableStatement(each))
        for (const { name, initializer } of each.declarationList.declarations)
          this.#declared.set(name.getText(), initializer);
      else if (ts.isImportDeclaration(each) && ts.isStringLiteral(each.moduleSpecifier)) {
        const bindings = each.importClause?.namedBindings;
        if (bindings === undefined || !ts.isNamedImports(bindings)) continue;
        for (const { name } of bindings.elements)
          this.#imported.set(name.text, join(dirname(path), each.moduleSpecifier.text));
      }
  }

  describeNamed(name: string, value: unknown): void {
    const from = this.#imported.get(name);
    if (from === undefined) this.#describe(this.#declared.get(name), value, LIMITS[name]);
    else new SchemaFile(from).describeNamed(name, value);
  }

  /** @param value the value of the expression: a schema, or schemas by name or in a list */
  #describe(node: ts.Node | undefined, value: unknown, limits = ""): void {
    if (node === undefined || typeof value !== "object" || value === null) return;
    if (ts.isIdentifier(node)) this.describeNamed(node.text, value);
    else if (ts.isObjectLiteralExpression(node))
      for (const property of node.properties) this.#property(property, value, limits);
    else if (ts.isArrayLiteralExpression(node))
      for (const [index, each] of node.elements.entries()) this.#describe(each, Reflect.get(value, index));
    else if (ts.isAsExpression(node)) this.#describe(node.expression, value, limits);
    else if (ts.isArrowFunction(node)) this.#describe(node.body, value);
    else if (ts.isCallExpression(node)) this.#call(node, value);
  }

  #property(property: ts.ObjectLiteralElementLike, fields: object, limits: string): void {
    if (ts.isSpreadAssignment(property)) {
      this.#describe(property.expression, fields);
      return;
    }
    const schema: unknown = Reflect.get(fields, property.name.getText().replaceAll('"', ""));
    if (schema instanceof z.ZodType) register(schema, property, limits);
    this.#describe(ts.isPropertyAssignment(property) ? property.initializer : property.name, schema);
  }

  /** A call of zod, of a method of a schema or of a list, or of a function that is declared here. */
  #call({ expression: callee, arguments: [first, second] }: ts.CallExpression, value: object): void {
    if (ts.isIdentifier(callee)) this.#describe(this.#declared.has(callee.text) ? callee : first, value);
    else if (!ts.isPropertyAccessExpression(callee)) return;
    else if (callee.name.text === "map" && Array.isArray(value)) for (const each of value) this.#describe(first, each);
    else if (callee.expression.getText() !== "z") this.#describe(callee.expression, value);
    else this.#describe(second ?? first, innerValue(value));
  }
}

/** Value of the last argument with which zod made a schema. */
function innerValue(schema: unknown): unknown {
  if (schema instanceof z.ZodObject) return schema.shape;
  if (schema instanceof z.ZodArray) return schema.element;
  if (schema instanceof z.ZodRecord) return schema.valueType;
  if (schema instanceof z.ZodUnion) return schema.options;
  if (schema instanceof z.ZodPipe) return innerValue(schema.in);
  const isWrapped =
    schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault;
  return isWrapped ? innerValue(schema.unwrap()) : undefined;
}

const described = new Map<z.ZodType, string>();

/** @throws Error if the schema is that of another field with a different docstring */
function register(schema: z.ZodType, property: ts.Node, limits: string): void {
  const [docs] = ts.getJSDocCommentsAndTags(property).filter(ts.isJSDoc);
  if (docs === undefined) return;
  const tag = (name: string): string | undefined => {
    const found = ts.getJSDocTags(property).find(({ tagName }) => tagName.text === name);
    return found && plain(found.comment);
  };
  const unit = tag("unit");
  // A default of the schema is shown as it is.
  const fallback = schema instanceof z.ZodDefault ? undefined : tag("default");
  const texts = {
    description: plain(docs.comment) + limits,
    ...(unit !== undefined && { unit }),
    ...(fallback !== undefined && { fallback: fallback.replace(/^`[A-Z_]+_IMAGE`$/, "a pinned image") }),
  };
  const text = JSON.stringify(texts);
  if ((described.get(schema) ?? text) !== text) throw new Error(`one schema, two docstrings: ${property.getText()}`);
  described.set(schema, text);
  schema.register(z.globalRegistry, texts);
}

function plain(comment: string | ts.NodeArray<ts.JSDocComment> | undefined): string {
  return (ts.getTextOfJSDocComment(comment) ?? "").replace(/\s+/g, " ").trim();
}

/** Generates `docs/configuration.md`: every option of the configuration, from the schema. */
import { compact } from "../lib/compact";
import { type SchemaNode, alternatives, expectation, isMap, propertiesOf } from "../lib/schema/json-schema";
import { CONFIG_NAMESPACE } from "../stacks/config/sections/stack-file";
import { sectionSchemas } from "./stack-file-schema";

const INTRODUCTION = `# Configuration

<!-- Made by npm run docs from stacks/config/schema. Change it there. -->

A stack is a file, \`stacks/Pulumi.NAME.yaml\`. Its \`config\` map holds the sections below, each under \`${CONFIG_NAMESPACE}:SECTION\`.
\`platform\` and \`deployments\` are required. The first line of each file names \`stacks/schema.json\`, so editors complete
and check the settings.

\`npm start\` and \`pulumi up\` report every problem of a file at once, each with its path. \`npm start -- plan STACK --set PATH=VALUE\`
shows what a changed value would do.
`;

interface Row {
  readonly key: string;
  readonly node: SchemaNode;
  readonly isRequired: boolean;
  /** Variants of the section that have the option; empty if all have it. */
  readonly of: readonly string[];
  /** For an option in a map with variants: titles of those that have the option; otherwise empty. */
  readonly within: readonly string[];
}

export function configurationReference(): string {
  const sections = Object.entries(sectionSchemas()).map(([name, node]) => section(name, node));
  return [INTRODUCTION, ...sections].join("\n");
}

function section(name: string, node: SchemaNode): string {
  const inner = isMap(node.additionalProperties) ? node.additionalProperties : node;
  const prefix = inner === node ? "" : "NAME.";
  const heading = `## ${name}\n\n${node.description ?? ""}\n`;
  const forms = alternatives(inner).map(({ title = "", description = "" }) => `- \`${title}\`: ${description}\n`);
  return compact([heading, forms.length > 0 ? forms.join("") : undefined, ...tables(rowsOf(inner, prefix))]).join("\n");
}

/** One table for the options of all variants, and one for each combination of variants. */
function tables(rows: readonly Row[]): string[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const title = row.of.map((each) => `\`${each}\``).join(", ");
    groups.set(title, [...(groups.get(title) ?? []), row]);
  }
  return [...groups].map(([title, group]) => {
    const heading = title === "" ? "" : `Settings of ${title}:\n\n`;
    return `${heading}| setting | meaning | values | default |\n|---|---|---|---|\n${group.map(line).join("")}`;
  });
}

function line({ key, node, isRequired, within }: Row): string {
  const unit = unitOf(node);
  const forms = within.length === 0 ? "" : ` (${within.join(", ")})`;
  const cells = [`\`${key}\`${forms}`, node.description ?? "", `${values(node)}${unit}`, defaultOf(node, isRequired)];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
}

function unitOf(node: SchemaNode): string {
  const { unit } = node;
  if (typeof unit !== "string") return "";
  // After a list of values, a comma would make the unit look like one of them.
  return node.enum === undefined ? `, ${unit}` : ` (${unit})`;
}

function values(node: SchemaNode): string {
  const item = node.items;
  const isList = node.type === "array" && isMap(item);
  const text = expectation(isList ? item : node).replace(/^(an?|one of) /, "");
  return isList ? `list: ${text}` : text;
}

function defaultOf(node: SchemaNode, isRequired: boolean): string {
  if (isRequired) return "**required**";
  if (typeof node["fallback"] === "string") return node["fallback"];
  // If a map is absent, the defaults of its options apply, and the table shows those.
  const isEmptyMap = isMap(node.default) && Object.keys(node.default).length === 0;
  return node.default === undefined || isEmptyMap ? "" : `\`${JSON.stringify(node.default)}\``;
}

type Constant = NonNullable<SchemaNode["const"]> | null;

/** In a section with named entries, the options of one entry. */
function rowsOf(node: SchemaNode, prefix: string): Row[] {
  return mergedRows(node, prefix).map(({ row, titles }) => ({ ...row, of: titles }));
}

function innerRowsOf(node: SchemaNode, prefix: string): Row[] {
  return mergedRows(node, prefix).map(({ row, titles }) => ({ ...row, within: [...titles, ...row.within] }));
}

/** An option of several variants gets one line with their titles, and no titles if all have it. */
function mergedRows(node: SchemaNode, prefix: string): { readonly row: Row; readonly titles: readonly string[] }[] {
  const forms = alternatives(node).filter(({ type }) => type === "object");
  if (forms.length === 0) return propertyRows(node, prefix).map((row) => ({ row, titles: [] }));
  const merged = new Map<string, { readonly row: Row; readonly titles: string[]; readonly constants: Constant[] }>();
  for (const form of forms) {
    for (const row of propertyRows(form, prefix)) {
      // A discriminator has a different constant in each form, and may be optional in some, so only its name is
      // compared.
      const identity = row.node.const === undefined ? JSON.stringify(row) : `constant ${row.key}`;
      const same = merged.get(identity);
      const entry = same ?? { row, titles: [], constants: [] };
      entry.titles.push(form.title ?? "");
      if (row.node.const !== undefined) entry.constants.push(row.node.const);
      merged.set(identity, entry);
    }
  }
  return [...merged.values()].map(({ row, titles, constants }) => ({
    row: row.node.const === undefined ? row : { ...row, node: withConstants(row.node, constants) },
    titles: titles.length === forms.length ? [] : titles,
  }));
}

function withConstants(node: SchemaNode, constants: readonly Constant[]): SchemaNode {
  const merged = { ...node, enum: [...new Set(constants)] };
  delete merged.const;
  return merged;
}

function propertyRows(node: SchemaNode, prefix: string): Row[] {
  const required = node.required ?? [];
  return Object.entries(propertiesOf(node)).flatMap(([name, child]) => {
    const key = `${prefix}${name}`;
    return [{ key, node: child, isRequired: required.includes(name), of: [], within: [] }, ...innerRows(child, key)];
  });
}

function innerRows(child: SchemaNode, key: string): Row[] {
  const { items, additionalProperties } = child;
  if (isMap(items)) return innerRowsOf(items, `${key}[].`);
  const own = innerRowsOf(child, `${key}.`);
  if (!isMap(additionalProperties)) return own;
  if (own.length === 0) return innerRowsOf(additionalProperties, `${key}.NAME.`);
  // In addition to its own options the map may have any directives.
  return [...own, { key: `${key}.DIRECTIVE`, node: additionalProperties, isRequired: false, of: [], within: [] }];
}

/** Generates `docs/components.md`: each component with its arguments, its outputs and an example. */
import { compact } from "../../lib/compact";
import type { ComponentModel, ComponentModels, NamedType, Property, Shape, Value } from "./model";
import { meaning, reachable } from "./model";

const INTRODUCTION = `# Components

<!-- Made by npm run docs from components/plugin/components.ts and the classes that it lists. Change it there. -->

Programs in TypeScript import the classes from this package. Programs in every Pulumi language get them with
\`pulumi package add PATH/components/plugin\`. PATH is the path of a copy of this repository, or of the installed package.
The folder \`examples/\` of the repository has a program in each language, a program for a test (\`automation-api\`), and a program for an
existing EKS cluster.

An argument of the type \`Input\` may come from another resource. Every other argument must be known while the program runs,
because it decides which objects exist. \`pulumi preview\` reports all wrong arguments at once, each with its path. This page uses the names of
TypeScript. Other languages have their own form of them: \`timeoutSeconds\` is \`timeout_seconds\` in Python. Directives under \`settings\` have
Valkey's names in every language.

Some arguments take a component, such as a target of \`BenchmarkJob\`. A program in TypeScript gives the component itself. Other languages give
its outputs: \`{ reference: \${orders.reference}, password: \${orders.password}, formationMs: \${orders.formationMs} }\` in YAML. Programs
only pass a \`reference\` on, and do not read it.
`;

export function componentReference({ components, types }: ComponentModels): string {
  const taken = reachable(
    components.flatMap(({ inputs }) => inputs),
    types,
  );
  const given = new Set([...types.keys()].filter((name) => !taken.has(name)));
  const sections = (names: ReadonlySet<string>, tableOf: typeof argumentTable): string[] =>
    [...types].flatMap(([name, type]) =>
      type.kind === "object" && names.has(name) ? [typeSection(name, type, tableOf(type.properties, types))] : [],
    );
  return [
    INTRODUCTION,
    ...components.map((each) => componentSection(each, types)),
    "## Types of arguments\n",
    ...sections(taken, argumentTable),
    "## Types of outputs\n",
    ...sections(given, outputTable),
  ].join("\n");
}

function componentSection(
  { name, description, example, path, inputs, outputs }: ComponentModel,
  types: ComponentModels["types"],
): string {
  return [
    `## ${name}\n`,
    `${description} Declared in \`${path}\`.\n`,
    `\`\`\`typescript\n${example}\n\`\`\`\n`,
    argumentTable(inputs, types),
    outputTable(outputs, types),
  ].join("\n");
}

function typeSection(name: string, { description, forms }: NamedType & { kind: "object" }, table: string): string {
  const about = description === "" ? [] : [`${description}\n`];
  const lines = Object.entries(forms?.of ?? {}).map(([form, { required, optional }]) => {
    const names = [...required, ...optional.map((each) => `${each} (optional)`)].map((each) => `\`${each}\``);
    return `- \`${forms?.by ?? ""}: "${form}"\` has ${names.join(", ") || "nothing else"}\n`;
  });
  return compact([`### ${name}\n`, ...about, lines.length === 0 ? undefined : lines.join(""), table]).join("\n");
}

function argumentTable(properties: readonly Property[], types: ComponentModels["types"]): string {
  const rows = properties.map((each) => {
    const standard = each.isRequired ? "**required**" : (each.standard ?? "");
    const type = each.isPlain ? typeOf(each, types) : `Input of ${typeOf(each, types)}`;
    return row([`\`${each.name}\``, type, standard, meaning(each, types)]);
  });
  return `| argument | type | default | meaning |\n|---|---|---|---|\n${rows.join("")}`;
}

function outputTable(properties: readonly Property[], types: ComponentModels["types"]): string {
  const rows = properties.map((each) => {
    const type = `${typeOf(each, types)}${each.isRequired ? "" : " or nothing"}`;
    return row([`\`${each.name}\``, type, meaning(each, types)]);
  });
  return `| output | type | meaning |\n|---|---|---|\n${rows.join("")}`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((each) => each.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |\n`;
}

function typeOf({ shape }: Value, types: ComponentModels["types"]): string {
  switch (shape.kind) {
    case "list":
      return `list of ${typeOf(shape.of, types)}`;
    case "map":
      return `map of ${typeOf(shape.of, types)}`;
    case "union":
      return shape.of.map((each: Shape) => typeOf({ shape: each, isPlain: true }, types)).join(" or ");
    case "named": {
      const type = types.get(shape.name);
      return type?.kind === "enum"
        ? type.values.map((value) => `\`"${value}"\``).join(", ")
        : `[${shape.name}](#${shape.name.toLowerCase()})`;
    }
    default:
      return shape.kind;
  }
}

/**
 * `npm run docs`: generates files from the program itself: the JSON Schema of stack files, the schema of the
 * components, the reference pages, and the drawing of the architecture.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildProgram } from "../cli/program";
import { ROOT } from "../lib/system/package";
import { architectureSvg } from "./architecture";
import { commandReference } from "./command-reference";
import { componentReference } from "./components/component-reference";
import { packageSchema } from "./components/package-schema";
import { readComponents } from "./components/read-components";
import { configurationReference } from "./configuration-reference";
import { stackFileSchema } from "./stack-file-schema";

/** Texts of all files that this script writes, by path in the repository. */
export function generatedFiles(): Readonly<Record<string, string>> {
  const components = readComponents();
  return {
    "plugin/schema.json": `${JSON.stringify(packageSchema(components), null, 1)}\n`,
    "docs/components.md": componentReference(components),
    "stacks/schema.json": `${JSON.stringify(stackFileSchema(), null, 1)}\n`,
    "docs/configuration.md": configurationReference(),
    "docs/architecture.svg": architectureSvg(),
    "docs/cli.md": commandReference(buildProgram(new AbortController().signal, () => undefined)),
  };
}

/** Writes the generated files. */
export function writeGeneratedFiles(): void {
  for (const [path, text] of Object.entries(generatedFiles())) {
    writeFileSync(join(ROOT, path), text);
    process.stdout.write(`${path}\n`);
  }
}

if (require.main === module) writeGeneratedFiles();

/**
 * Types and lint over one program: reading a million lines of declarations twice would take longer than either.
 * Prints what is wrong; exit status 1 when something is.
 */
import { join, resolve } from "node:path";
import { ESLint } from "eslint";
import ts from "typescript";
import { messageOf } from "../lib/errors";
import { printError, print } from "../cli/terminal";

const ROOT = resolve(__dirname, "..");
const HOST: ts.FormatDiagnosticsHost = {
  getCurrentDirectory: () => ROOT,
  getCanonicalFileName: (name) => name,
  getNewLine: () => "\n",
};

function programOf(file: string): ts.Program {
  const problems: ts.Diagnostic[] = [];
  const parsed = ts.getParsedCommandLineOfConfigFile(file, undefined, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (problem) => problems.push(problem),
  });
  if (parsed === undefined) throw new Error(ts.formatDiagnostics(problems, HOST));
  return ts.createProgram({
    rootNames: parsed.fileNames,
    options: parsed.options,
    configFileParsingDiagnostics: parsed.errors,
  });
}

async function main(): Promise<number> {
  const program = programOf(join(ROOT, "tsconfig.json"));
  const problems = ts.getPreEmitDiagnostics(program);
  print(problems.length === 0 ? "types ✓" : ts.formatDiagnosticsWithColorAndContext(problems, HOST));
  const eslint = new ESLint({
    cwd: ROOT,
    overrideConfig: { languageOptions: { parserOptions: { projectService: false, programs: [program] } } },
  });
  const results = await eslint.lintFiles(["."]);
  const [stylish, found] = [
    await eslint.loadFormatter(),
    results.some(({ errorCount, warningCount }) => errorCount + warningCount > 0),
  ];
  print(found ? await stylish.format(results) : "lint ✓");
  return problems.length > 0 || found ? 1 : 0;
}

void main().then(
  (status) => process.exit(status),
  (error: unknown) => {
    printError(messageOf(error));
    process.exit(1);
  },
);

/**
 * Types, lint, order of rooms and format. Types and lint share one program: reading a million lines of declarations
 * twice takes longer than either. Prints the problems; exit status 1 when there are any.
 */
import { execFile } from "node:child_process";
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

/** Files that have not changed since they were found to be well formatted are not read again. */
const PRETTIER_CACHE = ["--cache", "--cache-location", ".cache/prettier", "--cache-strategy", "content"];

/** Programs of node_modules/.bin that check the whole checkout, with the arguments of `npm run lint`. */
const CHECKERS = [
  { title: "order of rooms", program: "depcruise", args: ["--config", ".dependency-cruiser.cjs", "."] },
  { title: "format", program: "prettier", args: ["--check", "--log-level", "warn", ...PRETTIER_CACHE, "."] },
] as const;

/** @returns what the program prints when it finds problems; undefined when it finds none */
function problemsFoundBy(program: string, args: readonly string[]): Promise<string | undefined> {
  const path = join(ROOT, "node_modules", ".bin", program);
  return new Promise((done) => {
    execFile(path, args, { cwd: ROOT, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      done(error === null ? undefined : `${error.message}\n${stdout}${stderr}`);
    });
  });
}

async function typesAndLint(): Promise<boolean> {
  const program = programOf(join(ROOT, "tsconfig.json"));
  const problems = ts.getPreEmitDiagnostics(program);
  print(problems.length === 0 ? "types ✓" : ts.formatDiagnosticsWithColorAndContext(problems, HOST));
  const eslint = new ESLint({
    cwd: ROOT,
    overrideConfig: { languageOptions: { parserOptions: { projectService: false, programs: [program] } } },
  });
  const results = await eslint.lintFiles(["."]);
  const found = results.some(({ errorCount, warningCount }) => errorCount + warningCount > 0);
  const stylish = await eslint.loadFormatter();
  print(found ? await stylish.format(results) : "lint ✓");
  return problems.length === 0 && !found;
}

async function main(): Promise<number> {
  const passes = [await typesAndLint()];
  for (const { title, program, args } of CHECKERS) {
    const problems = await problemsFoundBy(program, args);
    print(problems ?? `${title} ✓`);
    passes.push(problems === undefined);
  }
  return passes.every((pass) => pass) ? 0 : 1;
}

void main().then(
  (status) => process.exit(status),
  (error: unknown) => {
    printError(messageOf(error));
    process.exit(1);
  },
);

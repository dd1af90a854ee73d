/** Reads the components that `components/plugin/components.ts` lists, with TypeScript's compiler. */
import { join, relative } from "node:path";
import ts from "typescript";
import { compact } from "../../lib/compact";
import { Failure } from "../../lib/errors";
import { ROOT } from "../../lib/system/package";
import { type ComponentModel, type ComponentModels, type Property, meaning, reachable } from "./model";
import { innerType, TypeReader } from "./type-reader";

const LIST = join(ROOT, "components/plugin/components.ts");

/** @throws Failure that names declarations without a description, or that other languages cannot express */
export function readComponents(): ComponentModels {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const program = ts.createProgram({ rootNames: [LIST], options });
  const checker = program.getTypeChecker();
  const reader = new TypeReader(checker, (name) => constantText(program, name));
  const list = program.getSourceFile(LIST);
  const declaration = list === undefined ? undefined : variable(list, "COMPONENTS");
  if (declaration === undefined) throw new Failure(`${LIST} declares no COMPONENTS`);
  const listed = checker.getTypeAtLocation(declaration).getProperties();
  const components = listed.map((symbol) => readComponent(checker, reader, symbol));
  const used = reachable(
    components.flatMap(({ inputs, outputs }) => [...inputs, ...outputs]),
    reader.types,
  );
  const models = { components, types: new Map([...reader.types].filter(([name]) => used.has(name))) };
  const problems = [...reader.problems, ...withoutDescription(models)];
  if (problems.length > 0)
    throw new Failure(`components/plugin/components.ts:\n${problems.map((each) => `  - ${each}`).join("\n")}`);
  return models;
}

/** @param symbol an entry of COMPONENTS in components/plugin/components.ts: a function that loads the class */
function readComponent(checker: ts.TypeChecker, reader: TypeReader, symbol: ts.Symbol): ComponentModel {
  const { name } = symbol;
  const loaded = checker.getTypeOfSymbol(symbol).getCallSignatures()[0]?.getReturnType();
  const constructor = (loaded === undefined ? undefined : checker.getAwaitedType(loaded))?.getConstructSignatures()[0];
  const args = constructor?.parameters[1];
  const instance = constructor?.getReturnType();
  const declaration = instance?.getSymbol()?.valueDeclaration;
  if (constructor === undefined || args === undefined || instance === undefined || declaration === undefined)
    throw new Failure(
      `components/plugin/components.ts: ${name} loads no class whose constructor takes a name and arguments`,
    );
  const outputs = instance.getProperties().filter((each) => isOutput(checker, each));
  const example = instance
    .getSymbol()
    ?.getJsDocTags(checker)
    .find((tag) => tag.name === "example");
  return {
    name,
    description: reader.description(instance.getSymbol()),
    example: ts.displayPartsToString(example?.text ? [...example.text] : []).trim(),
    path: relative(ROOT, declaration.getSourceFile().fileName),
    inputs: reader.properties(checker.getTypeOfSymbol(args), name),
    outputs: outputs.map((each) => reader.property(each, name)),
  };
}

/** Whether a property is an output of the component: it is public, declared by this project, and an `Output`. */
function isOutput(checker: ts.TypeChecker, symbol: ts.Symbol): boolean {
  const [declaration] = symbol.declarations ?? [];
  if (declaration === undefined || declaration.getSourceFile().fileName.includes("/node_modules/")) return false;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  if ((ts.getCombinedModifierFlags(declaration) & hidden) !== 0) return false;
  const type = checker.getTypeOfSymbol(symbol);
  return innerType(type, checker) !== type;
}

function constantText(program: ts.Program, name: string): string | undefined {
  for (const file of program.getSourceFiles()) {
    if (file.fileName.includes("/node_modules/")) continue;
    const value = variable(file, name)?.initializer;
    if (value !== undefined) return value.getText(file).replace(/\s+/g, " ").replace(/, }$/, " }");
  }
  return undefined;
}

function variable(file: ts.SourceFile, name: string): ts.VariableDeclaration | undefined {
  return file.statements
    .flatMap((each) => (ts.isVariableStatement(each) ? each.declarationList.declarations : []))
    .find((each) => each.name.getText(file) === name);
}

function withoutDescription({ components, types }: ComponentModels): string[] {
  const undescribed = (owner: string, properties: readonly Property[]): string[] =>
    properties.filter((each) => meaning(each, types) === "").map(({ name }) => `${owner}.${name}: has no description`);
  return components.flatMap(({ name, description, example, inputs, outputs }) =>
    compact([
      description === "" ? `${name}: has no description` : undefined,
      example === "" ? `${name}: has no @example` : undefined,
      ...undescribed(name, inputs),
      ...undescribed(name, outputs),
    ]),
  );
}

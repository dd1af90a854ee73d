/** The examples in all languages, held against the schema of the components. The compiler checks those in TypeScript. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ROOT } from "../../lib/system/package";
import { checkedArguments, readPackageSchema } from "../../components/plugin/component-provider";

const EXAMPLES = join(ROOT, "examples");
const schema = readPackageSchema();

interface Project {
  readonly runtime: string | { readonly name: string };
  readonly plugins?: { readonly providers: readonly { readonly name: string; readonly path: string }[] };
  readonly packages?: Readonly<Record<string, string>>;
  readonly config?: Readonly<Record<string, { readonly type: string }>>;
  readonly resources?: Readonly<Record<string, { readonly type: string; readonly properties: pulumi.Inputs }>>;
  readonly outputs?: Readonly<Record<string, string>>;
}

function projectOf(example: string): Project {
  return parse(readFileSync(join(EXAMPLES, example, "Pulumi.yaml"), "utf8")) as Project;
}

/** Whether a program of this machine runs. */
function has(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** @throws BadInput for arguments that the component does not take */
async function check(type: string, args: pulumi.Inputs): Promise<void> {
  const spec = schema.resources[type];
  if (spec === undefined) throw new Error(`there is no ${type}`);
  await checkedArguments(schema, spec, args);
}

/** The names of a path such as `topology.verdict.pass`, as the schema continues each: undefined where one is unknown. */
function outputAt(type: string, path: readonly string[]): unknown {
  let properties: Readonly<Record<string, { readonly $ref?: string }>> = schema.resources[type]?.properties ?? {};
  let found: { readonly $ref?: string } | undefined;
  for (const name of path) {
    found = properties[name];
    properties = schema.types[found?.$ref?.replace("#/types/", "") ?? ""]?.properties ?? {};
  }
  return found;
}

describe("every example", () => {
  it.each(readdirSync(EXAMPLES).filter((each) => existsSync(join(EXAMPLES, each, "Pulumi.yaml"))))(
    "names the provider by its path: %s",
    (example) => {
      const { plugins, packages } = projectOf(example);
      const path = plugins?.providers.find(({ name }) => name === "valkey")?.path ?? packages?.["valkey"];
      expect(["../../components/plugin", "node_modules/valkey-measured/components/plugin"]).toContain(path);
    },
  );
});

describe("the example in YAML", () => {
  const { config = {}, resources = {}, outputs = {} } = projectOf("yaml");
  const SAMPLES: Readonly<Record<string, unknown>> = { string: "text", array: ["a", "b", "c"] };
  /** `${NAME}` as a value of its type in the configuration. */
  const filled = (value: unknown): unknown => {
    const reference = typeof value === "string" ? /^\$\{(\w+)\}$/.exec(value)?.[1] : undefined;
    if (reference !== undefined) return SAMPLES[config[reference]?.type ?? ""];
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each)]));
  };

  it("gives components what they take", async () => {
    expect(Object.keys(resources)).not.toEqual([]);
    for (const { type, properties } of Object.values(resources))
      await check(type.replace(":", ":index:"), filled(properties) as pulumi.Inputs);
  });

  it("takes outputs that components have", () => {
    const types = Object.fromEntries(
      Object.entries(resources).map(([name, { type }]) => [name, type.replace(":", ":index:")]),
    );
    for (const output of Object.values(outputs)) {
      const [name = "", ...path] = output.slice(2, -1).split(".");
      expect(outputAt(types[name] ?? "", path), output).toBeDefined();
    }
  });
});

describe.skipIf(!has("python3", "--version"))(
  `the example in Python${has("python3", "--version") ? "" : " (skipped: no python3)"}`,
  () => {
    it("gives components what they take", async () => {
      const program = join(EXAMPLES, "python", "__main__.py");
      const text = execFileSync("python3", [join(__dirname, "arguments.py"), program], { encoding: "utf8" });
      const calls = JSON.parse(text, (_key, value: unknown) =>
        typeof value === "object" && value !== null && "expression" in value ? pulumi.output(["a", "b", "c"]) : value,
      ) as Readonly<Record<string, pulumi.Inputs>>;
      expect(Object.keys(calls)).not.toEqual([]);
      for (const [name, args] of Object.entries(calls)) await check(`valkey:index:${name}`, args);
    });
  },
);

describe.skipIf(!has("go", "version"))(`the example in Go${has("go", "version") ? "" : " (skipped: no go)"}`, () => {
  it("is formatted, so it parses", () => {
    expect(execFileSync("gofmt", ["-l", join(EXAMPLES, "go")], { encoding: "utf8" })).toBe("");
  });

  it("names arguments that the component has", () => {
    const program = readFileSync(join(EXAMPLES, "go", "main.go"), "utf8");
    const inputs = Object.keys(schema.resources["valkey:index:ValkeyCluster"]?.inputProperties ?? {});
    const used = [...program.matchAll(/^\t\t\t(\w+): /gm)].map(
      ([, name = ""]) => `${name.charAt(0).toLowerCase()}${name.slice(1)}`,
    );
    expect(used).not.toEqual([]);
    expect(used.filter((name) => !inputs.includes(name))).toEqual([]);
  });
});

it("of a unit test with Pulumi's mocks, in docs/package.md, runs as it stands", () => {
  const [, recipe = ""] =
    /\*\*Unit tests\.\*\*[\s\S]*?```typescript\n([\s\S]*?)```/.exec(
      readFileSync(join(ROOT, "docs/package.md"), "utf8"),
    ) ?? [];
  const program = recipe
    .replace("valkey-measured", "./exports/components.ts")
    .replaceAll(/^import (?:\* as )?(.*) from (.*);$/gm, "const $1 = require($2);");
  const args = ["--import", "tsx", "--input-type=commonjs", "--eval", program];
  expect(execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" })).toContain("about 7 s\n");
});

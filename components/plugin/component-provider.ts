import type * as provider from "@pulumi/pulumi/provider";
import * as pulumi from "@pulumi/pulumi";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ValkeyProvider } from "../../operations/provider/valkey-provider";
import { loadComponent } from "./components";
import { type Problem, BadInput, problem } from "../../lib/errors";
import { didYouMean } from "../../lib/did-you-mean";
import { ROOT } from "../../lib/system/package";

export class ComponentProvider extends ValkeyProvider {
  readonly getSchema = (): Promise<string> =>
    Promise.resolve(JSON.stringify({ ...readPackageSchema(), version: this.version }));

  readonly construct = async (
    name: string,
    type: string,
    inputs: pulumi.Inputs,
    options: pulumi.ComponentResourceOptions,
  ): Promise<provider.ConstructResult> => {
    const schema = readPackageSchema();
    const spec = schema.resources[type];
    const Component = await loadComponent(type.split(":").at(-1) ?? "");
    if (spec === undefined || Component === undefined)
      throw new Error(`there is no component ${type}; components: ${Object.keys(schema.resources).join(", ")}`);
    // The check throws BadInput and not InputPropertiesError, because Pulumi prints the values of the properties that
    // an InputPropertiesError names, even secrets.
    const args = await checkedArguments(schema, spec, inputs);
    const component = new Component(name, args as never, options);
    const outputs = component as unknown as Readonly<Record<string, unknown>>;
    return {
      urn: component.urn,
      state: Object.fromEntries(Object.keys(spec.properties).map((each) => [each, outputs[each]])),
    };
  };
}

const REFUSED = undefined;

/**
 * Checks the arguments that a program in any language gives, by `components/plugin/schema.json`.
 * @throws BadInput with every problem and its path, without values, because values may be secret
 */
export async function checkedArguments(
  schema: PackageSchema,
  { inputProperties, requiredInputs }: ResourceSpec,
  inputs: pulumi.Inputs,
): Promise<Readonly<Record<string, unknown>>> {
  const check = new ArgumentCheck(schema);
  const type = { type: "object", properties: inputProperties, required: requiredInputs } as const;
  const args = await check.properties(type, inputs, "");
  if (check.problems.length > 0) throw new BadInput("wrong arguments", check.problems);
  return args;
}

class ArgumentCheck {
  readonly problems: Problem[] = [];

  constructor(private readonly schema: PackageSchema) {}

  async properties(type: TypeSpec, object: object, path: string): Promise<Record<string, unknown>> {
    const { properties = {}, required = [], language } = type;
    const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
    const given = Object.entries(object).filter(([, value]) => value !== undefined && value !== null);
    const names = given.map(([name]) => name);
    for (const name of required) if (!names.includes(name)) this.#refuse("missing", at(name), "missing");
    const { forms, names: ownNames = {} } = language?.valkey ?? {};
    if (forms !== undefined) this.#form(forms, object, names, at);
    const checked: [string, unknown][] = [];
    for (const [name, value] of given) {
      const spec = properties[name];
      const known = Object.keys(properties);
      if (spec !== undefined) checked.push([ownNames[name] ?? name, await this.#value(spec, value, at(name))]);
      else
        this.#refuse(
          "unknown-argument",
          at(name),
          `unknown argument;${didYouMean(name, known) || ` expected one of ${known.join(", ")}`}`,
        );
    }
    return Object.fromEntries(checked);
  }

  async #value(spec: ValueSpec, given: unknown, path: string): Promise<unknown> {
    if (!pulumi.Output.isInstance(given)) return this.#known(spec, given, path);
    if (spec.plain !== true) return given;
    if (await pulumi.isSecret(given)) return this.#refuse("secret", path, "cannot be a secret");
    const { isKnown, promise } = given as unknown as { isKnown: Promise<boolean>; promise: () => Promise<unknown> };
    if (!(await isKnown))
      return this.#refuse(
        "output",
        path,
        "must be known while the program runs; expected a plain value, not an output",
      );
    return this.#known(spec, await promise.call(given), path);
  }

  async #known(spec: ValueSpec, value: unknown, path: string): Promise<unknown> {
    const { $ref, oneOf, items, additionalProperties, type } = spec;
    const ofObjects = oneOf?.find((each) => each.$ref !== undefined);
    if (ofObjects !== undefined && isObject(value)) return this.#known(ofObjects, value, path);
    const named = $ref === undefined ? undefined : this.schema.types[$ref.replace("#/types/", "")];
    if (named?.enum !== undefined) {
      const allowed = named.enum.map((each) => each.value);
      return allowed.some((each) => each === value)
        ? value
        : this.#refuse("wrong-value", path, `expected ${allowed.join(", ")}`);
    }
    if (named !== undefined)
      return isObject(value)
        ? this.properties(named, value, path)
        : this.#refuse("wrong-type", path, "expected an object");
    if (items !== undefined) {
      if (!Array.isArray(value)) return this.#refuse("wrong-type", path, "expected a list");
      return Promise.all(value.map((each, index) => this.#value(items, each, `${path}[${index}]`)));
    }
    if (additionalProperties !== undefined) {
      if (!isObject(value)) return this.#refuse("wrong-type", path, "expected an object");
      // A plain map has plain values, also where the schema does not mark them.
      const valueSpec = spec.plain === true ? { ...additionalProperties, plain: true } : additionalProperties;
      const entries = Object.entries(value).map(async ([name, each]): Promise<[string, unknown]> => [
        name,
        await this.#value(valueSpec, each, `${path}.${name}`),
      ]);
      return Object.fromEntries(await Promise.all(entries));
    }
    // The schema has `Any` for all other types.
    const types = (oneOf ?? [spec]).flatMap((each) => each.type ?? (each.$ref === undefined ? [] : "object"));
    const isAllowed = (type === undefined && oneOf === undefined) || types.some((each) => each === typeof value);
    return isAllowed ? value : this.#refuse("wrong-type", path, `expected ${types.map(withArticle).join(" or ")}`);
  }

  #form({ by, of }: FormsSpec, object: object, names: readonly string[], at: (name: string) => string): void {
    const form = (object as Readonly<Record<string, unknown>>)[by];
    const wanted = typeof form === "string" ? of[form] : undefined;
    if (wanted === undefined) return;
    const which = `with ${by} ${String(form)}`;
    for (const name of wanted.required)
      if (!names.includes(name)) this.#refuse("missing", at(name), `missing ${which}`);
    const own = [by, ...wanted.required, ...wanted.optional];
    const all = Object.values(of).flatMap(({ required, optional }) => [...required, ...optional]);
    for (const name of names)
      if (all.includes(name) && !own.includes(name)) this.#refuse("other-form", at(name), `not allowed ${which}`);
  }

  #refuse(code: string, path: string, message: string): unknown {
    this.problems.push(problem(code, path, message));
    return REFUSED;
  }
}

function withArticle(type: string): string {
  return `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export interface ValueSpec {
  readonly type?: "string" | "number" | "boolean" | "array" | "object";
  /** Reference to a type: `#/types/TOKEN` or `pulumi.json#/Any`. */
  readonly $ref?: string;
  readonly items?: ValueSpec;
  readonly additionalProperties?: ValueSpec;
  readonly oneOf?: readonly ValueSpec[];
  /** Whether the value must be known while the program runs. @default false */
  readonly plain?: boolean;
}

export interface PropertySpec extends ValueSpec {
  readonly description: string;
  /** @default false */
  readonly secret?: boolean;
}

/** The value of one property names the form. The form decides which other properties an object has. */
interface FormsSpec {
  readonly by: string;
  readonly of: Readonly<Record<string, { readonly required: readonly string[]; readonly optional: readonly string[] }>>;
}

interface TypeSpec {
  readonly type: "string" | "object";
  readonly enum?: readonly { readonly value: string }[];
  readonly properties?: Readonly<Record<string, PropertySpec>>;
  readonly required?: readonly string[];
  readonly language?: {
    readonly valkey?: {
      readonly forms?: FormsSpec;
      /** Names of properties in TypeScript, by their names in the schema. Only names that differ are listed. */
      readonly names?: Readonly<Record<string, string>>;
    };
  };
}

interface ResourceSpec {
  readonly inputProperties: Readonly<Record<string, PropertySpec>>;
  readonly requiredInputs: readonly string[];
  readonly properties: Readonly<Record<string, PropertySpec>>;
}

export interface PackageSchema {
  readonly types: Readonly<Record<string, TypeSpec>>;
  readonly resources: Readonly<Record<string, ResourceSpec>>;
}

/** Reads the schema, which is in a checkout and in the installed package. */
export function readPackageSchema(): PackageSchema {
  return JSON.parse(readFileSync(join(ROOT, "components", "plugin", "schema.json"), "utf8")) as PackageSchema;
}
